import { randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import { LOOSE, parseJson } from '../../hostile-json.ts';

const REQUEST_TIMEOUT_MS = 30_000;
/** Enough for a listing of a hundred thousand files. Contents of files come another way. */
const MAX_ANSWER_BYTES = 64 << 20;
const MAX_REASON_CHARS = 300;

export interface ServerCall {
  readonly body?: object;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** What the server answered to a call, whatever its status. */
export interface ServerAnswer {
  readonly status: number;
  readonly text: string;
}

/** A Jupyter server: its REST API and its WebSockets. The token goes into a header, never into an address or a message. */
export class JupyterServer {
  readonly hasToken: boolean;
  readonly #base: URL;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: URL, token: string | undefined) {
    this.hasToken = token !== undefined;
    this.#base = new URL(url.pathname.endsWith('/') ? url.href : `${url.href}/`);
    this.#headers = token === undefined ? sameOriginHeaders() : { authorization: `token ${token}` };
  }

  /** Host and port, for messages. */
  get address(): string {
    const { protocol, hostname, port } = this.#base;
    return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  }

  /** The full address of something on the server, for readers. */
  locate(path: string): string {
    return new URL(path, this.#base).href;
  }

  async call(method: string, path: string, { body, timeoutMs, signal }: ServerCall = {}): Promise<ServerAnswer> {
    const response = await this.fetch(method, path, { ...(body && { body }), timeoutMs, signal });
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.read(response, MAX_ANSWER_BYTES)) chunks.push(chunk);
    return { status: response.status, text: Buffer.concat(chunks).toString() };
  }

  /** An answer of the expected shape, or an error that says what came instead. */
  async ask<T>(schema: z.ZodType<T>, method: string, path: string, call?: ServerCall): Promise<T> {
    return this.parse(schema, `${method} ${path}`, await this.call(method, path, call));
  }

  parse<T>(schema: z.ZodType<T>, what: string, answer: ServerAnswer): T {
    if (answer.status >= 300) throw this.refusal(what, answer);
    const parsed = schema.safeParse(parseOr(answer.text));
    if (parsed.success) return parsed.data;
    throw new VivariumError(
      'JUPYTER_REFUSED',
      `What answers at ${this.address} does not answer ${what} as a Jupyter server does: ${z.prettifyError(parsed.error)}. ` +
        'Check that the address is that of a Jupyter server, with its base path if it has one.',
    );
  }

  /** The raw response. Redirects are not followed: they lead to login pages, or to others who must not get the token. */
  async fetch(
    method: string,
    path: string,
    {
      body,
      timeoutMs = REQUEST_TIMEOUT_MS,
      signal,
    }: { body?: object; timeoutMs?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Response> {
    signal?.throwIfAborted();
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      return await fetch(new URL(path, this.#base), {
        method,
        headers: { ...this.#headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw this.unreachable(error);
    }
  }

  /** The bytes of a response. Throws above the limit, or if the server is gone. */
  async *read(response: Response, maxBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
    let bytes = 0;
    const chunks = (response.body ?? []) as AsyncIterable<Uint8Array>;
    try {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > maxBytes) break;
        yield chunk;
      }
    } catch (error) {
      throw this.unreachable(error);
    }
    if (bytes > maxBytes) {
      throw new VivariumError('FILE_TOO_LARGE', `The server at ${this.address} sent more than ${maxBytes} bytes.`);
    }
  }

  socket(path: string): WebSocket {
    const url = new URL(path, this.#base);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url, { headers: this.#headers });
    letProcessEnd(socket, url);
    return socket;
  }

  unreachable(cause: unknown): VivariumError {
    return new VivariumError(
      'JUPYTER_UNREACHABLE',
      `No Jupyter server answers at ${this.address}: ${reasonOf(cause)}. Check that it runs, that host and port are right and ` +
        `that nothing in between refuses: \`curl ${this.locate('api')}\` must answer with its version.`,
      { cause },
    );
  }

  refusal(what: string, { status, text }: ServerAnswer): VivariumError {
    const said = ErrorBody.safeParse(parseOr(text)).data?.message ?? '';
    return new VivariumError(
      'JUPYTER_REFUSED',
      `The Jupyter server at ${this.address} answered ${what} with HTTP ${status}${said && `: ${said.slice(0, MAX_REASON_CHARS)}`}. ` +
        'Its log says more.',
    );
  }
}

/** Without a token the server wants proof that no web page of others sends the request: a cookie that a header repeats. */
function sameOriginHeaders(): Readonly<Record<string, string>> {
  const proof = randomBytes(16).toString('hex');
  return { cookie: `_xsrf=${proof}`, 'x-xsrftoken': proof };
}

const SENT = 'undici:client:sendHeaders';

/** A WebSocket keeps the process alive and cannot be told otherwise. The connection below it can; see src/process-life.ts. */
function letProcessEnd(socket: WebSocket, { pathname }: URL): void {
  const onSent = (message: unknown): void => {
    const { request, socket: connection } = message as { readonly request: { path: string }; readonly socket: Socket };
    if (request.path === pathname) connection.unref();
  };
  subscribe(SENT, onSent);
  for (const event of ['open', 'close']) {
    socket.addEventListener(event, () => unsubscribe(SENT, onSent), { once: true });
  }
}

const ErrorBody = z.object({ message: z.string() });

function parseOr(text: string): unknown {
  try {
    return parseJson(Buffer.from(text), LOOSE);
  } catch {
    return undefined; // not JSON: the schema says what was expected
  }
}

/** The message of the operating system if there is one. fetch itself only says that it failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'the connection failed';
  return cause.name === 'TimeoutError' ? 'it did not answer in time' : cause.message || cause.name;
}
