import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeAbandoned } from './clean-up.ts';

const DIRECTORY_PREFIX = 'vivarium-';
const DIRECTORY_NAMES = /^vivarium-\d+-[A-Za-z0-9]{6}$/;
const SOCKET = 'engine.sock';
const HELLO_MAX_BYTES = 512;
const HELLO_TIMEOUT_MS = 10_000;

/** The three connections of a worker. Each is an open file description of its own. */
export interface WorkerConnections {
  readonly control: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
}

const KINDS = ['control', 'stdout', 'stderr'] as const;

interface Hello {
  readonly enclosure: string;
  readonly kind: (typeof KINDS)[number];
  readonly token: string;
}

/** A worker that has not made all its connections yet. */
interface ExpectedWorker {
  readonly isOurs: (token: string) => boolean;
  readonly sockets: Map<string, Socket>;
  readonly arrived: (connections: WorkerConnections) => void;
}

/** The private socket that workers connect to before they enter their enclosure. */
export class WorkerSocket implements AsyncDisposable {
  readonly socketPath: string;
  readonly #directory: string;
  readonly #server: Server;
  readonly #expected = new Map<string, ExpectedWorker>();

  private constructor(directory: string, server: Server) {
    this.#directory = directory;
    this.#server = server;
    this.socketPath = path.join(directory, SOCKET);
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** Listens in a directory that only this user can enter. It is in the system's temporary one, since socket paths must be short. */
  static async start(): Promise<WorkerSocket> {
    const directory = await mkdtemp(path.join(tmpdir(), `${DIRECTORY_PREFIX}${process.pid}-`));
    const workerSocket = new WorkerSocket(directory, createServer({ pauseOnConnect: false }));
    await new Promise<void>((resolve, reject) => {
      workerSocket.#server.once('error', reject);
      workerSocket.#server.listen(workerSocket.socketPath, resolve);
    });
    return workerSocket;
  }

  /** Removes the sockets of killed engines. The directory is shared with others, so nothing else in it is touched. */
  static removeAbandoned(): Promise<void> {
    return removeAbandoned({ directory: tmpdir(), names: DIRECTORY_NAMES, socket: SOCKET, isOwn: false });
  }

  /** The connections of the worker of an enclosure, once it has made all three with the token that it was given. */
  expect(enclosure: string, isOurs: (token: string) => boolean): Promise<WorkerConnections> {
    const { promise, resolve } = Promise.withResolvers<WorkerConnections>();
    this.#expected.set(enclosure, { isOurs, sockets: new Map(), arrived: resolve });
    return promise;
  }

  /** The worker will not come any more. */
  forget(enclosure: string): void {
    const worker = this.#expected.get(enclosure);
    this.#expected.delete(enclosure);
    for (const socket of worker?.sockets.values() ?? []) socket.destroy();
  }

  async close(): Promise<void> {
    for (const enclosure of this.#expected.keys()) this.forget(enclosure);
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reads the first line. A connection that is not of an expected worker is closed. */
  #accept(socket: Socket): void {
    let received = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), HELLO_TIMEOUT_MS).unref();
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf(0x0a);
      if (end < 0 && received.length <= HELLO_MAX_BYTES) return;
      clearTimeout(timer);
      socket.off('data', onData);
      socket.pause();
      if (end < 0 || !this.#admit(socket, received.subarray(0, end))) socket.destroy();
      else if (end + 1 < received.length) socket.unshift(received.subarray(end + 1));
    };
    socket.on('error', () => socket.destroy());
    socket.on('data', onData);
  }

  #admit(socket: Socket, line: Buffer): boolean {
    const hello = parseHello(line);
    const worker = hello && this.#expected.get(hello.enclosure);
    if (!hello || !worker || worker.sockets.has(hello.kind) || !worker.isOurs(hello.token)) return false;
    worker.sockets.set(hello.kind, socket);
    const [control, stdout, stderr] = KINDS.map((kind) => worker.sockets.get(kind));
    if (control && stdout && stderr) {
      this.#expected.delete(hello.enclosure);
      worker.arrived({ control, stdout, stderr });
    }
    return true;
  }
}

function parseHello(line: Buffer): Hello | undefined {
  try {
    const hello: unknown = JSON.parse(line.toString('utf8'));
    return isHello(hello) ? hello : undefined;
  } catch {
    return undefined; // not one of our workers: the caller closes the connection
  }
}

// Checked by hand, because compiling a schema would take time while Python waits for its configuration.
function isHello(value: unknown): value is Hello {
  if (typeof value !== 'object' || value === null) return false;
  if (!('enclosure' in value && 'kind' in value && 'token' in value)) return false;
  const { enclosure, kind, token } = value;
  return typeof enclosure === 'string' && typeof token === 'string' && KINDS.some((known) => known === kind);
}
