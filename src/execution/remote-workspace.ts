/** A session's files that are not on this host. Paths are relative to its directory; whatever is told of them is hostile. */
export interface RemoteWorkspace {
  /** Where they are, for a reader; never with credentials. */
  readonly location: string;
  list(signal?: AbortSignal): Promise<RemoteListing>;
  /** Null where there is no such file. */
  find(path: string): Promise<RemoteFile | null>;
  /** The content, and no more than `maxBytes` of it: what is larger is an error. */
  read(path: string, maxBytes: number): AsyncGenerator<Uint8Array, void, undefined>;
  /** Puts a file there, in place of one that may be there; missing directories are made. */
  write(path: string, chunks: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
  /** Removes a file or an empty directory. */
  remove(path: string): Promise<void>;
}

export interface RemoteListing {
  readonly files: readonly RemoteFile[];
  /** The cap that ended the listing early, if one did. */
  readonly cut: 'entries' | 'time' | null;
}

export interface RemoteFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedNs: bigint;
  /** When its record changed, which a program cannot set; the time of modification where no more is known. */
  readonly changedNs: bigint;
}
