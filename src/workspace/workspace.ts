import type { Readable } from 'node:stream';

/**
 * The files of one session, wherever they are. Its owner reaches them while code runs there, so whatever is found in them
 * is hostile. Paths are relative to the workspace, with `/` between their parts.
 */
export interface Workspace {
  /** Where the files are, for a reader: a path of this machine, or an address. It never holds credentials. */
  readonly location: string;
  /** Whether it is known to have held nothing when the session began. */
  readonly startedEmpty: boolean;
  /** The path by which the session's code opens a file from any working directory; a relative one if no other is known. */
  pathInSession(path: string): string;
  /** Writes a file and returns its size. It replaces an existing file as a whole, and makes missing directories. */
  write(path: string, source: FileSource, options?: WriteOptions): Promise<number>;
  /** The caller closes the file. A stream of it closes by itself. */
  open(path: string): Promise<WorkspaceFile>;
  list(options?: ListOptions): Promise<Listing>;
  /**
   * What was touched since the last call, or null if that is not known. A listing that begins after null, together with
   * what later calls return, misses nothing. Absent where nobody can be asked.
   */
  touched?(): Promise<Touched | null>;
  /** Looks at single paths. `visit` gets each right after that; null if a listing would not have it as a file. */
  look?(paths: Iterable<string>, visit: (path: string, file: SeenFile | null) => void): Promise<void>;
  /** Removes a file, an empty directory, or a link but not its target. */
  remove(path: string): Promise<void>;
}

export type FileSource = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface WriteOptions {
  readonly maxBytes?: number | undefined;
  /** What sets `maxBytes`, for the error message. */
  readonly limit?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Refuses to replace a file that is there already. */
  readonly mustBeNew?: boolean;
  /** Called as soon as the file is in the workspace, before code could change it unnoticed. */
  readonly onWritten?: ((file: FoundFile) => void) | undefined;
}

/** A file, open for reading. */
export interface WorkspaceFile extends AsyncDisposable {
  readonly sizeBytes: number;
  /** Whether it stays readable, as it is, when its name is removed or given to another file. */
  readonly survivesRemoval: boolean;
  chunks(): AsyncGenerator<Uint8Array, void, undefined>;
  stream(): Readable;
}

export interface ListOptions {
  readonly caps?: Partial<WalkCaps> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How much of a workspace is looked at before the listing says that it saw only a part. */
export interface WalkCaps {
  /** Names of any kind, in all directories together. */
  readonly maxEntries: number;
  readonly maxDepth: number;
  readonly maxMs: number;
}

export interface Listing {
  readonly files: readonly FoundFile[];
  /** The first entries that were left out; `skippedCount` counts all of them. */
  readonly skipped: readonly Skipped[];
  readonly skippedCount: number;
  /** The cap that ended the listing early, if one did. */
  readonly cut: 'entries' | 'time' | null;
  /** What the files take on disk, if that is known. Holes in them take nothing. */
  readonly allocatedBytes?: number;
  /** How many files at least come after the cut. */
  readonly unseen?: number;
}

/** What may differ in a workspace from what was known of it. */
export interface Touched {
  /** Files, directories, and names of what is gone. */
  readonly paths: readonly string[];
  /** Directories that came, went or were replaced. What is below them now is among `paths`, what was is not. */
  readonly folders: readonly string[];
}

/** A regular file, and the facts that change whenever its content does. */
export interface FoundFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  /** What it takes on disk, if that is known. */
  readonly allocatedBytes?: number;
  /** Set if it has further names, by which it can change. */
  readonly isLinked?: true;
}

/** A file that was looked at by itself. */
export interface SeenFile extends FoundFile {
  readonly bornNs: bigint;
}

export interface Skipped {
  /** Fit to be shown, not to be opened. */
  readonly path: string;
  readonly reason: SkipReason;
}

export type SkipReason =
  | 'symlink'
  | 'fifo'
  | 'socket'
  | 'device'
  | 'name'
  | 'depth'
  | 'mount'
  | 'hard-link'
  | 'unreadable';
