import type { Readable } from 'node:stream';
import type { Artifact } from '../artifact/artifact.ts';
import type { Rollback } from '../engine/engine.ts';
import type { Event } from '../execution/event.ts';
import type { Execution, Json, Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { ExportOptions } from '../notebook/export.ts';
import type { Notebook } from '../notebook/nbformat.ts';
import type { FileSource, Listing } from '../workspace/workspace.ts';
import type { Cancellable, RunOptions, TableOptions } from './options.ts';

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
  stream(code: string, options?: RunOptions): AsyncGenerator<Event, void, undefined>;
  /** Stops the code that is running, if any, and keeps the state. Does not wait for a turn. */
  interrupt(): Promise<void>;
  /** Undoes the last run that changed the state. */
  rollback(options?: Cancellable): Promise<Rollback>;
  /** Starts a fresh interpreter on the same files. */
  reset(options?: Cancellable): Promise<void>;
  /** The variables, each with its type and a short description. */
  inspect(options?: Cancellable): Promise<readonly Variable[]>;
  /** Sets variables to JSON values, as a run of its own that can be rolled back. */
  setVariables(variables: Readonly<Record<string, Json>>, options?: Cancellable): Promise<void>;
  /** Sets `context`, whose data the code reads with dots: `context.TYPE.key.field`. A run of its own, as above. */
  setContext(data: Readonly<Record<string, Json>>, options?: Cancellable): Promise<void>;
  /** Writes all rows of a DataFrame to an artifact; `host.artifacts.open(id)` returns its content. Changes no state. */
  exportTable(name: string, options?: TableOptions): Promise<Artifact>;
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
  download(path: string, options?: Cancellable): Promise<Readable>;
  list(options?: Cancellable): Promise<FileList>;
  /** Removes a file, a link or an empty directory. */
  remove(path: string): Promise<void>;
}

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
