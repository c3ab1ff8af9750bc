import type { Readable } from 'node:stream';
import type { Artifact } from '../artifact/artifact.ts';
import type { Completion, PackageInstallation, Rollback } from '../engine/engine.ts';
import type { Command, ExecResult } from '../execution/command.ts';
import type { Event } from '../execution/event.ts';
import type { Execution, Json, Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { ExportOptions } from '../notebook/export.ts';
import type { Notebook } from '../notebook/nbformat.ts';
import type { FileSource, Listing } from '../workspace/workspace.ts';
import type {
  Cancellable,
  ExecOptions,
  RunOptions,
  SpawnOptions,
  StreamedRunOptions,
  TableOptions,
} from './options.ts';

/** An interpreter with state, owned by a client. Calls take turns, and each run sees what the runs before it left. */
export interface Session extends AsyncDisposable {
  readonly id: string;
  /** What it is found by: its id, a chat, a client, or `default`. */
  readonly key: string;
  readonly clientId: string | null;
  /** What confines it, as observed. */
  readonly isolation: Isolation;
  readonly files: SessionFiles;
  /** Whether it is known to have ended. A session elsewhere may have ended unnoticed; the next call to it says so. */
  readonly isClosed: boolean;
  info(): Promise<SessionInfo>;
  /** Runs code and returns everything that it produced. What the code does is in the result, never an exception. */
  runCode(code: string, options?: RunOptions): Promise<Execution>;
  /** Runs code and yields events as they happen; `done` comes last. Breaking out of the loop stops the program. */
  stream(code: string, options?: StreamedRunOptions): AsyncGenerator<Event, void, undefined>;
  /**
   * Runs a command of the system behind the same walls, on the same files, and returns how it ended. It takes no turn: it
   * runs beside Python and other commands. What the program does is in the result, never an exception.
   */
  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** `exec` for a command that is written to, signalled or left running: resolves as soon as it has been started. */
  spawn(argv: readonly string[], options?: SpawnOptions): Promise<Command>;
  /** Stops the code that is running, if any, and keeps the state. Does not wait for a turn. */
  interrupt(): Promise<void>;
  /** Undoes the last run that changed the state. */
  rollback(options?: Cancellable): Promise<Rollback>;
  /** Starts a fresh interpreter on the same files. */
  reset(options?: Cancellable): Promise<void>;
  /** The variables, each with its type and a short description. */
  inspect(options?: Cancellable): Promise<readonly Variable[]>;
  /**
   * What may stand at the cursor, which is at the end of the code by default: variables, attributes of live objects, keys
   * of dictionaries, modules. Looks at the state of the session, changes nothing and runs none of its code.
   */
  complete(code: string, cursor?: number, options?: Cancellable): Promise<Completion>;
  /** Sets variables to JSON values, as a run of its own that can be rolled back. */
  setVariables(variables: Readonly<Record<string, Json>>, options?: Cancellable): Promise<void>;
  /** Sets `context`, whose data the code reads with dots: `context.TYPE.key.field`. A run of its own, as above. */
  setContext(data: Readonly<Record<string, Json>>, options?: Cancellable): Promise<void>;
  /** Writes all rows of a DataFrame to an artifact; `host.artifacts.open(id)` returns its content. Changes no state. */
  exportTable(name: string, options?: TableOptions): Promise<Artifact>;
  /**
   * Installs packages for this session: requirements such as `polars==1.*`, or the text of a requirements file. Its
   * variables stay. What the session has already is not replaced. Waits for its turn; see docs/packages.md.
   */
  install(requirements: string | readonly string[], options?: Cancellable): Promise<PackageInstallation>;
  /** What the session has run, and what it showed, as a Jupyter notebook (nbformat 4.5). */
  exportNotebook(options?: NotebookOptions): Promise<Notebook>;
  /** Stops what is running, fails what is waiting, ends the processes and removes the files. May be called more than once. */
  close(): Promise<void>;
}

/** The files of a session: what its runs write, and what its owner uploads. */
export interface SessionFiles {
  /** Where they are, for a reader: a path of the machine, or an address. */
  readonly location: string;
  /** Writes a file to the workspace, replacing one of that name. */
  upload(path: string, source: FileSource, options?: Cancellable): Promise<FileFacts>;
  /** The content of a file. */
  download(path: string, options?: Cancellable): Promise<FileContent>;
  list(options?: Cancellable): Promise<FileList>;
  /** Removes a file, a link or an empty directory. */
  remove(path: string): Promise<void>;
}

/** The content of a file as a stream, with its size where that is known before it is read. */
export type FileContent = Readable & { readonly sizeBytes?: number };

export interface FileFacts {
  readonly path: string;
  readonly sizeBytes: number;
  readonly mime: string;
}

/** The files of a workspace, sorted by path. What is not a plain file is listed with the reason why it is left out. */
export interface FileList extends Omit<Listing, 'files' | 'allocatedBytes' | 'unseen'> {
  readonly files: readonly (FileFacts & { readonly modifiedAt: Date })[];
}

export type NotebookOptions = Omit<ExportOptions, 'pythonVersion'>;

/** What a host knows of a session without asking its interpreter. */
export interface SessionInfo {
  readonly id: string;
  /** What it is found by: its id, a chat, a client, or `default`. */
  readonly key: string;
  readonly clientId: string | null;
  readonly status: 'idle' | 'running' | 'closed';
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  /** Runs that have begun. */
  readonly executions: number;
  /** Calls that wait for their turn. */
  readonly queued: number;
  /** Its files: a path of the machine, or the address of files that are elsewhere. */
  readonly workspace: string;
}
