/** What a server answers. It may be no server of ours, or a newer one: nothing in it is taken for granted. */
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { VivariumError } from '../../errors.ts';
import { fromWireError } from '../../wire/error.ts';
import type { Call, Peer } from './call.ts';
import { ConnectionLost } from './connection-lost.ts';

/** The body of a failure is a sentence or two. */
const MAX_FAILURE_BYTES = 1 << 20;
/** Longer texts cannot be held by JavaScript. */
const MAX_BODY_BYTES = 500 * 2 ** 20;
/** What a proxy says when the server behind it does not answer. */
const FROM_PROXIES: ReadonlySet<number> = new Set([502, 503, 504]);

export function isOk({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** The whole body as text. */
export function readBody(
  response: IncomingMessage,
  call: Call,
  peer: Peer,
  { isFailure = false } = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  const maxBytes = isFailure ? MAX_FAILURE_BYTES : MAX_BODY_BYTES;
  let sizeBytes = 0;
  response.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length;
    chunks.push(chunk);
    if (sizeBytes > maxBytes) response.destroy(strange(call, peer, `more than ${maxBytes} bytes`));
  });
  response.once('end', () => resolve(Buffer.concat(chunks).toString()));
  response.once('error', (error) => reject(peer.lost(error, call, true)));
  return promise;
}

/** The body as JSON of this shape. */
export function readAnswer<T>(schema: z.ZodType<T>, text: string, call: Call, peer: Peer): T {
  const parsed = schema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? '' : `${issue.path.join('.')}: ${issue.message}`;
  throw strange(call, peer, where, parsed.error);
}

/** The error of a server, to be thrown here. */
export function failureOf(response: IncomingMessage, text: string, call: Call, peer: Peer): Error {
  const { statusCode = 0, statusMessage = '' } = response;
  const error = readError(jsonOf(text));
  if (error !== undefined) return error;
  const said = `${statusCode} ${statusMessage}`.trim();
  if (FROM_PROXIES.has(statusCode)) return new ConnectionLost(peer.url, new Error(`it answered ${said}`), true);
  const { location } = response.headers;
  return strange(call, peer, location === undefined ? said : `${said}, see ${location}`);
}

/** Undefined if it is no error of a server of ours. */
export function readError(json: unknown): VivariumError | undefined {
  try {
    return fromWireError(json);
  } catch {
    return undefined; // what it is instead, the caller says
  }
}

/** Undefined for what is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // no schema takes it
  }
}

/** An answer that no server of ours gives. */
export function strange({ method, path }: Call, { url }: Peer, what: string, cause?: unknown): VivariumError {
  return new VivariumError(
    'HOST_UNREACHABLE',
    `${url} does not answer as a Vivarium server does (${method} ${path}: ${what}). Check the address, and the versions of both sides.`,
    { cause },
  );
}
