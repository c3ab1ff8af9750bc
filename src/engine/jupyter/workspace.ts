import { z } from 'zod';
import { VivariumError } from '../../errors.ts';
import type { RemoteFile, RemoteListing, RemoteWorkspace } from '../../execution/remote-workspace.ts';
import type { Answer, JupyterServer } from './server.ts';

const CHUNK_BYTES = 8 << 20;
const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 16;
const MAX_LISTING_MS = 10_000;
const TRANSFER_TIMEOUT_MS = 10 * 60_000;

const Entry = z.object({
  name: z.string(),
  type: z.string(),
  size: z.int().nonnegative().nullish(),
  last_modified: z.string(),
  created: z.string(),
});
type Entry = z.infer<typeof Entry>;
const Directory = z.object({ type: z.literal('directory'), content: z.array(Entry) });

/** A directory of its own for each session among the files of the server, by way of its contents API. */
export class JupyterWorkspace implements RemoteWorkspace {
  readonly #server: JupyterServer;
  readonly #directory: string;

  constructor(server: JupyterServer, directory: string) {
    this.#server = server;
    this.#directory = directory;
  }

  async create(): Promise<void> {
    await this.#makeDirectory('');
  }

  get location(): string {
    return this.#server.locate(this.#api(''));
  }

  async list(signal?: AbortSignal): Promise<RemoteListing> {
    const files: RemoteFile[] = [];
    const waiting = [''];
    const startedAt = performance.now();
    let entries = 0;
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      const found = await this.#entriesOf(folder, signal);
      for (const entry of found.slice(0, MAX_ENTRIES - entries)) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.type !== 'directory') files.push(describe(path, entry));
        else if (path.split('/').length < MAX_DEPTH) waiting.push(path);
      }
      entries += found.length;
      if (entries > MAX_ENTRIES) return { files, cut: 'entries' };
      if (waiting.length > 0 && performance.now() - startedAt > MAX_LISTING_MS) return { files, cut: 'time' };
    }
    return { files, cut: null };
  }

  async find(path: string): Promise<RemoteFile | null> {
    const entry = await this.#look(path);
    return entry === null || entry.type === 'directory' ? null : describe(path, entry);
  }

  async *read(path: string, maxBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
    const response = await this.#server.fetch('GET', `files/${this.#encode(path)}`, { timeoutMs: TRANSFER_TIMEOUT_MS });
    if (response.status >= 300) {
      await response.body?.cancel();
      throw this.#problem(path, { status: response.status, text: '' });
    }
    yield* this.#server.read(response, maxBytes);
  }

  /** What fits into one request appears whole or not at all; more is put together under another name first. */
  async write(path: string, chunks: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
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

  async remove(path: string): Promise<void> {
    const entry = await this.#look(path);
    if (entry?.type === 'directory' && (await this.#entriesOf(path)).length > 0) {
      throw new VivariumError(
        'FILE_REFUSED',
        `"${path}" was refused: the directory is not empty. Delete the files in it first.`,
      );
    }
    await this.#expect(path, 'DELETE', this.#api(path));
  }

  /** Removes the directory. One that is not empty may be refused: only a kernel sees the hidden files in it. */
  async destroy(): Promise<void> {
    if ((await this.#look('')) !== null) await this.#expect('', 'DELETE', this.#api(''));
  }

  /** Nothing, where the program has removed or locked the directory meanwhile. */
  async #entriesOf(folder: string, signal?: AbortSignal): Promise<readonly Entry[]> {
    const answer = await this.#server.call('GET', `${this.#api(folder)}?type=directory&content=1`, { signal });
    const isClosed = answer.status >= 400 && answer.status < 500 && answer.status !== 401;
    return isClosed ? [] : this.#server.parse(Directory, `for the directory "${folder}"`, answer).content;
  }

  async #look(path: string): Promise<Entry | null> {
    const answer = await this.#server.call('GET', `${this.#api(path)}?content=0`);
    if (answer.status === 404) return null;
    if (answer.status >= 300) throw this.#problem(path, answer);
    return this.#server.parse(Entry, `for "${path}"`, answer);
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

  #problem(path: string, answer: Answer): VivariumError {
    const refusal = this.#server.refusal(`for "${path}"`, answer);
    if (answer.status === 404) {
      return new VivariumError(
        'FILE_NOT_FOUND',
        `There is no "${path}" in the workspace. List the files to see what is; a Jupyter server shows no hidden ones.`,
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

function describe(path: string, { size, last_modified: modified, created }: Entry): RemoteFile {
  return { path, sizeBytes: size ?? 0, modifiedNs: nanoseconds(modified), changedNs: nanoseconds(created) };
}

/** Of an ISO date with up to six digits behind the second, of which a Date keeps three. */
function nanoseconds(text: string): bigint {
  const [, digits = ''] = /\.(\d{1,9})/.exec(text) ?? [];
  const seconds = Math.floor(Date.parse(text) / 1000);
  return Number.isFinite(seconds) ? BigInt(seconds) * 1_000_000_000n + BigInt(digits.padEnd(9, '0')) : 0n;
}

/** Joins chunks of any size into pieces of the size of a request. */
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
