import { expect, test } from 'vitest';
import {
  CodeRuntimeError,
  ContainerConnectivityError,
  EngineUnavailableError,
  ExecutionRejectedError,
  MaxAttemptsExceededError,
  PolicyRefusedError,
  ServiceConfigurationError,
  WorkflowError,
} from '../api/failures.ts';
import { classifyError, ErrorSeverity } from './severity.ts';

const RUNTIME = new CodeRuntimeError('x', { tracebackInfo: '', executionAttempt: 1 });
const exhausted = (cause: Error) =>
  new MaxAttemptsExceededError('x', { operationType: 'execution', maxAttempts: 2, errorChain: [], cause });

test.for([
  [new EngineUnavailableError('x'), 'RETRIABLE'],
  [exhausted(new EngineUnavailableError('x')), 'RETRIABLE'],
  [RUNTIME, 'REPLANNING'],
  [exhausted(RUNTIME), 'REPLANNING'],
  [new ServiceConfigurationError('x'), 'FATAL'],
  [new PolicyRefusedError('x', { reasons: [] }), 'CRITICAL'],
  [exhausted(new PolicyRefusedError('x', { reasons: [] })), 'CRITICAL'],
  [new ExecutionRejectedError('x', { rejectedBy: 'a', reason: null }), 'CRITICAL'],
  [new WorkflowError('x', { stage: 'execution' }), 'CRITICAL'],
  [new Error('x'), 'CRITICAL'],
  ['x', 'CRITICAL'],
] as const)('O-128 %s is %s', ([error, severity]) => {
  expect(classifyError(error)).toMatchObject({ severity: ErrorSeverity[severity], user_message: 'x' });
});

test('O-128 what the user is told is meant for users, and the details say what it was', () => {
  const gone = new ContainerConnectivityError('ECONNREFUSED', {
    host: 'lab',
    port: 1,
    technicalDetails: { code: 'C' },
  });
  expect(classifyError(gone)).toEqual({
    severity: 'retriable',
    user_message: gone.getUserMessage(),
    technical_details: { code: 'C', error_type: 'ContainerConnectivityError', category: 'infrastructure' },
  });
});
