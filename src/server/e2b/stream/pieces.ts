/** Answers that are written piece by piece, as fast as the client takes them. */
import { once } from 'node:events';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { ServerContext } from '../../parts/parts.ts';

/** What is sent while there is nothing else to send, so that nobody in between takes the connection for dead. */
export interface KeepAlive {
  readonly everyMs: number;
  readonly piece: string | Buffer;
}

interface StreamedAnswer {
  readonly contentType: string;
  readonly keepAlive: KeepAlive;
  /** Gets a signal that is aborted when the client has left. It tells its own failures. */
  readonly pieces: (gone: AbortSignal) => AsyncIterable<string | Buffer>;
}

export async function sendPieces(c: ServerContext, answer: StreamedAnswer): Promise<Response> {
  const { outgoing } = c.env;
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  if (outgoing.destroyed) gone.abort();
  outgoing.writeHead(200, {
    'content-type': answer.contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no', // nginx would hold pieces back
  });
  outgoing.flushHeaders();
  const { everyMs, piece: pulse } = answer.keepAlive;
  const timer = setInterval(() => outgoing.write(pulse), everyMs);
  try {
    for await (const piece of answer.pieces(gone.signal)) {
      if (!outgoing.write(piece)) await drained(c, gone.signal);
      timer.refresh();
    }
    outgoing.end();
  } catch (error) {
    outgoing.destroy(); // the client sees that the answer is not complete
    if (!gone.signal.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
  return RESPONSE_ALREADY_SENT;
}

async function drained(c: ServerContext, signal: AbortSignal): Promise<void> {
  if (c.env.outgoing.writableNeedDrain) await once(c.env.outgoing, 'drain', { signal });
}
