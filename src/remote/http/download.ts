import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { Task } from '../../process-life.ts';
import type { Call } from './call.ts';
import type { Connection } from './connection.ts';

/**
 * The content of an answer, no faster than it is read. One that is not read any more does not keep the process alive;
 * destroying it closes the connection.
 */
export async function download(connection: Connection, call: Call): Promise<Readable> {
  const response = await connection.open(call);
  response.socket.unref();
  return Readable.from(chunksOf(response, connection, call), { objectMode: false, highWaterMark: HIGH_WATER });
}

const HIGH_WATER = 64 << 10;

async function* chunksOf(
  response: IncomingMessage,
  connection: Connection,
  call: Call,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = response.iterator() as AsyncIterableIterator<Uint8Array>;
  try {
    for (let next = await inTask(chunks); next.done !== true; next = await inTask(chunks)) yield next.value;
  } catch (error) {
    throw connection.lost(error, call, true);
  } finally {
    if (!response.readableEnded) response.destroy();
  }
}

async function inTask<T>(chunks: AsyncIterator<T>): Promise<IteratorResult<T, unknown>> {
  using _ = new Task();
  return await chunks.next();
}
