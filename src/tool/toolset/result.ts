import type { Execution, Json } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { Outcome } from '../../execution/outcome.ts';
import { describeEnd, joinLines } from '../endings.ts';
import { weakWalls } from '../place/access.ts';

/** What `run_python_code` is called with. */
export interface RunPythonArguments {
  readonly code: string;
  readonly result_var_name?: string | null | undefined;
  readonly interpreter_id?: string | null | undefined;
}

/** What `manage_interpreters` is called with. */
export interface ManageArguments {
  /** `create`, `list`, `delete`, `restart` (or `reset`) or `interrupt`. */
  readonly operation: string;
  readonly interpreter_id?: string | null | undefined;
}

/** What `manage_interpreters` answers. */
export interface ManageResult {
  readonly success: boolean;
  readonly interpreter_id?: string;
  readonly interpreters?: readonly { readonly id: string; readonly status: 'running' | 'pending' }[];
  readonly error?: string;
}

/** What `run_python_code` answers, in the words of the wire. */
export interface RunPythonResult {
  readonly success: boolean;
  /** The value of the variable that was asked for, as JSON. */
  readonly result: Json;
  readonly stdout: string;
  readonly stderr: string;
  readonly interpreter_restarted?: true;
  readonly restart_reason?: string;
  /** Whether the variables are those from before the run; false when they are lost. */
  readonly state_restored?: boolean;
  readonly interpreter_crashed?: true;
  /** The last picture, as a path in the working directory. */
  readonly fig_storage_path?: string;
  /** All of them, where there are several. */
  readonly fig_storage_paths?: readonly string[];
  readonly base64_uri?: readonly string[];
  /** Fields that are for pages and programs; a model never sees them. */
  readonly hidden_to_model?: readonly string[];
  /** Which walls there were, where they are weaker than the usual ones. */
  readonly isolation?: Isolation['level'];
  /** What was wrong with the call. */
  readonly error?: string;
}

/** What happened to an interpreter that did not simply go on. */
export interface Restart {
  readonly type: string;
  readonly reason: string;
  readonly isStateRestored: boolean;
}

export function resultOf(execution: Execution, variable: string | undefined): RunPythonResult {
  const { outcome, value, logs, error } = execution;
  const isMissing = variable !== undefined && value === undefined && outcome.status === 'succeeded';
  const notes = [
    error?.traceback ?? '',
    describeEnd(outcome),
    isMissing ? `There is no variable ${JSON.stringify(variable)}: "result" is null.` : '',
  ];
  return {
    success: outcome.status === 'succeeded',
    result: value ?? null,
    stdout: logs.stdout,
    stderr: joinLines([logs.stderr, ...notes]),
    ...restartFields(restartOf(execution)),
    ...weakWalls(execution.isolation),
  };
}

export function restartOf({ state, outcome }: Execution): Restart | null {
  if (state.status === 'preserved') return null;
  const reason = state.reason ?? 'the process was lost';
  return { type: errorType(outcome), reason, isStateRestored: state.status === 'restored' };
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

/** The call could not be carried out: nothing ran. */
export function failedCall(message: string): RunPythonResult {
  return { success: false, result: null, stdout: '', stderr: message, error: message };
}

export function restartFailed(original: string, retry: string): RunPythonResult {
  const stderr =
    `Python interpreter crashed and restart failed.\nOriginal error: ${original}\nRetry error: ${retry.slice(0, 200)}...\n\n` +
    'Try using /restart command to fully reset the Python environment: manage_interpreters with operation "restart".';
  return { success: false, result: null, stdout: '', stderr, interpreter_crashed: true };
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
