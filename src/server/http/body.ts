import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Exchange } from './exchange.ts';
import { HttpError } from './errors.ts';

const MAX_JSON_BYTES = 16 << 20;

/** The JSON body of a request, checked. */
export async function readJson<T>(c: Exchange, schema: z.ZodType<T>): Promise<T> {
  return parse(schema, toJson(await readText(c)));
}

/** The text of a JSON body, as it was sent. No body is the same as one without options. */
export async function readText(c: Exchange): Promise<string> {
  const { incoming } = c.env;
  if (isEmpty(incoming)) return '{}';
  assertJson(incoming);
  return readAll(incoming);
}

export function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VivariumError('REQUEST_INVALID', `The body is not JSON: ${reason}.`, { cause: error });
  }
}

/** The chunks of a body, whatever it is, as fast as they are taken. A client that sends nothing is cut off by node-server.ts. */
export async function* readChunks(incoming: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    // A caller that stops early still has to answer, over the same connection.
    const chunks = incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    for await (const chunk of chunks) yield chunk;
  } catch (error) {
    throw new VivariumError('REQUEST_INVALID', 'The body of the request ended before it was complete.', {
      cause: error,
    });
  }
}

function isEmpty({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

function assertJson({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  if (type !== undefined && /^application\/json\s*(?:;|$)/i.test(type)) return;
  const problem = type === undefined ? 'has no content type' : `has the content type ${JSON.stringify(type)}`;
  throw new HttpError(415, 'REQUEST_INVALID', `The body ${problem}. Send JSON with "Content-Type: application/json".`);
}

function readAll(incoming: IncomingMessage): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  if (Number(incoming.headers['content-length'] ?? 0) > MAX_JSON_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  const fail = (error: VivariumError): void => {
    incoming.off('data', onData);
    reject(error);
  };
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > MAX_JSON_BYTES) fail(tooLarge());
    else chunks.push(chunk);
  };
  incoming.on('data', onData);
  incoming.once('end', () => {
    resolve((chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)).toString('utf8'));
  });
  incoming.once('close', () => {
    if (incoming.readableEnded) return;
    fail(new VivariumError('REQUEST_INVALID', 'The body ended before it was complete.'));
  });
  return promise;
}

function tooLarge(): VivariumError {
  return new VivariumError(
    'REQUEST_TOO_LARGE',
    'The body is larger than 16 MiB. Upload large data as a file of the session, and open it in the code.',
  );
}
