import type { Isolation } from './isolation.ts';
import type { Outcome, PythonError } from './outcome.ts';

/** Everything that one run of code produced, and what became of the session's state. */
export interface Execution {
  readonly id: string;
  readonly sessionId: string;
  readonly outcome: Outcome;
  readonly logs: { readonly stdout: string; readonly stderr: string };
  readonly results: readonly Result[];
  readonly error?: PythonError;
  readonly state: StateReceipt;
  /** Present when output went over its budget: what was printed, what was kept. */
  readonly truncated?: { readonly stdout?: Truncation; readonly stderr?: Truncation };
  /** Bytes that leftover processes printed since the run before; they belong to no run and are not kept. */
  readonly background?: StreamBytes;
  readonly durationMs: number;
  readonly isolation: Isolation;
}

/** A value shown by the run, as a MIME bundle: at least `text/plain`. */
export type Result = Readonly<Record<string, string>>;

/** Bytes per stream. */
export interface StreamBytes {
  readonly stdout: number;
  readonly stderr: number;
}

export interface Truncation {
  readonly totalBytes: number;
  readonly keptBytes: number;
}

/** What the session's variables are worth after this run. */
export interface StateReceipt {
  /**
   * `preserved`: nothing happened to the state besides what the code did. `restored`: the process was lost and a twin
   * took over; the variables are those from before the run. `lost`: a fresh interpreter.
   */
  readonly status: 'preserved' | 'restored' | 'lost';
  /** Grows by one whenever the state did not simply continue: restore, loss, reset, rollback. */
  readonly generation: number;
  readonly variables: VariableChanges;
  /** Why a crash of the next run could not be undone, if so. */
  readonly unprotected?: string;
  /** Why the state was restored or lost. */
  readonly reason?: string;
}

/** Names of variables that the run touched; bounded, see `omitted`. */
export interface VariableChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** How many further names did not fit. */
  readonly omitted?: number | undefined;
}

/** A variable as `inspect` shows it. */
export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly sizeBytes: number | null;
}
