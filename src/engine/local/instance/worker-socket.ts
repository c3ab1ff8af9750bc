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
/** A worker says little before it is claimed. */
const UNCLAIMED_MAX_BYTES = 1 << 16;
/** Far more than are ever on their way. */
const MAX_ARRIVALS = 4096;

/** The three connections of a worker. Each is an open file description of its own. */
export interface WorkerConnections {
  readonly control: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
}

const KINDS = ['control', 'stdout', 'stderr'] as const;

type Hello =
  | { readonly kind: (typeof KINDS)[number]; readonly ticket: string; readonly token: string }
  | { readonly kind: Wanted; readonly enclosure: string };

/** What the builder asks for. */
type Wanted = 'mounts' | 'targets';

/** A connection, and what has come after its first line. It is read on, since otherwise nobody would notice its end. */
interface Arrived {
  readonly socket: Socket;
  release(): Socket;
}

/** A worker that has not been claimed yet, or has not made all its connections. */
interface Arrival {
  /** What its first connection said; the others must say the same. */
  token: string | null;
  readonly connections: Map<string, Arrived>;
  readonly complete: PromiseWithResolvers<WorkerConnections>;
  isClaimed: boolean;
}

/**
 * The private socket of an engine. Workers are connected to it before they have a session, and are known by a ticket
 * from then on. Builders ask here what an enclosure is to see of the machine: the zygote, whose memory every session
 * inherits, must know neither.
 */
export class WorkerSocket implements AsyncDisposable {
  readonly socketPath: string;
  /** Where its socket is. No session can see it. */
  readonly directory: string;
  readonly #server: Server;
  readonly #arrivals = new Map<string, Arrival>();
  readonly #offers = new Map<string, Partial<Record<Wanted, readonly object[]>>>();
  #isClosed = false;

  private constructor(directory: string, server: Server) {
    this.directory = directory;
    this.#server = server;
    this.socketPath = path.join(directory, SOCKET);
    server.unref(); // see src/process-life.ts
    server.on('connection', (socket) => this.#accept(socket.unref()));
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

  /** The connections of the worker with this ticket, once it has made all three. A ticket is good for one worker. */
  claim(ticket: string): Promise<WorkerConnections> {
    const arrival = this.#arrivalOf(ticket);
    arrival.isClaimed = true;
    this.#hand(ticket, arrival);
    return arrival.complete.promise;
  }

  /** The worker is not wanted any more. */
  forget(ticket: string): void {
    const arrival = this.#arrivals.get(ticket);
    this.#arrivals.delete(ticket);
    for (const { socket } of arrival?.connections.values() ?? []) socket.destroy();
  }

  /** Answers the builder that asks for the mounts of this enclosure, or for the hosts that it has listeners for. */
  offer(enclosure: string, offers: Partial<Record<Wanted, readonly object[]>>): void {
    this.#offers.set(enclosure, offers);
  }

  withdraw(enclosure: string): void {
    this.#offers.delete(enclosure);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const ticket of this.#arrivals.keys()) this.forget(ticket);
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reads the first line. A connection that says nothing we know is closed. */
  #accept(socket: Socket): void {
    let received = Buffer.alloc(0);
    let isGreeted = false;
    const timer = setTimeout(() => socket.destroy(), HELLO_TIMEOUT_MS).unref();
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      if (isGreeted) return void (received.length > UNCLAIMED_MAX_BYTES && socket.destroy());
      const end = received.indexOf(0x0a);
      if (end < 0 && received.length <= HELLO_MAX_BYTES) return;
      clearTimeout(timer);
      isGreeted = true;
      const line = received.subarray(0, Math.max(0, end));
      received = received.subarray(end + 1);
      const release = (): Socket => {
        socket.off('data', onData);
        socket.pause();
        if (received.length > 0) socket.unshift(received);
        return socket;
      };
      if (end < 0 || !this.#admit(line, { socket, release })) socket.destroy();
    };
    socket.on('error', () => socket.destroy());
    socket.on('data', onData);
  }

  #admit(line: Buffer, arrived: Arrived): boolean {
    const hello = parseHello(line);
    if (hello === undefined || this.#isClosed) return false;
    if ('enclosure' in hello) {
      const offered = this.#offers.get(hello.enclosure)?.[hello.kind];
      if (offered !== undefined) arrived.socket.end(JSON.stringify(offered));
      return offered !== undefined;
    }
    const { ticket, token, kind } = hello;
    if (!this.#arrivals.has(ticket) && this.#arrivals.size >= MAX_ARRIVALS) return false;
    const arrival = this.#arrivalOf(ticket);
    arrival.token ??= token;
    if (arrival.token !== token || arrival.connections.has(kind)) return false;
    arrival.connections.set(kind, arrived);
    arrived.socket.once('close', () => {
      if (this.#arrivals.get(ticket) === arrival) this.forget(ticket); // it has ended before anybody wanted it
    });
    this.#hand(ticket, arrival);
    return true;
  }

  #arrivalOf(ticket: string): Arrival {
    const known = this.#arrivals.get(ticket);
    if (known !== undefined) return known;
    const complete = Promise.withResolvers<WorkerConnections>();
    const arrival: Arrival = { token: null, connections: new Map(), complete, isClaimed: false };
    this.#arrivals.set(ticket, arrival);
    return arrival;
  }

  #hand(ticket: string, { isClaimed, connections, complete }: Arrival): void {
    const [control, stdout, stderr] = KINDS.map((kind) => connections.get(kind));
    if (!isClaimed || !control || !stdout || !stderr) return;
    this.#arrivals.delete(ticket);
    complete.resolve({ control: control.release(), stdout: stdout.release(), stderr: stderr.release() });
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
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  if (value.kind === 'mounts' || value.kind === 'targets') {
    return 'enclosure' in value && typeof value.enclosure === 'string';
  }
  if (!('ticket' in value && 'token' in value)) return false;
  const { kind, ticket, token } = value;
  return typeof ticket === 'string' && typeof token === 'string' && KINDS.some((known) => known === kind);
}
