import { MaxAttemptsExceededError, type PythonExecutorError } from '../failures.ts';
import type { ExecutionFailure } from '../generation/generator.ts';
import { saveFailure } from './saved-failure.ts';
import type { Retries, ServiceState, Update } from './state.ts';

export interface RetryLimits {
  readonly generation: number;
  readonly execution: number;
}

/** A failure, and what was being tried. */
export interface Failed {
  readonly during: keyof Retries;
  readonly error: PythonExecutorError;
  readonly failure: ExecutionFailure;
}

/**
 * What comes after a failure. Its category decides: trouble with the machinery runs the same code again, bad code is
 * written anew, everything else ends the request. Each cause has its limit, and the request one for all together.
 */
export function afterFailure(state: ServiceState, { during, error, failure }: Failed, limits: RetryLimits): Update {
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

/** What is done again when the machinery failed. Code that was not judged is judged, never run. */
const AGAIN = {
  generation: 'generate',
  analysis: 'analyze',
  approval: 'analyze',
  execution: 'execute',
  results: 'execute',
} as const satisfies Record<ExecutionFailure['stage'], ServiceState['next']>;

/** Code that the caller gave is never replaced by other code. */
function canRegenerate({ request }: ServiceState): boolean {
  return request.approvedCode === null;
}

function end(failures: readonly ExecutionFailure[], error: PythonExecutorError): Update {
  return { failures, next: 'end', outcome: { status: 'failed', failure: saveFailure(error) } };
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
