import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { VivariumError } from '../errors.ts';
import type { WorkspaceFile } from './workspace.ts';

/** Larger chunks copy no faster, and hashing one must not hold up the event loop. */
const CHUNK_BYTES = 1 << 17;

/** A regular file, open for reading. It is read up to the size it had when it was opened, so that one that grows has an end. */
export class OpenFile implements WorkspaceFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly survivesRemoval = true;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, name: string, sizeBytes: number) {
    this.#handle = handle;
    this.name = name;
    this.sizeBytes = sizeBytes;
  }

  /** The caller has checked what the handle refers to. It owns the file from here on. */
  static async from(handle: FileHandle, name: string): Promise<OpenFile> {
    await using stack = new AsyncDisposableStack();
    stack.use(handle);
    const { size } = await handle.stat();
    stack.move();
    return new OpenFile(handle, name, size);
  }

  /** Refuses what is not a regular file, and a hard link that may refer to somebody else's file. */
  static check(stats: BigIntStats, { name, owner }: { name: string; owner: number }): void {
    if (!stats.isFile())
      throw new VivariumError('FILE_REFUSED', `"${name}" is not a regular file. Choose one that is.`);
    if (isForeignLink(stats, owner)) {
      throw new VivariumError('FILE_REFUSED', `"${name}" is a hard link to a file of another user. Copy it instead.`);
    }
  }

  /** Reads as fast as the chunks are taken. Ends early if the file has shrunk. */
  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let position = 0; position < this.sizeBytes;) {
      const wanted = Math.min(CHUNK_BYTES, this.sizeBytes - position);
      const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafeSlow(wanted), 0, wanted, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** Exactly `sizeBytes` bytes, or an error. The stream owns the file: it is closed before `close`, even if nobody reads. */
  stream(): Readable {
    const content = this.#whole();
    const stream = new Readable({
      read: () => void pushNext(stream, content),
      destroy: (error, done) => void this.#closeThen(() => done(error)),
    });
    return stream;
  }

  async #closeThen(done: () => void): Promise<void> {
    await this[Symbol.asyncDispose]().catch(() => undefined); // it was only read
    done();
  }

  async *#whole(): AsyncGenerator<Uint8Array, void, undefined> {
    let bytes = 0;
    for await (const chunk of this.chunks()) {
      bytes += chunk.length;
      yield chunk;
    }
    if (bytes === this.sizeBytes) return;
    throw new VivariumError(
      'FILE_REFUSED',
      `"${this.name}" shrank while it was read. Read it again when nothing writes it.`,
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#handle.close();
  }
}

async function pushNext(stream: Readable, content: AsyncGenerator<Uint8Array, void, undefined>): Promise<void> {
  try {
    const { done, value } = await content.next();
    stream.push(done === true ? null : value);
  } catch (error) {
    stream.destroy(error as Error);
  }
}

/** A file of another user may have been linked in from elsewhere. */
export function isForeignLink(stats: BigIntStats, owner: number): boolean {
  return stats.nlink > 1n && stats.uid !== BigInt(owner);
}
