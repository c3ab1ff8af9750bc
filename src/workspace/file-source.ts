import { Readable } from 'node:stream';
import { VivariumError } from '../errors.ts';
import type { FileSource, WriteOptions } from './workspace.ts';

interface BoundedOptions extends Omit<WriteOptions, 'onWritten'> {
  readonly path: string;
}

/** Reads a source up to a limit, and reports the number of bytes so far with each chunk. */
export async function* boundedChunks(
  source: FileSource,
  { path, maxBytes = Infinity, limit = 'a file may have', signal }: BoundedOptions,
  onBytes: (total: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let sizeBytes = 0;
  for await (const chunk of chunksOf(source)) {
    signal?.throwIfAborted();
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) {
      throw new VivariumError('FILE_TOO_LARGE', `"${path}" is larger than the ${maxBytes} bytes that ${limit}.`);
    }
    onBytes(sizeBytes);
    yield chunk;
  }
}

async function* chunksOf(source: FileSource): AsyncGenerator<Uint8Array, void, undefined> {
  if (typeof source === 'string') yield Buffer.from(source);
  else if (source instanceof Uint8Array) yield source;
  else yield* source;
}

/** When disposed, closes a source that is a stream, also one that nobody has begun to read. */
export function closing(source: FileSource): Disposable {
  return {
    [Symbol.dispose]() {
      if (source instanceof Readable) source.destroy();
    },
  };
}
