import { VivariumError } from '../../errors.ts';
import { describeOutcome } from '../../execution/description.ts';
import type { Execution } from '../../execution/execution.ts';
import type { JobResult } from './job.ts';
import {
  ChannelLimitsViolationError,
  CodeRuntimeError,
  ContainerConfigurationError,
  ContainerConnectivityError,
  EngineUnavailableError,
  ExecutionTimeoutError,
  ServiceConfigurationError,
  type FailureFacts,
  type PythonExecutorError,
} from '../api/failures.ts';

/** The failure that a run amounts to, or null if it succeeded. */
export function failureOf(
  { execution, python }: Pick<JobResult, 'execution' | 'python'>,
  attempt: number,
  facts: FailureFacts,
): PythonExecutorError | null {
  const { outcome, error, logs } = execution;
  const tracebackInfo = error?.traceback ?? [logs.stderr, logs.stdout].filter((text) => text !== '').join('\n');
  const runtime = (message: string): CodeRuntimeError =>
    new CodeRuntimeError(message, { tracebackInfo, executionAttempt: attempt, ...facts });
  switch (outcome.status) {
    case 'succeeded':
      return null;
    case 'raised':
      if (error?.name === LIMITS_VIOLATION) return limitsViolation(error.value, facts);
      return runtime(describeError(error, python));
    case 'timed-out':
      return new ExecutionTimeoutError(
        `${describeOutcome(outcome, 'The code')}. Raise execution_timeout_seconds, or ask for less at once.`,
        { timeoutSeconds: outcome.limitMs / 1000, ...facts },
      );
    case 'out-of-memory':
    case 'crashed':
    case 'cancelled':
      return runtime(`${describeOutcome(outcome, 'The code')}.`);
  }
}

/** The exception of the payload `channel_limits`. Its text begins with the kind of violation. */
export const LIMITS_VIOLATION = 'ChannelLimitsViolation';

function limitsViolation(text: string, facts: FailureFacts): ChannelLimitsViolationError {
  const [violationType = ''] = /^[A-Z_]+/u.exec(text) ?? [];
  return new ChannelLimitsViolationError(
    `${text}. The request ends here: no other code is tried. Ask for a value within the limits, or have an operator change them.`,
    { violationType, ...facts },
  );
}

/** How Python, and libraries with optional dependencies, report a missing module. */
const MISSING = /^(?:No module named|Missing optional dependency) '([\w.-]{1,100})'/;

function describeError(error: Execution['error'], python: string): string {
  if (error === undefined) return 'The code raised an exception.';
  const missing = MISSING.exec(error.value)?.[1];
  if (['ModuleNotFoundError', 'ImportError'].includes(error.name) && missing !== undefined) {
    const pip = python.includes('/') ? `${python} -m pip` : `pip, for the kernel ${python},`;
    return `Missing Module: '${missing}' is not installed in the Python of the sessions. Use another library, or have it installed: ${pip} install ${missing.split('.')[0]}`;
  }
  return error.value === '' ? error.name : `${error.name}: ${error.value}`;
}

/**
 * Turns an error of the engine into a failure, by its error code. Returns null for errors that a retry must not follow: if
 * the record cannot be written, running the code again would only run it twice.
 */
export function machineryFailure(
  error: unknown,
  container: { readonly host: string; readonly port: number },
  facts: FailureFacts,
): PythonExecutorError | null {
  if (!(error instanceof VivariumError)) return null;
  const details = { ...facts, cause: error, technicalDetails: { code: error.code } };
  switch (error.code) {
    case 'JUPYTER_UNREACHABLE':
      return new ContainerConnectivityError(error.message, { ...details, ...container });
    case 'JUPYTER_REFUSED':
      return new ContainerConfigurationError(error.message, details);
    case 'CONFIG_INVALID':
    case 'PYTHON_NOT_FOUND':
    case 'PYTHON_UNSUPPORTED':
    case 'SANDBOX_UNAVAILABLE':
    case 'INIT_FAILED':
    case 'FILE_REFUSED':
    case 'FILE_TOO_LARGE':
    case 'LLM_NOT_CONFIGURED':
    case 'LLM_UNSUITABLE':
      return new ServiceConfigurationError(error.message, details);
    case 'STORAGE_FAILED':
    case 'RECORD_INVALID':
    case 'ARTIFACT_NOT_FOUND':
      return null;
    default:
      return new EngineUnavailableError(error.message, details);
  }
}
