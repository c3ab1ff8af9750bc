import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { endpointOf } from '../execution/endpoint.ts';
import { machineryFailure } from '../execution/failure-of.ts';
import { PythonExecutorError } from '../failures.ts';
import type { ExecutionFailure } from '../generation/generator.ts';
import { afterFailure } from '../graph/retry.ts';
import type { ServiceState, Update } from '../graph/state.ts';
import type { Attempt } from '../result.ts';
import type { Parts } from './parts.ts';

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5000;

/** What went wrong in a node. */
export interface Failed {
  readonly during: 'generation' | 'execution';
  readonly stage: ExecutionFailure['stage'];
  readonly error: PythonExecutorError;
  readonly signal?: AbortSignal | undefined;
  readonly issues?: readonly string[];
  /** The run, when there was one. */
  readonly execution?: Execution | undefined;
  readonly outputs?: readonly TranscriptItem[] | undefined;
  readonly startedAt?: string | undefined;
}

/** Goes on after a failure, or ends the request with its record written. */
export async function afterFailing(parts: Parts, state: ServiceState, failed: Failed): Promise<Update> {
  const { max_generation_retries: generation, max_execution_retries: execution } =
    parts.configuration.framework.python_executor;
  const failure = failureFacts(state, failed);
  const update = afterFailure(state, { ...failed, failure }, { generation, execution });
  if (update.next === 'end') await recordEnd(parts, state, failed, failure);
  else if (failed.error.shouldRetryExecution()) await pause(update.retries ?? state.retries, failed.signal);
  return update;
}

/** Machinery that failed a moment ago needs a moment. */
async function pause(
  { generation, execution }: ServiceState['retries'],
  signal: AbortSignal | undefined,
): Promise<void> {
  const delayMs = Math.min(FIRST_PAUSE_MS * 2 ** (generation + execution - 1), MAX_PAUSE_MS);
  await sleep(delayMs, undefined, signal && { signal });
}

/** Trouble of ours or the machine's as one of the service's failures; anything else is a fault and stays what it is. */
export function asFailure(
  error: unknown,
  { configuration }: Parts,
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
  { stage, error, issues = [], execution }: Failed,
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

async function recordEnd(parts: Parts, state: ServiceState, failed: Failed, failure: ExecutionFailure): Promise<void> {
  const { error, execution, outputs, startedAt } = failed;
  const record = await parts.record(state);
  await record.recordFailure({
    failure: { ...failure, isInfrastructure: error.category === 'infrastructure' },
    ...(state.code !== '' && {
      attempt: attemptOf(state, 'execution_failed', { error: error.message, ...(execution && { execution }) }),
    }),
    ...(state.verdict && { executionMode: state.verdict.mode }),
    ...(outputs && { outputs }),
    ...(startedAt !== undefined && { startedAt: new Date(startedAt) }),
  });
}
