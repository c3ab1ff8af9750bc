import type { Readable } from 'node:stream';
import type { FileSource, Listing } from '../../workspace/workspace.ts';

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
export interface FileList extends Omit<Listing, 'files' | 'allocatedBytes'> {
  readonly files: readonly (FileFacts & { readonly modifiedAt: Date })[];
}

/** Aborting stops the work itself, not only the waiting for it. */
export interface Cancellable {
  readonly signal?: AbortSignal;
}
