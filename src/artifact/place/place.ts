import type { Readable } from 'node:stream';
import type { RemoteWorkspace } from '../../execution/remote-workspace.ts';
import { takeInventory, type Inventory } from '../changes.ts';
import {
  listFiles,
  openFile,
  removeFile,
  upload,
  type FileFacts,
  type FileList,
  type FileSource,
  type UploadOptions,
  type Workspace,
} from '../files.ts';
import { RemotePlace } from './remote.ts';

/** Where a session's files are, and how they are reached. */
export interface Place {
  upload(path: string, options: UploadOptions & { readonly source: FileSource }): Promise<FileFacts>;
  /** The caller closes what it opened; a stream of it closes by itself. */
  open(path: string): Promise<PlacedFile>;
  list(signal?: AbortSignal): Promise<FileList>;
  remove(path: string): Promise<void>;
  takeInventory(signal?: AbortSignal): Promise<Inventory>;
}

/** A file, open for reading. */
export interface PlacedFile extends AsyncDisposable {
  readonly sizeBytes: number;
  readonly mime: string;
  chunks(): AsyncGenerator<Uint8Array, void, undefined>;
  stream(): Readable;
}

/** The files of a workspace on this host, or of one elsewhere, from where no more than `maxBytes` of a file are taken. */
export function placeOf(workspace: Workspace | RemoteWorkspace, maxBytes = Infinity): Place {
  return 'path' in workspace ? new HostPlace(workspace) : new RemotePlace(workspace, maxBytes);
}

class HostPlace implements Place {
  readonly #workspace: Workspace;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  upload(path: string, options: UploadOptions & { readonly source: FileSource }): Promise<FileFacts> {
    return upload(this.#workspace, path, options);
  }

  open(path: string): Promise<PlacedFile> {
    return openFile(this.#workspace, path);
  }

  list(signal?: AbortSignal): Promise<FileList> {
    return listFiles(this.#workspace, { signal });
  }

  async remove(path: string): Promise<void> {
    removeFile(this.#workspace, path);
  }

  takeInventory(signal?: AbortSignal): Promise<Inventory> {
    const { path, uid } = this.#workspace;
    return takeInventory(path, undefined, { uid, signal });
  }
}
