import type { Event, Listener, Summary } from '../execution/event.ts';
import type { Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { Limits, Mount } from '../config.ts';
import type { Workspace } from '../workspace/workspace.ts';

/** How expressions at the top level of the code are shown: every one printed, the last one as a result, or none. */
export type Echo = 'all' | 'last' | 'none';

/** Where sessions live. */
export interface Engine<S extends EngineSession = EngineSession> extends AsyncDisposable {
  readonly isolation: Isolation;
  /** Opens a session of its own process; from the warm pool when the options allow it. */
  open(options: OpenOptions): Promise<S>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly id: string;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  readonly network: boolean;
  /** Its own files can be read and not changed; what is temporary can be written. */
  readonly readOnly: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether twins guard the state; off for a session that runs once. */
  readonly twins: boolean;
  readonly signal?: AbortSignal;
}

/** One interpreter with state. Its caller runs one thing at a time: queues are the business of the session layer. */
export interface EngineSession extends AsyncDisposable {
  readonly id: string;
  readonly workspace: Workspace;
  readonly isolation: Isolation;
  /** Sees to it that there is a live interpreter; true when a fresh one replaced a lost one since the last call. */
  revive(): Promise<boolean>;
  /** Runs code, tells what happens while it happens, and says at the end what is known only then. */
  run(request: RunRequest, hear: Listener): Promise<Summary>;
  /** The same for who would rather pull; `done` comes last. Breaking out of the loop stops the program. */
  stream(request: RunRequest): AsyncGenerator<Event, void, undefined>;
  /** Raises KeyboardInterrupt in the running code; a program that does not heed it is ended, its state restored. */
  interrupt(): Promise<void>;
  /** Undoes the last run that changed the state. */
  rollback(): Promise<Rollback>;
  /** A fresh interpreter on the same files. */
  reset(): Promise<void>;
  inspect(): Promise<readonly Variable[]>;
  /** Writes a DataFrame as a file of the workspace. Changes nothing else; what is wrong with it is thrown. */
  writeTable(request: TableRequest): Promise<void>;
  /** Ends the session's processes and removes its files. */
  close(): Promise<void>;
}

export interface RunRequest {
  readonly id: string;
  readonly code: string;
  /** What tracebacks call it; `<cell N>` by itself. */
  readonly filename?: string;
  readonly echo: Echo;
  readonly timeoutMs: number;
  /** A variable whose value is wanted as JSON when the run has ended. */
  readonly resultVariable?: string;
  /** Figures of matplotlib as SVG too. */
  readonly svg?: boolean;
  /** False for code that makes a session what it is: `rollback` does not undo it. */
  readonly isUndoable?: boolean;
  readonly signal?: AbortSignal;
}

export type TableFormat = 'csv' | 'parquet';

export interface TableRequest {
  /** Of a variable. */
  readonly name: string;
  readonly format: TableFormat;
  /** In the workspace. */
  readonly path: string;
}

export interface Rollback {
  readonly generation: number;
  /** `restored`, or `kept` with the reason why the files were left as they are. */
  readonly files: string;
}
