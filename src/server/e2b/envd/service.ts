/** Serves methods of the Connect protocol with JSON, as E2B's SDKs call them. */
import { Readable } from 'node:stream';
import type { z } from 'zod';
import { sendJson, sendStream } from '../../http/answer.ts';
import { readChunks } from '../../http/body.ts';
import type { ServerContext } from '../../parts/parts.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { sendPieces } from '../stream/pieces.ts';
import { decodeRequest, encodeEnd, encodeMessage, toJson } from '../stream/envelope.ts';
import { RpcError, toRpcError } from '../stream/rpc-error.ts';

const STREAM_TYPE = 'application/connect+json';
const MAX_REQUEST_BYTES = 16 << 20;
const LONGEST_MS = 24 * 3_600_000;
const USUAL_PULSE_MS = 50_000;

/** What a method is called with besides its message. */
export interface RpcCall {
  readonly sandbox: Sandbox;
  /** How long the caller gives it; null for as long as it takes. */
  readonly timeoutMs: number | null;
  /** Is aborted when the caller has left. */
  readonly gone: AbortSignal;
}

/** A method that answers once, or with a stream of messages. */
export type RpcMethod =
  | { readonly kind: 'unary'; readonly answer: (message: unknown, sandbox: Sandbox) => Promise<unknown> }
  | {
      readonly kind: 'stream';
      readonly pulse: unknown;
      readonly answer: (message: unknown, call: RpcCall) => AsyncIterable<unknown>;
    };

export function unary<T>(schema: z.ZodType<T>, work: (message: T, sandbox: Sandbox) => unknown): RpcMethod {
  return { kind: 'unary', answer: async (message, sandbox) => work(check(schema, message), sandbox) };
}

/** `pulse` is the message that is sent while nothing happens. */
export function streaming<T>(
  schema: z.ZodType<T>,
  pulse: unknown,
  work: (message: T, call: RpcCall) => AsyncIterable<unknown>,
): RpcMethod {
  return { kind: 'stream', pulse, answer: (message, call) => work(check(schema, message), call) };
}

interface RpcService {
  readonly sandbox: Sandbox;
  /** Gets every error, to log those that are bugs of ours. */
  readonly onError: (error: unknown) => void;
}

export async function serveRpc(c: ServerContext, method: RpcMethod, service: RpcService): Promise<Response> {
  if (wantsStream(c) !== (method.kind === 'stream')) return refuseType(c);
  if (method.kind === 'stream') return serveStream(c, method, service);
  try {
    const message = toJson((await readBytes(c)).toString('utf8') || '{}');
    return sendJson(c, 200, (await method.answer(message, service.sandbox)) ?? {});
  } catch (error) {
    service.onError(error);
    return sendRpcError(c, toRpcError(error));
  }
}

/** A caller that expects a stream reads the reason of a failure only as the end of one. */
export function sendRpcError(c: ServerContext, error: RpcError): Promise<Response> | Response {
  const { status, code, message } = error;
  if (!wantsStream(c)) return sendJson(c, status, { code, message });
  return sendStream(c, 200, Readable.from([encodeEnd(error)]), { 'content-type': STREAM_TYPE });
}

function wantsStream(c: ServerContext): boolean {
  return c.req.header('content-type')?.toLowerCase().startsWith(STREAM_TYPE) === true;
}

async function serveStream(
  c: ServerContext,
  { answer, pulse }: Extract<RpcMethod, { kind: 'stream' }>,
  { sandbox, onError }: RpcService,
): Promise<Response> {
  const body = await readBytes(c);
  const pulseSeconds = Number(c.req.header('keepalive-ping-interval') ?? 0);
  const everyMs = pulseSeconds >= 1 && pulseSeconds <= 3600 ? 1000 * pulseSeconds : USUAL_PULSE_MS;
  const timeoutMs = readTimeout(c.req.header('connect-timeout-ms'));
  return sendPieces(c, {
    contentType: STREAM_TYPE,
    keepAlive: { everyMs, piece: encodeMessage(pulse) },
    pieces: (gone) => encodeAll(() => answer(decodeRequest(body), { sandbox, timeoutMs, gone }), onError),
  });
}

async function* encodeAll(
  answer: () => AsyncIterable<unknown>,
  onError: RpcService['onError'],
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const message of answer()) yield encodeMessage(message);
  } catch (error) {
    onError(error);
    yield encodeEnd(toRpcError(error));
    return;
  }
  yield encodeEnd();
}

function check<T>(schema: z.ZodType<T>, message: unknown): T {
  const parsed = schema.safeParse(message);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new RpcError('invalid_argument', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
}

function readTimeout(text: string | undefined): number | null {
  const timeoutMs = Number(text ?? 0);
  return Number.isInteger(timeoutMs) && timeoutMs > 0 ? Math.min(timeoutMs, LONGEST_MS) : null;
}

async function readBytes(c: ServerContext): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of readChunks(c.env.incoming)) {
    size += chunk.length;
    if (size > MAX_REQUEST_BYTES) throw new RpcError('resource_exhausted', 'The message is larger than 16 MiB.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What the Connect protocol asks for where a content type is not known. */
function refuseType(c: ServerContext): Response {
  const message = 'Send JSON: application/json, or application/connect+json for a method that answers with a stream.';
  return sendJson(c, 415, { code: 'unimplemented', message });
}
