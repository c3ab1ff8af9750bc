/** The walls under attack: an engine, the session that attempts run in, and a neighbour that must not notice. */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseConfig, type Config, type Mount, type NetworkSetting } from '../../src/config.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { startLocalEngine } from '../../src/engine/local/engine.ts';
import type { LocalSession } from '../../src/engine/local/session.ts';
import type { Execution } from '../../src/execution/execution.ts';
import type { Isolation } from '../../src/execution/isolation.ts';
import { keepAlive, Task } from '../../src/process-life.ts';
import { foldExecution } from '../../src/execution/transcript.ts';
import { programOf, programWith, type Attempt, type Host } from './attempts.ts';
import { freePort, type World } from './world.ts';

/** Small, so that attempts are quick to pass them. */
export const LIMITS = {
  timeoutMs: 8000,
  graceMs: 150,
  cpuMs: 800,
  memoryMb: 64,
  processes: 24,
  openFiles: 256,
  fileMb: 12,
  workspaceMb: 32,
  outputBytes: 65_536,
  rollbackMb: 4,
} as const;
/** Without namespaces, the kernel counts everything that an ordinary user runs. */
const SHARED_PROCESSES = 1000;
export const HURRIED_MS = 300;
/** Where a session has the ways to the gate, if it has any. */
const PROXIES = { http: 3128, socks: 1080 };
const PATIENCE_MS = 12_000;
const TRIES = 3;
const BREATH_MS = 100;
/** Sessions of which nothing must be found in the memory of later ones; several, of different sizes. */
const SECRETIVE_SESSIONS = 5;
const TIDY = `import os, shutil
for _ in [*os.scandir('.'), *os.scandir(os.environ['TMPDIR'])]:
    if os.path.realpath(_) != os.environ['TMPDIR']:
        shutil.rmtree(_, ignore_errors=True) if _.is_dir(follow_symlinks=False) else os.unlink(_)`;
/** At least as many as the zygote forks ahead. */
const WAITING = 4;

export interface ArenaOptions {
  readonly python: string;
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly cgroups: boolean;
  readonly isolation?: 'namespaces' | 'landlock';
  /** Whether the attacker may use the network, or what is on a list. */
  readonly network?: boolean | 'list';
  /** Whether attempts are made by commands of the session instead of its Python. */
  readonly byCommands?: boolean;
}

interface Wishes {
  readonly id?: string;
  readonly isForked?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly network?: NetworkSetting;
}

/** A run that did not end although it had to. */
export class Hung extends Error {
  override readonly name = 'Hung';
}

export class Arena implements AsyncDisposable {
  readonly #engine: Engine<LocalSession>;
  readonly #config: Config;
  readonly #world: World;
  readonly #network: NetworkSetting;
  readonly #byCommands: boolean;
  /** An engine alone, without a host, does not keep the process alive. */
  readonly #task = new Task();
  readonly #witnessWord = `witness-${randomBytes(8).toString('hex')}`;
  #attacker!: LocalSession;
  #witness!: LocalSession;
  #neighbour: Host = {};
  #runs = 0;
  #opened = 0;

  private constructor(engine: Engine<LocalSession>, config: Config, world: World, options: ArenaOptions) {
    this.#engine = engine;
    this.#config = config;
    this.#world = world;
    this.#network = options.network === 'list' ? world.list : (options.network ?? false);
    this.#byCommands = options.byCommands ?? false;
  }

  static async open(options: ArenaOptions, world: World): Promise<Arena> {
    const { dataDir, cgroups, isolation = 'namespaces' } = options;
    const preload = ['ssl', 'numpy', 'random', 'uuid'];
    const limits = isolation === 'namespaces' ? LIMITS : { ...LIMITS, processes: SHARED_PROCESSES };
    const config = parseConfig({ dataDir, cgroups, isolation, limits, preload });
    const { python, cacheDir } = options;
    const engine = await keepAlive(startLocalEngine({ config, python, cacheDir }));
    const arena = new Arena(engine, config, world, options);
    await arena.#settleWitness();
    await arena.#newAttacker();
    return arena;
  }

  get isolation(): Isolation {
    return this.#engine.isolation;
  }

  /** What an attempt knows about the engine. */
  get facts(): Host {
    const workspaceInside = this.#hasNamespaces ? '/workspace' : this.#attacker.workspace.path;
    return { ...LIMITS, timeoutMs: HURRIED_MS, workspaceInside, engineSocket: engineSocket() };
  }

  get #hasNamespaces(): boolean {
    return this.#config.isolation === 'namespaces';
  }

  get attacker(): LocalSession {
    return this.#attacker;
  }

  /** A session beside the others; `isForked` for one that certainly did not wait in the pool. */
  openSession(isForked = false, env: Record<string, string> = {}): Promise<LocalSession> {
    return this.#open({ isForked, env });
  }

  /** A session with mounts. */
  openMounted(mounts: readonly Mount[]): Promise<LocalSession> {
    return this.#open({ mounts });
  }

  #open({ id, isForked = false, env = {}, mounts = [], network = false }: Wishes): Promise<LocalSession> {
    this.#opened += 1;
    const { limits } = this.#config;
    return patiently(
      this.#engine.open({
        id: id ?? `session-${this.#opened}`,
        limits: isForked ? { ...limits, memoryMb: limits.memoryMb + 1 } : limits,
        mounts,
        network,
        readOnly: false,
        env,
        twins: true,
      }),
      'opening a session',
    );
  }

  /** Opens sessions that have secrets in everything that a session or its caller can name, and closes them. */
  async passSecrets(): Promise<void> {
    for (let count = 1; count <= SECRETIVE_SESSIONS; count += 1) {
      const entries = Array.from({ length: count }, (_, index) => [`KEY_${index}`, newSecret(37 * index)]);
      const source = path.join(this.#world.directory, ...Array.from({ length: 3 * count }, () => newSecret(150)));
      await mkdir(source, { recursive: true });
      const session = await this.#open({
        id: newSecret(count),
        isForked: true,
        env: Object.fromEntries(entries) as Record<string, string>,
        mounts: [{ source, target: this.#targetFor(source, count), writable: count % 2 === 0 }],
      });
      await session.workspace.write(`${newSecret(0)}/${newSecret(100)}`, Buffer.from(newSecret(1000 * count)));
      const folders = Array.from({ length: 12 }, () => newSecret(180)).join('/');
      const make = `for _ in ('.', os.environ['TMPDIR']): os.makedirs(f"{_}/${folders}")`;
      await this.run(session, `import os\n${make}\nprint("${newSecret(0)}")`);
      await session.reset();
      await session.close();
      await this.#openInVain(source);
    }
    // Workers that wait in the supply were forked before.
    for (let count = 0; count < WAITING; count += 1) await (await this.openSession(true)).close();
  }

  /** Without namespaces, what is mounted is seen where it is. */
  #targetFor(source: string, count: number): string {
    return this.#hasNamespaces ? `/${newSecret(40 * count)}/${newSecret(0)}` : source;
  }

  /** Mounts that cannot be built: what is told about them must not stay either. */
  async #openInVain(source: string): Promise<void> {
    const target = `/dev/null/${newSecret(50)}`;
    await this.#open({ mounts: [{ source, target, writable: false }] }).catch(() => undefined);
  }

  async run(session: LocalSession, code: string, timeoutMs: number = LIMITS.timeoutMs): Promise<Execution> {
    this.#runs += 1;
    const events = session.stream({ id: `run-${this.#runs}`, code, echo: 'none', timeoutMs });
    return patiently(foldExecution(events, LIMITS.outputBytes), 'the run');
  }

  /** Runs an attempt; the facts that it was told come with the result. */
  async tryIn(
    session: LocalSession,
    attempt: Attempt,
  ): Promise<{ execution: Execution; host: Awaited<ReturnType<World['describe']>> }> {
    const ids = { runId: `run-${this.#runs + 1}`, nextRunId: `run-${this.#runs + 2}` };
    const host = await this.#world.describe({ ...this.facts, ...ids, neighbour: this.#neighbour, proxies: PROXIES });
    const program = programOf(attempt, host);
    const timeoutMs = attempt.isHurried ? HURRIED_MS : LIMITS.timeoutMs;
    const running = this.#byCommands ? this.#runCommand(session, program, timeoutMs) : undefined;
    return { execution: await (running ?? this.run(session, program, timeoutMs)), host };
  }

  /** What a command did as if a run had done it, with the state of the run after it. */
  async #runCommand(session: LocalSession, program: string, timeoutMs: number): Promise<Execution> {
    const request = { argv: ['python3', '-'], cwd: '.', env: {}, timeoutMs, maxOutputBytes: LIMITS.outputBytes };
    const command = await patiently(session.start(request), 'the start of a command');
    void command.write(program);
    command.closeInput();
    const { exitCode, signal, reason = '', timedOut, ...logs } = await patiently(command.result, 'the command');
    const next = await this.run(session, 'pass');
    if (exitCode !== null) return { ...next, logs, outcome: { status: exitCode === 0 ? 'succeeded' : 'raised' } };
    const crashed = { status: 'crashed', signal, exitCode, reason } as const;
    const late = { status: 'timed-out', limit: 'wall', limitMs: timeoutMs } as const;
    return { ...next, logs, outcome: timedOut ? late : crashed };
  }

  /** Whether the attacked session still runs code as it should, and its word about its state was true. */
  async checkNext(session: LocalSession, said: string): Promise<string> {
    const told = new Set([said]);
    let problem = '';
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (tries > 0) await sleep(BREATH_MS); // a leftover of the attempt may still be at work
      const execution = await this.run(session, "print(6 * 7, 'marker' in globals())", 1000);
      told.add(execution.state.status).add(execution.state.earlier?.status ?? '');
      if (execution.outcome.status === 'succeeded') {
        if (told.has('lost')) await this.run(session, 'marker = 1'); // for the next attempt
        return judgeNext(execution, told);
      }
      problem = `${execution.outcome.status}, state ${execution.state.status}: ${execution.error?.value ?? execution.state.reason ?? ''}`;
    }
    return `${TRIES} runs after it failed: ${problem}`;
  }

  /** Takes away files of an attempt that was stopped before it could. Returns whether that cost the state. */
  async tidy(): Promise<boolean> {
    const { state } = await this.run(this.#attacker, TIDY);
    return state.status === 'lost';
  }

  /** Whether the neighbour still has its state and runs. */
  async checkWitness(): Promise<string> {
    const execution = await this.run(this.#witness, 'print(state)', 3000);
    const isIntact = execution.logs.stdout === `${this.#witnessWord}\n` && execution.state.generation === 1;
    return isIntact
      ? 'intact'
      : `${execution.outcome.status}, ${execution.state.status}: ${execution.state.reason ?? execution.error?.value ?? ''}`;
  }

  /** After an attempt that damages the interpreter on purpose: a fresh one, so that the next attempt means something. */
  async refresh(isHopeless: boolean): Promise<void> {
    if (isHopeless) {
      await Promise.race([this.#attacker.close(), sleep(3000, undefined, { ref: false })]);
      await this.#newAttacker();
    } else {
      await patiently(this.#attacker.reset(), 'the reset');
      await this.run(this.#attacker, 'marker = 1');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine.close();
    this.#task[Symbol.dispose]();
  }

  async #newAttacker(): Promise<void> {
    // With namespaces, attempts on mounts have sessions of their own.
    const source = this.#world.readableDirectory;
    const mounts = this.#hasNamespaces ? [] : [{ source, target: source, writable: false }];
    this.#attacker = await this.#open({ network: this.#network, mounts });
    await this.#world.plantBeside(this.#attacker.workspace.path);
    await this.run(this.#attacker, 'marker = 1');
    if (typeof this.#network === 'object') await this.#checkList();
  }

  /** A gate that leads nowhere would hold everything, and prove nothing. */
  async #checkList(): Promise<void> {
    const { outcome, error } = await this.run(this.#attacker, this.#world.reachListed);
    if (outcome.status !== 'succeeded') throw new Error(`the listed host is not reached: ${error?.traceback ?? ''}`);
  }

  async #settleWitness(): Promise<void> {
    this.#witness = await this.openSession(true);
    const settle = [`inner-${randomBytes(4).toString('hex')}`, await freePort(), randomBytes(3).readUIntBE(0, 3) + 1];
    const host = await this.#world.describe({ settle });
    const lines = `kept = settle(*HOST["settle"])\nstate = "${this.#witnessWord}"`;
    const execution = await this.run(this.#witness, programWith(['neighbour'], host, lines));
    if (execution.outcome.status !== 'succeeded')
      throw new Error(execution.error?.traceback ?? execution.outcome.status);
    this.#neighbour = { name: settle[0], port: settle[1], key: settle[2], workspace: this.#witness.workspace.path };
  }
}

/** Some text that a later session must not find in its memory. */
function newSecret(more: number): string {
  return `neighbour-secret-${randomBytes(16).toString('hex')}${'-'.repeat(more)}`;
}

/** The engine's socket lies in a directory that it makes for it. */
function engineSocket(): string {
  const found = readdirSync(tmpdir()).find((name) => name.startsWith('vivarium-'));
  return path.join(tmpdir(), found ?? 'none', 'engine.sock');
}

function judgeNext(execution: Execution, told: ReadonlySet<string>): string {
  const [answer, hasMarker] = execution.logs.stdout.trim().split(' ');
  if (answer !== '42') return `the next run printed ${JSON.stringify(execution.logs.stdout.slice(0, 200))}`;
  const isKept = hasMarker === 'True';
  if (isKept === told.has('lost'))
    return `its state was said to be ${[...told].join(', ')}, but variables were ${isKept ? 'kept' : 'gone'}`;
  return 'works';
}

async function patiently<T>(promise: Promise<T>, what: string): Promise<T> {
  const giveUp = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: giveUp.signal }).then(() => {
    throw new Hung(`${what} did not end within ${PATIENCE_MS} ms`);
  });
  late.catch(() => undefined); // aborted, or raced
  try {
    return await Promise.race([promise, late]);
  } finally {
    giveUp.abort();
  }
}
