import { Readable } from 'node:stream';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import { boundedChunks, closing } from '../../../workspace/file-source.ts';
import { isPlainPath, parsePath } from '../../../workspace/names.ts';
import type {
  FileSource,
  FoundFile,
  Listing,
  ListOptions,
  Workspace,
  WorkspaceFile,
  WriteOptions,
} from '../../../workspace/workspace.ts';
import type { JupyterServer, ServerAnswer } from './server.ts';

const CHUNK_BYTES = 8 << 20;
const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 16;
const MAX_LISTING_MS = 10_000;
const TRANSFER_TIMEOUT_MS = 10 * 60_000;

const ContentsEntry = z.object({
  name: z.string(),
  type: z.string(),
  size: z.int().nonnegative().nullish(),
  last_modified: z.string(),
  created: z.string(),
});
type ContentsEntry = z.infer<typeof ContentsEntry>;
const Directory = z.object({ type: z.literal('directory'), content: z.array(ContentsEntry) });

/** A workspace in a directory of a Jupyter server, reached through its contents API. */
export class JupyterWorkspace implements Workspace {
  readonly startedEmpty = false; // a server does not list hidden files
  readonly #server: JupyterServer;
  readonly #directory: string;
  readonly #maxFileBytes: number;

  /** A file larger than `maxFileBytes` is not read. */
  constructor(server: JupyterServer, directory: string, maxFileBytes = Infinity) {
    this.#server = server;
    this.#directory = directory;
    this.#maxFileBytes = maxFileBytes;
  }

  async create(): Promise<void> {
    await this.#makeDirectory('');
  }

  get location(): string {
    return this.#server.locate(this.#api(''));
  }

  pathInSession(path: string): string {
    return path;
  }

  /** The caps are the server's, since each directory costs a request. The server does not say what it leaves out. */
  async list({ signal }: ListOptions = {}): Promise<Listing> {
    const files: FoundFile[] = [];
    const waiting = [''];
    const startedAt = performance.now();
    const listing = (cut: Listing['cut']): Listing => ({ files, cut, skipped: [], skippedCount: 0 });
    let entries = 0;
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      const found = await this.#entriesOf(folder, signal);
      for (const entry of found.slice(0, MAX_ENTRIES - entries)) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (!isPlainPath(path)) continue; // it could deceive a reader or lead elsewhere
        if (entry.type !== 'directory') files.push(describeEntry(path, entry));
        else if (path.split('/').length < MAX_DEPTH) waiting.push(path);
      }
      entries += found.length;
      if (entries > MAX_ENTRIES) return listing('entries');
      if (waiting.length > 0 && performance.now() - startedAt > MAX_LISTING_MS) return listing('time');
    }
    return listing(null);
  }

  async open(path: string): Promise<WorkspaceFile> {
    parsePath(path);
    const file = await this.#find(path);
    if (file === null) {
      throw new VivariumError(
        'FILE_NOT_FOUND',
        `There is no "${path}" in the workspace. List the files to see which there are.`,
      );
    }
    return new RemoteFile(file.sizeBytes, this.#read(path));
  }

  async write(path: string, source: FileSource, { onWritten, ...limits }: WriteOptions = {}): Promise<number> {
    using _ = closing(source);
    parsePath(path);
    let sizeBytes = 0;
    const chunks = boundedChunks(source, { path, ...limits }, (bytes) => (sizeBytes = bytes));
    await this.#upload(path, chunks, limits.signal);
    const written = onWritten && (await this.#find(path));
    if (written) onWritten?.(written);
    return sizeBytes;
  }

  async remove(path: string): Promise<void> {
    parsePath(path);
    const entry = await this.#look(path);
    if (entry?.type === 'directory' && (await this.#entriesOf(path)).length > 0) {
      throw new VivariumError(
        'FILE_REFUSED',
        `"${path}" was refused: the directory is not empty. Delete the files in it first.`,
      );
    }
    await this.#expect(path, 'DELETE', this.#api(path));
  }

  /** Removes the directory. The server may refuse one that is not empty; only a kernel sees the hidden files in it. */
  async destroy(): Promise<void> {
    if ((await this.#look('')) !== null) await this.#expect('', 'DELETE', this.#api(''));
  }

  async #find(path: string): Promise<FoundFile | null> {
    const entry = await this.#look(path);
    return entry === null || entry.type === 'directory' ? null : describeEntry(path, entry);
  }

  async *#read(path: string): AsyncGenerator<Uint8Array, void, undefined> {
    const response = await this.#server.fetch('GET', `files/${this.#encode(path)}`, { timeoutMs: TRANSFER_TIMEOUT_MS });
    if (response.status >= 300) {
      await response.body?.cancel();
      throw this.#problem(path, { status: response.status, text: '' });
    }
    yield* this.#server.read(response, this.#maxFileBytes);
  }

  /** A file that fits into one request appears as a whole or not at all. A larger one is assembled under another name. */
  async #upload(path: string, chunks: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    const parents = path.split('/').slice(0, -1);
    for (const index of parents.keys()) await this.#makeDirectory(parents.slice(0, index + 1).join('/'), signal);
    const draft = [...parents, `upload-${crypto.randomUUID()}`].join('/');
    let number = 0;
    let last: Buffer | null = null;
    try {
      for await (const piece of inPieces(chunks)) {
        if (last !== null) await this.#put(draft, last, (number += 1), signal);
        last = piece;
      }
      if (number === 0) return await this.#put(path, last ?? Buffer.alloc(0), null, signal);
      await this.#put(draft, last ?? Buffer.alloc(0), -1, signal);
      if ((await this.#look(path)) !== null) await this.remove(path);
      await this.#expect(path, 'PATCH', this.#api(draft), { path: this.#path(path) });
    } catch (error) {
      if (number > 0) await this.#server.call('DELETE', this.#api(draft));
      throw error;
    }
  }

  /** Empty if the program has removed or locked the directory in the meantime. */
  async #entriesOf(folder: string, signal?: AbortSignal): Promise<readonly ContentsEntry[]> {
    const answer = await this.#server.call('GET', `${this.#api(folder)}?type=directory&content=1`, { signal });
    const isClosed = answer.status >= 400 && answer.status < 500 && answer.status !== 401;
    return isClosed ? [] : this.#server.parse(Directory, `for the directory "${folder}"`, answer).content;
  }

  async #look(path: string): Promise<ContentsEntry | null> {
    const answer = await this.#server.call('GET', `${this.#api(path)}?content=0`);
    if (answer.status === 404) return null;
    if (answer.status >= 300) throw this.#problem(path, answer);
    return this.#server.parse(ContentsEntry, `for "${path}"`, answer);
  }

  async #makeDirectory(path: string, signal?: AbortSignal): Promise<void> {
    await this.#expect(path, 'PUT', this.#api(path), { type: 'directory' }, signal);
  }

  async #put(path: string, bytes: Buffer, chunk: number | null, signal?: AbortSignal): Promise<void> {
    const content = { type: 'file', format: 'base64', content: bytes.toString('base64') };
    await this.#expect(path, 'PUT', this.#api(path), { ...content, ...(chunk !== null && { chunk }) }, signal);
  }

  async #expect(path: string, method: string, target: string, body?: object, signal?: AbortSignal): Promise<void> {
    const timeoutMs = TRANSFER_TIMEOUT_MS;
    const answer = await this.#server.call(method, target, { ...(body && { body }), timeoutMs, signal });
    if (answer.status >= 300) throw this.#problem(path, answer);
  }

  #problem(path: string, answer: ServerAnswer): VivariumError {
    const refusal = this.#server.refusal(`for "${path}"`, answer);
    if (answer.status === 404) {
      return new VivariumError(
        'FILE_NOT_FOUND',
        `There is no "${path}" in the workspace. List the files to see which there are; a Jupyter server does not show hidden ones.`,
        { cause: refusal },
      );
    }
    if (answer.status === 413) return new VivariumError('FILE_TOO_LARGE', refusal.message, { cause: refusal });
    if (path === '') return refusal;
    return new VivariumError('FILE_REFUSED', `"${path}" was refused. ${refusal.message}`, { cause: refusal });
  }

  #path(path: string): string {
    return path === '' ? this.#directory : `${this.#directory}/${path}`;
  }

  #encode(path: string): string {
    return this.#path(path).split('/').map(encodeURIComponent).join('/');
  }

  #api(path: string): string {
    return `api/contents/${this.#encode(path)}`;
  }
}

/** The server gives no inode, and as the time of change only the time of creation. */
function describeEntry(path: string, { size, last_modified: modified, created }: ContentsEntry): FoundFile {
  return {
    path,
    sizeBytes: size ?? 0,
    dev: 0n,
    ino: 0n,
    mtimeNs: nanoseconds(modified),
    ctimeNs: nanoseconds(created),
  };
}

/** A file of a server, whose bytes come as they are asked for. */
class RemoteFile implements WorkspaceFile {
  readonly sizeBytes: number;
  readonly survivesRemoval = false;
  readonly #bytes: AsyncGenerator<Uint8Array, void, undefined>;

  constructor(sizeBytes: number, bytes: AsyncGenerator<Uint8Array, void, undefined>) {
    this.sizeBytes = sizeBytes;
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

/** From an ISO date with up to six decimals of a second; a Date would keep three of them. */
function nanoseconds(text: string): bigint {
  const [, digits = ''] = /\.(\d{1,9})/.exec(text) ?? [];
  const seconds = Math.floor(Date.parse(text) / 1000);
  return Number.isFinite(seconds) ? BigInt(seconds) * 1_000_000_000n + BigInt(digits.padEnd(9, '0')) : 0n;
}

/** Joins chunks of any size into pieces that each fill a request. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length;) {
      const part = chunk.subarray(start, start + CHUNK_BYTES - bytes);
      kept.push(part);
      bytes += part.length;
      start += part.length;
      if (bytes < CHUNK_BYTES) continue;
      yield Buffer.concat(kept);
      kept = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(kept);
}
