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

/** The three connections of a worker; each is an open file description of its own. */
export interface Channels {
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

interface Guest {
  readonly isOurs: (token: string) => boolean;
  readonly sockets: Map<string, Socket>;
  readonly arrived: (channels: Channels) => void;
}

/** The private socket that workers connect to before they enter their enclosure. */
export class Reception implements AsyncDisposable {
  readonly socketPath: string;
  readonly #directory: string;
  readonly #server: Server;
  readonly #guests = new Map<string, Guest>();

  private constructor(directory: string, server: Server) {
    this.#directory = directory;
    this.#server = server;
    this.socketPath = path.join(directory, SOCKET);
    server.on('connection', (socket) => this.#greet(socket));
  }

  /** Listens in a directory that only this user can enter. The system's temporary one: socket paths must be short. */
  static async start(): Promise<Reception> {
    const directory = await mkdtemp(path.join(tmpdir(), `${DIRECTORY_PREFIX}${process.pid}-`));
    const reception = new Reception(directory, createServer({ pauseOnConnect: false }));
    await new Promise<void>((resolve, reject) => {
      reception.#server.once('error', reject);
      reception.#server.listen(reception.socketPath, resolve);
    });
    return reception;
  }

  /** Removes the sockets of engines that were killed. The directory is everybody's: nothing else in it is touched. */
  static removeAbandoned(): Promise<void> {
    return removeAbandoned({ directory: tmpdir(), names: DIRECTORY_NAMES, socket: SOCKET, isOwn: false });
  }

  /** The channels of a worker to come, once all three have arrived with the token that it was given. */
  expect(session: string, isOurs: (token: string) => boolean): Promise<Channels> {
    const { promise, resolve } = Promise.withResolvers<Channels>();
    this.#guests.set(session, { isOurs, sockets: new Map(), arrived: resolve });
    return promise;
  }

  /** The worker will not come any more. */
  forget(session: string): void {
    const guest = this.#guests.get(session);
    this.#guests.delete(session);
    for (const socket of guest?.sockets.values() ?? []) socket.destroy();
  }

  async close(): Promise<void> {
    for (const session of this.#guests.keys()) this.forget(session);
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reads the first line. Whatever is not a worker that we expect is shown the door. */
  #greet(socket: Socket): void {
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
    const guest = hello && this.#guests.get(hello.enclosure);
    if (!hello || !guest || guest.sockets.has(hello.kind) || !guest.isOurs(hello.token)) return false;
    guest.sockets.set(hello.kind, socket);
    const [control, stdout, stderr] = KINDS.map((kind) => guest.sockets.get(kind));
    if (control && stdout && stderr) {
      this.#guests.delete(hello.enclosure);
      guest.arrived({ control, stdout, stderr });
    }
    return true;
  }
}

function parseHello(line: Buffer): Hello | undefined {
  try {
    const hello: unknown = JSON.parse(line.toString('utf8'));
    return isHello(hello) ? hello : undefined;
  } catch {
    return undefined; // not a worker of ours: the caller closes the connection
  }
}

// Checked by hand: no schema is compiled while Python waits for its configuration.
function isHello(value: unknown): value is Hello {
  if (typeof value !== 'object' || value === null) return false;
  if (!('enclosure' in value && 'kind' in value && 'token' in value)) return false;
  const { enclosure, kind, token } = value;
  return typeof enclosure === 'string' && typeof token === 'string' && KINDS.some((known) => known === kind);
}
