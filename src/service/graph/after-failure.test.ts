import { describe, expect, test } from 'vitest';
import {
  CodeGenerationError,
  CodeRuntimeError,
  CodeSyntaxError,
  ContainerConfigurationError,
  ContainerConnectivityError,
  EngineUnavailableError,
  ExecutionRejectedError,
  ExecutionTimeoutError,
  ModelUnavailableError,
  PolicyRefusedError,
  ResultsInvalidError,
  ServiceConfigurationError,
  WorkflowError,
  type PythonExecutorError,
} from '../api/failures.ts';
import type { ExecutionFailure } from '../generation/generator.ts';
import { parseRequest } from '../api/request.ts';
import { afterFailure } from './after-failure.ts';
import { failureFromJson } from '../api/failure-json.ts';
import { initialState, type Retries, type ServiceState, type Update } from './state.ts';

type Stage = ExecutionFailure['stage'];

/** What was tried, what went wrong, and which node comes next. */
const TABLE: readonly (readonly [Stage, keyof Retries, PythonExecutorError, Update['next']])[] = [
  ['generation', 'generation', new ModelUnavailableError('x'), 'generate'],
  ['generation', 'generation', new CodeGenerationError('x', { generationAttempt: 1, errorChain: [] }), 'generate'],
  ['generation', 'generation', new ServiceConfigurationError('x'), 'end'],
  ['analysis', 'generation', new CodeSyntaxError('x', { syntaxIssues: [] }), 'generate'],
  ['analysis', 'generation', new PolicyRefusedError('x', { reasons: [] }), 'generate'],
  ['analysis', 'generation', new PolicyRefusedError('x', { reasons: [], isFinal: true }), 'end'],
  ['analysis', 'execution', new EngineUnavailableError('x'), 'analyze'],
  ['approval', 'execution', new ExecutionRejectedError('x', { rejectedBy: 'a', reason: null }), 'end'],
  ['execution', 'execution', new EngineUnavailableError('x'), 'execute'],
  ['execution', 'execution', new ContainerConnectivityError('x', { host: 'h', port: 1 }), 'execute'],
  ['execution', 'execution', new ContainerConfigurationError('x'), 'end'],
  ['execution', 'execution', new CodeRuntimeError('x', { tracebackInfo: '', executionAttempt: 1 }), 'generate'],
  ['execution', 'execution', new ExecutionTimeoutError('x', { timeoutSeconds: 1 }), 'end'],
  ['execution', 'execution', new WorkflowError('x', { stage: 'execution' }), 'end'],
  ['results', 'execution', new ResultsInvalidError('x'), 'generate'],
];

const REQUEST = { user_query: 'q', task_objective: 't', execution_folder_name: 'f' };

function state(more: { retries?: Retries; fields?: object } = {}): ServiceState {
  const request = parseRequest({ ...REQUEST, ...more.fields });
  const facts = {
    threadId: 't',
    requestId: 'r',
    method: 'local',
    folder: '/f',
    inputs: [],
    attemptsBefore: 0,
    caller: null,
    concerns: [],
  } as const;
  const begun = initialState(request, facts);
  return { ...begun, attempt: 1, isApproved: true, approvalId: 'a', ...(more.retries && { retries: more.retries }) };
}

function failure(stage: Stage): ExecutionFailure {
  const nothing = { failedCode: null, traceback: null, attemptNumber: 1, analysisIssues: [] };
  return { errorType: 'E', errorMessage: 'm', stage, ...nothing };
}

const LIMITS = { generation: 3, execution: 3 };

describe('X-18 O-06 the category decides what comes next', () => {
  test.for(TABLE)('%s, %s: %o leads to %s', ([stage, during, error, next]) => {
    const update = afterFailure(state(), { during, error, failure: failure(stage) }, LIMITS);
    expect(update.next).toBe(next);
    const isRetried = next !== 'end';
    expect(update.retries ?? null).toEqual(isRetried ? { generation: 0, execution: 0, [during]: 1 } : null);
    expect(update.outcome === undefined).toBe(isRetried);
  });

  test('rewritten code is approved again, the same code is not', () => {
    const bad = new CodeRuntimeError('x', { tracebackInfo: '', executionAttempt: 1 });
    const rewritten = afterFailure(state(), { during: 'execution', error: bad, failure: failure('execution') }, LIMITS);
    expect(rewritten).toMatchObject({ isApproved: false, approvalId: null });
    const machine = new EngineUnavailableError('x');
    const same = afterFailure(state(), { during: 'execution', error: machine, failure: failure('execution') }, LIMITS);
    expect(same).not.toHaveProperty('isApproved');
  });

  test('code that the caller gave is not rewritten', () => {
    const given = state({ fields: { approved_code: 'x' } });
    const bad = new CodeRuntimeError('x', { tracebackInfo: '', executionAttempt: 1 });
    expect(afterFailure(given, { during: 'execution', error: bad, failure: failure('execution') }, LIMITS).next).toBe(
      'end',
    );
    const machine = new EngineUnavailableError('x');
    const again = afterFailure(given, { during: 'execution', error: machine, failure: failure('execution') }, LIMITS);
    expect(again.next).toBe('execute');
  });
});

describe('X-18 O-16 O-22 O-23 each cause has its limit, and the request one for all', () => {
  const bad = new CodeRuntimeError('broken', { tracebackInfo: '', executionAttempt: 1 });
  const syntax = new CodeSyntaxError('unclear', { syntaxIssues: [] });
  const after = (during: keyof Retries, retries: Retries, more: { limits?: typeof LIMITS; retries?: number } = {}) =>
    afterFailure(
      state({ retries, fields: { retries: more.retries ?? 20 } }),
      { during, error: during === 'execution' ? bad : syntax, failure: failure('execution') },
      more.limits ?? LIMITS,
    );

  test('the limit of a cause ends the request when that cause has used it up', () => {
    expect(after('generation', { generation: 2, execution: 3 }).next).toBe('generate');
    expect(after('generation', { generation: 3, execution: 0 }).next).toBe('end');
    expect(after('execution', { generation: 3, execution: 2 }).next).toBe('generate');
    expect(after('execution', { generation: 0, execution: 3 }).next).toBe('end');
  });

  test('the limit of the request ends it when all causes together have used it up', () => {
    expect(after('execution', { generation: 1, execution: 1 }, { retries: 3 }).next).toBe('generate');
    expect(after('execution', { generation: 2, execution: 1 }, { retries: 3 }).next).toBe('end');
  });

  test('what is used up is said with its count, its cause and all that went wrong', () => {
    const { outcome } = after('execution', { generation: 2, execution: 1 }, { retries: 3 });
    const error = outcome?.status === 'failed' ? failureFromJson(outcome.failure) : undefined;
    expect(error).toMatchObject({
      name: 'MaxAttemptsExceededError',
      message: 'Python code execution failed after 4 attempts: broken',
      operationType: 'execution',
      maxAttempts: 4,
      errorChain: ['E: m'],
      technicalDetails: { retries: { generation: 2, execution: 1 } },
      cause: { name: 'CodeRuntimeError', message: 'broken' },
    });
  });

  test('without any retries the failure is the failure', () => {
    const { outcome } = after('execution', { generation: 0, execution: 0 }, { retries: 0 });
    expect(outcome).toMatchObject({ failure: { type: 'CodeRuntimeError', message: 'broken' } });
  });
});
