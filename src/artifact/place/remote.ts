/** Files of a session that are not on this host: the same checks of names and sizes, another way to reach them. */
import { Readable } from 'node:stream';
import { VivariumError } from '../../errors.ts';
import type { RemoteFile, RemoteWorkspace } from '../../execution/remote-workspace.ts';
import type { Inventory } from '../changes.ts';
import { bounded, type FileFacts, type FileList, type FileSource, type UploadOptions } from '../files.ts';
import { mimeOf } from '../mime.ts';
import { isPlainPath, parsePath } from './names.ts';
import type { FoundFile } from './walk.ts';

/** Nobody but the other side sees what it leaves out. */
const NOTHING_SKIPPED = { skipped: [], skippedCount: 0 } as const;

export class RemotePlace {
  readonly #workspace: RemoteWorkspace;
  readonly #maxBytes: number;

  constructor(workspace: RemoteWorkspace, maxBytes: number) {
    this.#workspace = workspace;
    this.#maxBytes = maxBytes;
  }

  async upload(
    path: string,
    { source, onPlaced, ...limits }: UploadOptions & { readonly source: FileSource },
  ): Promise<FileFacts> {
    const { name } = parsePath(path);
    let sizeBytes = 0;
    const chunks = bounded(source, { path, ...limits }, (bytes) => (sizeBytes = bytes));
    await this.#workspace.write(path, chunks, limits.signal);
    const placed = onPlaced && (await this.#workspace.find(path));
    if (placed) onPlaced?.(describe(placed));
    return { path, sizeBytes, mime: mimeOf(name) };
  }

  async open(path: string): Promise<RemoteOpenFile> {
    const { name } = parsePath(path);
    const found = await this.#workspace.find(path);
    if (found === null) {
      throw new VivariumError(
        'FILE_NOT_FOUND',
        `There is no "${path}" in the workspace. List the files to see what is.`,
      );
    }
    return new RemoteOpenFile(
      { sizeBytes: found.sizeBytes, mime: mimeOf(name) },
      this.#workspace.read(path, this.#maxBytes),
    );
  }

  async list(signal?: AbortSignal): Promise<FileList> {
    const { files, cut } = await this.#files(signal);
    const present = ({ path, sizeBytes, modifiedNs }: RemoteFile): FileList['files'][number] => {
      return { path, sizeBytes, mime: mimeOf(path), modifiedAt: new Date(Number(modifiedNs / 1_000_000n)) };
    };
    return { ...NOTHING_SKIPPED, cut, files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map(present) };
  }

  async remove(path: string): Promise<void> {
    parsePath(path);
    await this.#workspace.remove(path);
  }

  async takeInventory(signal?: AbortSignal): Promise<Inventory> {
    const takenAtNs = BigInt(Date.now()) * 1_000_000n;
    const { files, cut } = await this.#files(signal);
    return { ...NOTHING_SKIPPED, cut, takenAtNs, files: new Map(files.map((file) => [file.path, describe(file)])) };
  }

  /** Names that could fool a reader, or lead elsewhere, are not passed on. */
  async #files(signal?: AbortSignal): ReturnType<RemoteWorkspace['list']> {
    const { files, cut } = await this.#workspace.list(signal);
    return { files: files.filter(({ path }) => isPlainPath(path)), cut };
  }
}

function describe({ path, sizeBytes, modifiedNs, changedNs }: RemoteFile): FoundFile {
  return { path, sizeBytes, dev: 0n, ino: 0n, mtimeNs: modifiedNs, ctimeNs: changedNs };
}

/** A file elsewhere whose bytes come as they are asked for. */
class RemoteOpenFile implements AsyncDisposable {
  readonly sizeBytes: number;
  readonly mime: string;
  readonly #bytes: AsyncGenerator<Uint8Array, void, undefined>;

  constructor({ sizeBytes, mime }: Omit<FileFacts, 'path'>, bytes: AsyncGenerator<Uint8Array, void, undefined>) {
    this.sizeBytes = sizeBytes;
    this.mime = mime;
    this.#bytes = bytes;
  }

  chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#bytes;
  }

  stream(): Readable {
    return Readable.from(this.#bytes, { objectMode: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bytes.return();
  }
}
