import { VivariumError } from '../errors.ts';
import type { Command, CommandOutput } from '../execution/command.ts';
import type { Event, Listener, Summary } from '../execution/event.ts';
import type { InstalledPackage, Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { StateEvent } from '../execution/state.ts';
import type { Limits, Mount, NetworkSetting, PackagePolicy, SecretInput } from '../config.ts';
import type { Requirement } from '../requirement/requirement.ts';
import type { Workspace } from '../workspace/workspace.ts';

/** Which expressions at the top level of the code are shown: all are printed, the last is a result, or none is. */
export type Echo = 'all' | 'last' | 'none';

/**
 * The interpreter was lost while it was asked something that can be asked again. `revive` comes first, because the next
 * interpreter may be a fresh one that has to be prepared.
 */
export class Unanswered extends VivariumError {
  constructor(message: string) {
    super('ENGINE_FAILED', message);
  }
}

/** Where sessions live. */
export interface Engine<S extends EngineSession = EngineSession> extends AsyncDisposable {
  readonly isolation: Isolation;
  /** How many sessions wait in the warm pool. Absent where there is none. */
  readonly warmSessions?: number;
  /** Opens a session in a process of its own, from the warm pool if the options allow it. */
  open(options: OpenOptions): Promise<S>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly id: string;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  readonly network: NetworkSetting;
  /** For sessions whose network is a list. */
  readonly secrets?: Readonly<Record<string, SecretInput>>;
  /** Its files can be read but not changed; temporary files can be written. */
  readonly readOnly: boolean;
  readonly env: Readonly<Record<string, string>>;
  /** Whether twins protect the state; off for a session that runs once. */
  readonly twins: boolean;
  /** What its programs may install; nothing by default. */
  readonly packages?: PackagePolicy;
  readonly signal?: AbortSignal;
}

/** One interpreter with state. Its caller runs one thing at a time; the host keeps the queue. */
export interface EngineSession extends AsyncDisposable {
  readonly id: string;
  readonly workspace: Workspace;
  readonly isolation: Isolation;
  /** Makes sure that there is a live interpreter. True if a fresh one has replaced a lost one since the last call. */
  revive(): Promise<boolean>;
  /**
   * Runs code. The listener gets the events as they happen, the caller what is known only at the end. The caller
   * that passes the receipt on acknowledges it; see src/execution/state.ts.
   */
  run(request: RunRequest, listener: Listener): Promise<Summary>;
  /** Same as `run`, as an async iterator; `done` comes last. Breaking out of the loop stops the program. */
  stream(request: RunRequest): AsyncGenerator<Event, void, undefined>;
  /** Raises KeyboardInterrupt in the running code. A program that goes on is ended, and its state restored if possible. */
  interrupt(): Promise<void>;
  /** Undoes the last run that changed the state. */
  rollback(): Promise<Rollback>;
  /**
   * Starts a fresh interpreter on the same files. `keepsNotices` if no caller has asked for it and none has run code in
   * the last one: then receipts say what they would have said without it.
   */
  reset(options?: { readonly keepsNotices?: boolean }): Promise<void>;
  /** Something happened to the state that only the host knows. Receipts say it until a caller has received one. */
  note(event: StateEvent): void;
  /** Throws `Unanswered` if the interpreter is lost meanwhile. */
  inspect(): Promise<readonly Variable[]>;
  /** What may follow the cursor. Changes nothing and runs no code of the program. Throws `Unanswered` as above. */
  complete(code: string, cursor: number): Promise<Completion>;
  /** Writes a DataFrame to a file of the workspace and changes nothing else. Throws if that is not possible. */
  writeTable(request: TableRequest): Promise<void>;
  /** Starts a command of the system beside the interpreter, whether that runs something or not. */
  start(request: CommandRequest): Promise<Command>;
  /** Installs packages for the session. Its variables stay, and what is there already is not replaced. */
  install(
    requirements: readonly Requirement[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<PackageInstallation>;
  /** Ends the session's processes and removes its files. */
  close(): Promise<void>;
}

/** What became of a wish for packages. */
export interface PackageInstallation {
  readonly installed: readonly InstalledPackage[];
  /** What was asked for and is there already. */
  readonly there: readonly { readonly name: string; readonly version: string }[];
}

export interface RunRequest {
  readonly id: string;
  readonly code: string;
  /** The name of the code in tracebacks; `<cell N>` by default. */
  readonly filename?: string;
  readonly echo: Echo;
  readonly timeoutMs: number;
  /** A variable whose value is returned as JSON when the run has ended. */
  readonly resultVariable?: string;
  /** What the code can read as its standard input. */
  readonly stdin?: string;
  /** Whether figures of matplotlib also come as SVG. */
  readonly svg?: boolean;
  /** False for code that sets up the session, which `rollback` does not undo. */
  readonly isUndoable?: boolean;
  /** Code of the host, whose receipt no caller gets. */
  readonly isInternal?: boolean;
  readonly signal?: AbortSignal;
}

/** A command of the system that is to run in a session. */
export interface CommandRequest {
  readonly argv: readonly string[];
  /** Relative to the workspace. */
  readonly cwd: string;
  /** Variables that differ from those of the session. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: as long as the session. */
  readonly timeoutMs: number | null;
  /** What is kept of each stream. */
  readonly maxOutputBytes: number;
  readonly onOutput?: ((output: CommandOutput) => Promise<void> | void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What code can be completed with at a cursor. */
export interface Completion {
  /** Texts that can replace the code from `start` to `end`, sorted. Empty if nothing fits. */
  readonly matches: readonly string[];
  /** Where the word that is completed begins. */
  readonly start: number;
  /** The cursor. */
  readonly end: number;
}

export type TableFormat = 'csv' | 'parquet';

export interface TableRequest {
  /** The name of a variable. */
  readonly name: string;
  readonly format: TableFormat;
  /** Relative to the workspace. */
  readonly path: string;
}

export interface Rollback {
  readonly generation: number;
  /** `restored`, `restored in part` with what is not, or `kept` with the reason why the files were not changed. */
  readonly files: string;
}
