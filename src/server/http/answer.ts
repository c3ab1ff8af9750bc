/**
 * Answers are written to Node's response directly: going through a `Response` costs more than most requests, and prints
 * to the console when a client goes away.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Exchange } from './exchange.ts';

const KEEP_ALIVE_MS = 15_000;

type Headers = Readonly<Record<string, string | number>>;

/** Answers with a value as JSON. */
export function sendJson(c: Exchange, status: number, value: unknown, headers: Headers = {}): Response {
  return sendText(c, status, JSON.stringify(value), headers);
}

/** Answers with text that is JSON already. */
export function sendText(c: Exchange, status: number, json: string, headers: Headers = {}): Response {
  const { outgoing } = c.env;
  if (outgoing.headersSent || outgoing.destroyed) return RESPONSE_ALREADY_SENT; // nobody is there
  if (status === 429 && !outgoing.hasHeader('retry-after')) outgoing.setHeader('retry-after', 1);
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  outgoing.end(json);
  return RESPONSE_ALREADY_SENT;
}

/** Answers with text of another type. */
export function sendBody(c: Exchange, text: string, headers: Headers): Response {
  c.env.outgoing.writeHead(200, {
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  c.env.outgoing.end(text);
  return RESPONSE_ALREADY_SENT;
}

/** Answers that it is done. */
export function sendNothing(c: Exchange): Response {
  c.env.outgoing.writeHead(204, { 'cache-control': 'no-store' });
  c.env.outgoing.end();
  return RESPONSE_ALREADY_SENT;
}

/** Answers with content, as fast as the client takes it. */
export async function sendStream(c: Exchange, status: number, content: Readable, headers: Headers): Promise<Response> {
  const { outgoing } = c.env;
  outgoing.writeHead(status, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers });
  await pipeline(content, outgoing).catch(() => outgoing.destroy()); // the client sees that the content is not complete
  return RESPONSE_ALREADY_SENT;
}

/** Answers with server-sent events, as fast as the client takes them. `frames` gets a signal that says that it has left. */
export async function sendEvents(
  c: Exchange,
  frames: (gone: AbortSignal) => AsyncIterable<string>,
  headers: Headers = {},
): Promise<Response> {
  const { outgoing } = c.env;
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  outgoing.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no', // nginx would hold events back
    ...headers,
  });
  outgoing.flushHeaders();
  const timer = setInterval(() => outgoing.write(': keep-alive\n\n'), KEEP_ALIVE_MS);
  try {
    for await (const frame of frames(gone.signal)) {
      if (!outgoing.write(frame)) await drained(outgoing, gone.signal);
      timer.refresh();
    }
    outgoing.end();
  } catch (error) {
    outgoing.destroy(); // the client sees that the stream is not complete
    if (!gone.signal.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
  return RESPONSE_ALREADY_SENT;
}

/** Resolves when the client has closed the connection before it got the whole answer. */
export function leaving(outgoing: ServerResponse): { readonly left: Promise<void> } & Disposable {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  if (outgoing.destroyed) resolve();
  outgoing.once('close', resolve);
  return { left, [Symbol.dispose]: () => outgoing.off('close', resolve) };
}

async function drained(outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  if (outgoing.writableNeedDrain) await once(outgoing, 'drain', { signal });
}
