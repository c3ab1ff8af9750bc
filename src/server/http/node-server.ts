import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { VivariumError, type ErrorCode } from '../../errors.ts';
import { toWireError } from '../../wire/error.ts';

/** How much of a server one client can take. */
export interface ConnectionLimits {
  /** The longest time from a connection, or the end of the last request on it, to the end of the next headers. */
  readonly headersMs: number;
  /** The longest time in which nothing of a body arrives, or nothing of an answer is taken. */
  readonly idleMs: number;
  /** How long a connection is kept for another request. */
  readonly keepAliveMs: number;
  /** How long the rest of a body is thrown away after the answer, so that the client gets to read it. */
  readonly lingerMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 10_000,
  idleMs: 60_000,
  keepAliveMs: 15_000,
  lingerMs: 2000,
  maxHeaderBytes: 16 << 10,
  maxConnections: 4096,
};

/** Each part of the server listens for the end of an answer, and a pipeline does so several times. */
const MAX_LISTENERS = 32;

/** A request and its answer. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * A server that no client can hold up. Answers may take any time, and so may large uploads, so there is no limit on a
 * whole request; there is one on the time in which the client does nothing.
 */
export function createNodeServer(listener: RequestListener, limits: ConnectionLimits = CONNECTION_LIMITS): Server {
  const exchanges = new WeakMap<Socket, Set<Exchange>>();
  const server = createServer({
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
    insecureHTTPParser: false,
    requireHostHeader: true,
    joinDuplicateHeaders: false,
  });
  server.maxConnections = limits.maxConnections;
  server.maxHeadersCount = 0; // their size is limited; beyond a count Node would leave some out without a word
  server.on('request', (request, response) => {
    const open = exchanges.get(request.socket) ?? new Set();
    exchanges.set(request.socket, open);
    const exchange = { request, response };
    open.add(exchange);
    response.setMaxListeners(MAX_LISTENERS);
    response.once('close', () => open.delete(exchange));
    const { socket } = request; // a request that was cut off has none any more
    response.once('finish', () => endBody(request, socket, limits.lingerMs));
    listener(request, response);
  });
  const excused = new WeakSet<Socket>();
  server.setTimeout(limits.idleMs, (socket) => {
    const open = [...(exchanges.get(socket) ?? [])];
    const isIdle = socket.writableLength > 0 || open.some(isStuck);
    // While the server was the one that took its time, the client could do nothing: its own time begins only now.
    if (open.length === 0 || (isIdle && !excused.delete(socket))) {
      socket.destroy();
      return;
    }
    if (!isIdle) excused.add(socket);
    socket.setTimeout(limits.idleMs);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    // An answer in the place of another one, or in the middle of it, would be nonsense as well.
    if (socket.writable && (exchanges.get(socket)?.size ?? 0) === 0) refuseNonsense(error, socket);
    else socket.destroy();
  });
  return server;
}

/** Whether the server waits for more of the body. What has arrived and is not read yet is the server's own delay. */
function isStuck({ request }: Exchange): boolean {
  return !request.complete && request.readableLength === 0;
}

/** A client that goes on sending a body after the answer gets a moment to read it. */
function endBody(request: IncomingMessage, socket: Socket, lingerMs: number): void {
  if (request.complete || socket.destroyed) return;
  setTimeout(() => request.complete || socket.destroy(), lingerMs).unref();
}

const NONSENSE: Readonly<Record<string, readonly [status: string, code: ErrorCode, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'REQUEST_TOO_LARGE', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'REQUEST_INVALID', 'The headers did not arrive in time.'],
};

/** What is not HTTP gets one answer, and no other chance. */
function refuseNonsense(error: NodeJS.ErrnoException, socket: Socket): void {
  const [status, code, message] = NONSENSE[error.code ?? ''] ?? [
    '400 Bad Request',
    'REQUEST_INVALID',
    'The request is not HTTP as this server reads it.',
  ];
  const body = JSON.stringify(toWireError(new VivariumError(code, message)));
  const head = [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Type: application/json'];
  socket.end([...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'), () => socket.destroy());
}
