/** What the host has that attempts are after: files with secrets, servers, another program. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type AddressInfo, type Server } from 'node:net';
import { constants, hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NetworkSetting } from '../../src/config.ts';
import { programWith, type Host } from './attempts.ts';
import { respond, startListedServer } from './listed-server.ts';
import { startNaiveProxies } from './naive-proxy.ts';

const GREETING = 'greetings from the host';
/** What the other program notes of a signal that is sent after all others. */
const LAST_SIGNAL = `${constants.signals.SIGPWR}\n`;
const PATIENCE_MS = 10_000;
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
  #victimPid = 0;

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

  /** A list with every name and one address: what it leaves to reach is what the address rules let through. */
  get list(): Exclude<NetworkSetting, boolean> {
    const { port, port6, webPort, addressPort, listedPort } = this.#facts;
    const ports = [port, port6, webPort, addressPort, listedPort].filter((one) => one !== 0);
    const allow = [...ports.map((one) => `*:${String(one)}`), `127.0.0.1:${String(listedPort)}`];
    return { allow, deny: [], log: true };
  }

  /** A program that fails unless the listed server is reached. */
  get reachListed(): string {
    const url = `http://127.0.0.1:${String(this.#facts['listedPort'])}/`;
    return `import urllib.request\nassert urllib.request.urlopen("${url}", timeout=5).read() == b"listed"`;
  }

  /** A directory of the user's own. */
  get directory(): string {
    return this.#options.directory;
  }

  /** A directory of the user's own that a session may be allowed to read. */
  get readableDirectory(): string {
    return path.join(this.#options.directory, 'readable');
  }

  /** Whether a signal has reached the other program since this was last asked. */
  async wasSignalled(): Promise<boolean> {
    const file = path.join(this.#options.directory, 'neighbour', 'signals');
    process.kill(this.#victimPid, 'SIGPWR');
    let noted = '';
    for (const deadline = performance.now() + PATIENCE_MS; !noted.endsWith(LAST_SIGNAL); await sleep(5)) {
      if (performance.now() > deadline) throw new Error('the other program does not answer signals any more');
      noted = await readFile(file, 'utf8');
    }
    await truncate(file);
    return noted !== LAST_SIGNAL;
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
    const belongings = await this.#plantBelongings(home);
    this.#facts = { ...this.#facts, home, hostname: hostname(), dataDir: this.#options.dataDir, belongings };
  }

  async #plantBelongings(home: string): Promise<Host> {
    const closed = path.join(home, `belonging-${this.#id}`);
    const readable = path.join(this.readableDirectory, 'library.py');
    await mkdir(this.readableDirectory);
    for (const file of [closed, readable]) await writeFile(file, 'of the user', { mode: 0o644 });
    await symlink(closed, `${closed}-link`);
    return { closed, readable };
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
    const webPort = portOf(await this.#serve({ host: '127.0.0.1', port: 0 }, respond('200 OK', GREETING)));
    const elsewhere = `http://127.0.0.1:${webPort}/`;
    const listedPort = await startListedServer(this.#stack, { greeting: GREETING, elsewhere });
    const proxies = await startNaiveProxies(this.#stack);
    this.#facts = { ...this.#facts, webPort, listedPort, proxies };
    await this.#serve({ path: `\0${abstract}` });
    await this.#serve({ path: dockerSocket });
    await chmod(dockerSocket, 0o777);
  }

  async #serve(where: { path: string } | { host: string; port: number }, words = GREETING): Promise<Server> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(words);
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
      detached: true, // what is done to its process group must not concern the test
    });
    this.#stack.defer(() => end(child));
    const facts = JSON.parse(await firstLine(child)) as Victim;
    this.#victimPid = facts.pid;
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
