import { describeOutcome } from '../../execution/description.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { hasEndedByItself, type Outcome } from '../../execution/outcome.ts';
import { joinLines } from '../../text/excerpt.ts';
import { weakIsolation } from '../access.ts';
import { findTruncated, type CutPart } from './truncated.ts';

/** The arguments of `run_python_code`. */
export interface RunPythonArguments {
  /** The code to run. */
  readonly code: string;
  /** A variable whose value is returned as JSON in `result`. */
  readonly result_var_name?: string | null | undefined;
  /** The interpreter to run in; by default that of the caller. */
  readonly interpreter_id?: string | null | undefined;
}

/** The arguments of `manage_interpreters`. */
export interface ManageArguments {
  /** `create`, `list`, `delete`, `restart` (or `reset`) or `interrupt`. */
  readonly operation: string;
  /** The interpreter that is meant; by default that of the caller. */
  readonly interpreter_id?: string | null | undefined;
}

/** The result of `manage_interpreters`. */
export interface ManageResult {
  readonly success: boolean;
  readonly interpreter_id?: string;
  readonly interpreters?: readonly { readonly id: string; readonly status: 'running' | 'pending' }[];
  readonly error?: string;
}

/** The result of `run_python_code`. The names are those of the wire. */
export interface RunPythonResult {
  readonly success: boolean;
  /** The value of the requested variable, as JSON. */
  readonly result: Json;
  readonly stdout: string;
  readonly stderr: string;
  readonly interpreter_restarted?: true;
  readonly restart_reason?: string;
  /** True if no variable from before the run was lost, false if all were. */
  readonly state_restored?: boolean;
  readonly interpreter_crashed?: true;
  /** The path of the last figure, in the working directory. */
  readonly fig_storage_path?: string;
  /** The paths of all figures, if there are several. */
  readonly fig_storage_paths?: readonly string[];
  readonly base64_uri?: readonly string[];
  /** Fields for pages and programs, which models never see. */
  readonly hidden_to_model?: readonly string[];
  /** The isolation level, where it is weaker than the usual one. */
  readonly isolation?: Isolation['level'];
  /** What was wrong with the call. */
  readonly error?: string;
}

/** Why an interpreter was restarted. */
export interface Restart {
  readonly type: string;
  readonly reason: string;
  readonly isStateRestored: boolean;
}

/** `maxBytes` is the largest value that comes back whole. */
export function resultOf(
  execution: Execution,
  variable: string | undefined,
  { value, maxBytes }: { readonly value: Json | undefined; readonly maxBytes: number },
): RunPythonResult {
  const { outcome, logs, error } = execution;
  const cut = value === undefined ? undefined : findTruncated(value);
  const isMissing = variable !== undefined && value === undefined && outcome.status === 'succeeded';
  const notes = [
    error?.traceback ?? '',
    hasEndedByItself(outcome) ? '' : `${describeOutcome(outcome, 'The run')}.`,
    cut === undefined ? '' : describeCut(variable, cut, maxBytes),
    isMissing ? `There is no variable ${JSON.stringify(variable)}: "result" is null.` : '',
  ];
  return {
    success: outcome.status === 'succeeded',
    result: value ?? null,
    stdout: logs.stdout,
    stderr: joinLines([logs.stderr, ...notes]),
    ...restartFields(restartOf(execution)),
    ...weakIsolation(execution.isolation),
  };
}

export function restartOf({ state, outcome }: Execution): Restart | null {
  const { status, earlier } = state;
  if (status === 'preserved') {
    return earlier === undefined
      ? null
      : { type: 'BrokenProcessPool', reason: `before this run, ${earlier.reason}`, isStateRestored: true };
  }
  const reason = state.reason ?? 'the process was lost';
  return { type: errorType(outcome), reason, isStateRestored: status === 'restored' && earlier?.status !== 'lost' };
}

export function restartFields(restart: Restart | null): Partial<RunPythonResult> {
  if (restart === null) return {};
  const { type, reason, isStateRestored } = restart;
  return {
    interpreter_restarted: true,
    restart_reason: `${type}: ${reason.slice(0, 100)}...`,
    state_restored: isStateRestored,
  };
}

/** The call failed before any code ran. */
export function failedCall(message: string): RunPythonResult {
  return { success: false, result: null, stdout: '', stderr: message, error: message };
}

export function restartFailed(original: string, retry: string): RunPythonResult {
  const stderr =
    `Python interpreter crashed and restart failed.\nOriginal error: ${original}\nRetry error: ${retry.slice(0, 200)}...\n\n` +
    'Try using /restart command to fully reset the Python environment: manage_interpreters with operation "restart".';
  return { success: false, result: null, stdout: '', stderr, interpreter_crashed: true };
}

function describeCut(variable: string | undefined, cut: CutPart, maxBytes: number): string {
  const { type, length, shape, shown, bits } = cut;
  const whole = length ?? shape ?? bits;
  const size = whole === undefined ? '' : ` of ${JSON.stringify(whole)}${bits === undefined ? '' : ' bits'}`;
  const part = shown === undefined ? '' : `, ${JSON.stringify(shown)} of it is here`;
  return `"result" is cut: with the ${typeof type === 'string' ? type : 'value'}${size} in it${part}, ${JSON.stringify(variable)} is more than comes back (${maxBytes / 1_000_000} MB, 40 levels). Return less, or raise \`maxResultMb\`.`;
}

function errorType({ status }: Outcome): string {
  switch (status) {
    case 'timed-out':
      return 'TimeoutError';
    case 'out-of-memory':
      return 'MemoryError';
    case 'cancelled':
      return 'CancelledError';
    case 'crashed':
    case 'raised':
    case 'succeeded':
      return 'BrokenProcessPool';
  }
}
