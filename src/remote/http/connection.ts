/** Speaks HTTP with one server. */
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { z } from 'zod';
import { VivariumError } from '../../errors.ts';
import type { Call, Peer } from './call.ts';
import { failureOf, isOk, readAnswer, readBody } from './answer.ts';
import { ConnectionLost } from './connection-lost.ts';
import { pour, SourceFailure } from './pour.ts';

/** How long a server may take to accept a connection. */
const CONNECT_MS = 10_000;
/** Between attempts of what can be asked again without harm. */
const PAUSES_MS = [0, 100, 400] as const;

/**
 * The way to one server. Connections are used again. Idle ones do not keep the process alive; those with a request do.
 * This is Node's own `http` and not `fetch`, which takes twice the time for a small request.
 */
export class Connection implements Peer {
  /** The address, for messages. */
  readonly url: string;
  readonly #prefix: string;
  readonly #target: http.RequestOptions;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #headers: Readonly<Record<string, string>>;
  #isClosed = false;

  constructor(url: URL, key: string | undefined) {
    const { request, Agent } = url.protocol === 'https:' ? https : http;
    this.url = url.href.replace(/\/+$/u, '');
    this.#prefix = url.pathname.replace(/\/+$/u, '');
    this.#target = { hostname: url.hostname.replace(/^\[|\]$/gu, ''), ...(url.port !== '' && { port: url.port }) };
    this.#agent = new Agent({ keepAlive: true });
    this.#request = request;
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The answer as JSON, checked; errors of the server are thrown. */
  async ask<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    return this.#repeating(call, async () => {
      const response = await this.exchange(call);
      return readAnswer(schema, await readBody(response, call, this), call, this);
    });
  }

  /** For what is answered without a body. */
  async tell(call: Call): Promise<void> {
    await this.#repeating(call, async () => readBody(await this.exchange(call), call, this));
  }

  /** The answer as a stream of bytes, once the server has agreed. */
  async open(call: Call): Promise<IncomingMessage> {
    return this.#repeating(call, () => this.exchange(call));
  }

  /** One attempt, up to the headers of the answer. The errors of a server are thrown, and so is `ConnectionLost`. */
  async exchange(call: Call): Promise<IncomingMessage> {
    const { signal } = call;
    signal?.throwIfAborted();
    if (this.#isClosed) throw this.closed();
    const request = this.#begin(call);
    const abort = (): unknown => request.destroy(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    request.once('close', () => signal?.removeEventListener('abort', abort));
    const response = await this.#answerTo(request, call);
    if (isOk(response)) return response;
    const text = await readBody(response, call, this, { isFailure: true });
    if (!request.writableFinished) request.destroy(); // the server does not want the rest
    throw failureOf(response, text, call, this);
  }

  /** Ends all connections. Calls under way fail, as do later ones. */
  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  /** What calls get once the host is closed. */
  closed(): VivariumError {
    return new VivariumError(
      'ENGINE_CLOSED',
      `This host has let go of ${this.url}. Its sessions are still there: connect again to use them.`,
    );
  }

  /** What becomes of an error of the network. */
  lost(error: unknown, call: Call, wasSent: boolean): Error {
    if (call.signal?.aborted === true && call.signal.reason instanceof Error) return call.signal.reason;
    if (error instanceof SourceFailure && error.cause instanceof Error) return error.cause;
    if (error instanceof VivariumError) return error;
    return this.#isClosed ? this.closed() : new ConnectionLost(this.url, error, wasSent);
  }

  #begin({ method, path, json, content, headers }: Call): ClientRequest {
    const all: http.OutgoingHttpHeaders = { ...this.#headers, ...headers };
    const body = json ?? (typeof content === 'string' || content instanceof Uint8Array ? content : undefined);
    if (json !== undefined) all['content-type'] = 'application/json';
    else if (content !== undefined) all['content-type'] = 'application/octet-stream';
    if (body !== undefined) all['content-length'] = Buffer.byteLength(body);
    else if (content === undefined && method !== 'GET') all['content-length'] = 0;
    const options = { ...this.#target, method, path: this.#prefix + path, headers: all, agent: this.#agent };
    const request = this.#request(options);
    if (body !== undefined || content === undefined) request.end(body);
    else void pour(content as AsyncIterable<Uint8Array>, request);
    return request;
  }

  #answerTo(request: ClientRequest, call: Call): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let isConnected = false;
    request.once('socket', (socket) => {
      isConnected = !socket.connecting;
      if (isConnected) return;
      const timer = setTimeout(() => request.destroy(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS);
      const over = (): void => clearTimeout(timer);
      socket.once('connect', () => {
        isConnected = true;
        over();
      });
      socket.once('close', over);
    });
    request.on('error', (error) => reject(this.lost(error, call, isConnected)));
    request.once('response', resolve);
    return promise;
  }

  async #repeating<T>(call: Call, attempt: () => Promise<T>): Promise<T> {
    const { isRepeatable = call.method === 'GET', signal } = call;
    for (let pauses: readonly number[] = isRepeatable ? PAUSES_MS : []; ; pauses = pauses.slice(1)) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof ConnectionLost) || !error.wasSent) throw error;
        const [pauseMs] = pauses;
        if (pauseMs === undefined) throw isRepeatable ? error : error.ofUnknownOutcome(call);
        await pause(pauseMs, undefined, signal && { signal });
      }
    }
  }
}
