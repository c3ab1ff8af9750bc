/** What the host has that attempts are after: files with secrets, servers, another program. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type AddressInfo, type Server } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { programWith, type Host } from './attempts.ts';

const GREETING = 'greetings from the host';
const SYSCALLS = new URL('../../python/_vivarium/confine/syscalls.json', import.meta.url);

export interface WorldOptions {
  readonly python: string;
  /** A directory of our own outside of /tmp, with a home in it. */
  readonly directory: string;
  readonly dataDir: string;
}

interface Victim {
  readonly pid: number;
  readonly address: number;
  readonly fd: number;
  readonly secret: string;
}

/** Everything planted for attempts to find, and the facts about it. */
export class World implements AsyncDisposable {
  readonly #options: WorldOptions;
  readonly #stack = new AsyncDisposableStack();
  readonly #secret = `canary-${randomBytes(16).toString('hex')}`;
  readonly #id = randomBytes(4).toString('hex');
  readonly #canaries = new Map<string, string>();
  #facts: Host = {};

  private constructor(options: WorldOptions) {
    this.#options = options;
  }

  static async build(options: WorldOptions): Promise<World> {
    const world = new World(options);
    await world.#plantFiles();
    await world.#listen();
    await world.#startVictim();
    return world;
  }

  /** What an attempt is told. Ports and marks are new each time, so that attempts do not meet. */
  async describe(more: Host): Promise<Host & { readonly mark: string; readonly freePort: number }> {
    const canary = { secret: this.#secret, ...Object.fromEntries(this.#canaries), writable: this.#writable() };
    return { ...this.#facts, canary, mark: newMark(), freePort: await freePort(), ...more };
  }

  /** A directory of the user's own. */
  get directory(): string {
    return this.#options.directory;
  }

  canaryPath(name: string): string {
    return this.#canaries.get(name) ?? '';
  }

  /** Where a file lies that a session finds if it gets out of its workspace. */
  async plantBeside(workspace: string): Promise<void> {
    await this.#plant('beside', path.join(path.dirname(workspace), `beside-${this.#id}`));
  }

  /** Whether all planted files are as they were; puts them back. */
  async isIntact(): Promise<boolean> {
    let isIntact = true;
    for (const [name, file] of this.#canaries) {
      const text = await readFile(file, 'utf8').catch(() => null); // deleted
      if (text === this.#secret) continue;
      isIntact = false;
      await this.#plant(name, file);
    }
    return isIntact;
  }

  /** Connects to a port of this machine; whether somebody answers. */
  async canConnect(port: number): Promise<boolean> {
    const socket = createConnection({ host: '127.0.0.1', port });
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    }).finally(() => socket.destroy()) as Promise<boolean>;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  #writable(): string[] {
    return ['tmp', 'home', 'beside'].flatMap((name) => this.#canaries.get(name) ?? []);
  }

  async #plantFiles(): Promise<void> {
    const home = path.join(this.#options.directory, 'home');
    await mkdir(path.join(home, '.ssh'), { recursive: true });
    await this.#plant('home', path.join(home, `notes-${this.#id}`));
    await this.#plant('ssh', path.join(home, '.ssh', 'id_ed25519'));
    const tmp = `/tmp/canary-${this.#id}`;
    await this.#plant('tmp', tmp);
    this.#stack.defer(() => rm(tmp, { force: true }));
    this.#facts = { ...this.#facts, home, hostname: hostname(), dataDir: this.#options.dataDir };
  }

  async #plant(name: string, file: string): Promise<void> {
    await writeFile(file, this.#secret, { mode: 0o644 });
    this.#canaries.set(name, file);
  }

  async #listen(): Promise<void> {
    const abstract = `vivarium-test-${this.#id}`;
    const dockerSocket = path.join(this.#options.directory, 'docker.sock');
    const address = outwardAddress();
    this.#facts = {
      ...this.#facts,
      greeting: GREETING,
      port: portOf(await this.#serve({ host: '127.0.0.1', port: 0 })),
      port6: portOf(await this.#serve({ host: '::1', port: 0 }).catch(() => null)), // no IPv6 here
      address,
      addressPort: address === null ? 0 : portOf(await this.#serve({ host: address, port: 0 })),
      udpPort: await this.#serveDatagrams(),
      abstract,
      dockerSocket,
      syscalls: JSON.parse(readFileSync(SYSCALLS, 'utf8')) as unknown,
    };
    await this.#serve({ path: `\0${abstract}` });
    await this.#serve({ path: dockerSocket });
    await chmod(dockerSocket, 0o777);
  }

  async #serve(where: { path: string } | { host: string; port: number }): Promise<Server> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(GREETING);
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(where, resolve));
    this.#stack.defer(() => void server.close());
    return server;
  }

  async #serveDatagrams(): Promise<number> {
    const socket = createSocket('udp4', (_, from) => socket.send(GREETING, from.port, from.address));
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    this.#stack.defer(() => void socket.close());
    return socket.address().port;
  }

  /** Starts the program that attempts try to see, signal and read; it is their neighbour outside of the walls too. */
  async #startVictim(): Promise<void> {
    const { directory, python } = this.#options;
    const name = `neighbour-${this.#id}`;
    const settle = [name, await freePort(), randomBytes(3).readUIntBE(0, 3) + 1];
    const workspace = path.join(directory, 'neighbour');
    await mkdir(workspace);
    const datagramSocket = path.join(workspace, 'datagrams');
    const mark = newMark();
    const lines = `datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ndatagrams.bind("datagrams")\nstand()`;
    const program = programWith(['neighbour', 'victim'], { ...this.#facts, settle }, lines);
    const secret = `victim-${randomBytes(16).toString('hex')}`;
    const file = path.join(workspace, 'victim.py');
    await writeFile(file, program);
    const child = spawn(python, ['-I', '-B', file, mark], {
      cwd: workspace,
      env: { ...process.env, VICTIM_SECRET: secret },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#stack.defer(() => end(child));
    const facts = JSON.parse(await firstLine(child)) as Victim;
    const neighbour = { name, port: settle[1], key: settle[2], workspace };
    this.#facts = { ...this.#facts, victim: { ...facts, mark }, neighbour, datagramSocket };
  }
}

/** The pids of processes that were started with a mark among their arguments. */
export function findMarked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(mark);
      } catch {
        return false; // ended while we looked
      }
    })
    .map(Number);
}

/** Waits until as many marked processes exist as wanted, or for a second. */
export async function countMarked(mark: string, isEnough: (count: number) => boolean): Promise<number> {
  for (let tries = 0; tries < 50 && !isEnough(findMarked(mark).length); tries += 1) await sleep(20);
  return findMarked(mark).length;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function newMark(): string {
  return `mark-${randomBytes(8).toString('hex')}`;
}

function portOf(server: Server | null): number {
  return server === null ? 0 : (server.address() as AddressInfo).port;
}

function outwardAddress(): string | null {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null;
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes('{') && text.endsWith('\n')) return text.slice(text.indexOf('{'));
  }
  throw new Error(`the victim did not start: ${text}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  await Promise.race([exited, sleep(2000, undefined, { ref: false })]);
  child.kill('SIGKILL');
  await exited;
}
