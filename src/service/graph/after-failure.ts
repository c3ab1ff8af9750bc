import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { failureToJson } from '../api/failure-json.ts';
import { MaxAttemptsExceededError, PythonExecutorError } from '../api/failures.ts';
import type { Attempt } from '../api/result.ts';
import { endpointOf } from '../config/addresses.ts';
import { machineryFailure } from '../execution/failures.ts';
import type { ExecutionFailure } from '../generation/generator.ts';
import type { Dependencies } from './dependencies.ts';
import type { Retries, ServiceState, Update } from './state.ts';

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5000;

/** What went wrong in a node. */
export interface NodeFailure {
  readonly during: keyof Retries;
  readonly stage: ExecutionFailure['stage'];
  readonly error: PythonExecutorError;
  readonly signal?: AbortSignal | undefined;
  readonly issues?: readonly string[];
  /** The run, if there was one. */
  readonly execution?: Execution | undefined;
  readonly outputs?: readonly TranscriptItem[] | undefined;
  readonly startedAt?: string | undefined;
  readonly python?: string | undefined;
}

/** Retries after a failure, or ends the request and writes its record. */
export async function handleFailure(
  dependencies: Dependencies,
  state: ServiceState,
  failed: NodeFailure,
): Promise<Update> {
  const { max_generation_retries: generation, max_execution_retries: execution } =
    dependencies.configuration.framework.python_executor;
  const failure = failureFacts(state, failed);
  const update = afterFailure(state, { ...failed, failure }, { generation, execution });
  if (update.next === 'end') await recordEnd(dependencies, state, failed, failure);
  else if (failed.error.shouldRetryExecution()) await pause(update.retries ?? state.retries, failed.signal);
  return update;
}

export interface RetryLimits {
  readonly generation: number;
  readonly execution: number;
}

/** A failure, and what was being tried when it happened. */
export interface FailedTry extends Pick<NodeFailure, 'during' | 'error'> {
  readonly failure: ExecutionFailure;
}

/**
 * Decides what comes after a failure, by its category. If the infrastructure failed, the same code runs again. If the code
 * was bad, new code is generated. Anything else ends the request. Each cause has its own limit, and the request has one for
 * all causes together.
 */
export function afterFailure(state: ServiceState, { during, error, failure }: FailedTry, limits: RetryLimits): Update {
  const failures = [...state.failures, failure];
  const isWorthTrying = error.shouldRetryExecution() || (error.shouldRetryCodeGeneration() && canRegenerate(state));
  if (!isWorthTrying) return end(failures, error);
  const tried = state.retries.generation + state.retries.execution;
  if (state.retries[during] >= limits[during] || tried >= state.request.retries) {
    return end(failures, tried === 0 ? error : exhausted(state, during, error, failures));
  }
  const retries = { ...state.retries, [during]: state.retries[during] + 1 };
  return error.shouldRetryExecution()
    ? { failures, retries, next: AGAIN[failure.stage] }
    : { failures, retries, isApproved: false, approvalId: null, next: 'generate' };
}

/** Which node runs again after an infrastructure failure. Code that was not analyzed is analyzed first, never run. */
const AGAIN = {
  generation: 'generate',
  analysis: 'analyze',
  approval: 'analyze',
  execution: 'execute',
  results: 'execute',
} as const satisfies Record<ExecutionFailure['stage'], ServiceState['next']>;

/** The caller's own code is never replaced by other code. */
function canRegenerate({ request }: ServiceState): boolean {
  return request.approvedCode === null;
}

function end(failures: readonly ExecutionFailure[], error: PythonExecutorError): Update {
  return { failures, next: 'end', outcome: { status: 'failed', failure: failureToJson(error) } };
}

function exhausted(
  { folder, retries }: ServiceState,
  operationType: keyof Retries,
  error: PythonExecutorError,
  failures: readonly ExecutionFailure[],
): MaxAttemptsExceededError {
  const maxAttempts = retries.generation + retries.execution + 1;
  return new MaxAttemptsExceededError(`Python code execution failed after ${maxAttempts} attempts: ${error.message}`, {
    operationType,
    maxAttempts,
    errorChain: failures.map(({ errorType, errorMessage }) => `${errorType}: ${errorMessage}`),
    folderPath: folder,
    technicalDetails: { retries },
    cause: error,
  });
}

/** Infrastructure that has just failed may need a moment to recover, and longer each time. */
async function pause(
  { generation, execution }: ServiceState['retries'],
  signal: AbortSignal | undefined,
): Promise<void> {
  const delayMs = Math.min(FIRST_PAUSE_MS * 2 ** (generation + execution - 1), MAX_PAUSE_MS);
  await sleep(delayMs, undefined, signal && { signal });
}

/** Turns an engine or storage error into one of the service's failures. Anything else is a bug and is thrown as it is. */
export function asFailure(
  error: unknown,
  { configuration }: Dependencies,
  { folder, verdict }: ServiceState,
): PythonExecutorError {
  if (error instanceof PythonExecutorError) return error;
  const { host, port } = endpointOf(configuration, verdict?.mode ?? 'read_only');
  const failure =
    error instanceof VivariumError ? machineryFailure(error, { host, port }, { folderPath: folder }) : null;
  if (failure === null) throw error;
  return failure;
}

/** The attempt as its notebook shows it. */
export function attemptOf(state: ServiceState, stage: Attempt['stage'], more: Partial<Attempt> = {}): Attempt {
  return { number: state.attempt, stage, code: state.code, ...more };
}

function failureFacts(
  { code, attempt }: ServiceState,
  { stage, error, issues = [], execution }: NodeFailure,
): ExecutionFailure {
  return {
    errorType: error.name,
    errorMessage: error.message,
    failedCode: code === '' ? null : code,
    traceback: execution?.error?.traceback ?? null,
    attemptNumber: attempt,
    stage,
    analysisIssues: issues,
  };
}

async function recordEnd(
  dependencies: Dependencies,
  state: ServiceState,
  failed: NodeFailure,
  failure: ExecutionFailure,
): Promise<void> {
  const { error, execution, outputs, startedAt, python } = failed;
  const record = await dependencies.record(state);
  await record.recordFailure({
    failure: { ...failure, isInfrastructure: error.category === 'infrastructure' },
    ...(state.code !== '' && {
      attempt: attemptOf(state, 'execution_failed', { error: error.message, ...(execution && { execution }) }),
    }),
    executionMethod: state.method,
    ...(python !== undefined && { python }),
    ...(state.verdict && { executionMode: state.verdict.mode }),
    ...(outputs && { outputs }),
    ...(startedAt !== undefined && { startedAt: new Date(startedAt) }),
  });
}
