import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Limits, type Mount, type NetworkSetting, type PackagePolicy } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { Once } from '../../once.ts';
import type { Engine, OpenOptions } from '../engine.ts';
import type { EnclosureOptions, Home } from './enclosure/options.ts';
import { Gate } from './gate/gate.ts';
import { removeAbandoned, removeGroups, removeStaleGroups } from './instance/clean-up.ts';
import { INSTANCE_NAMES, OWNER_SOCKET, REMOVAL_MS, type Instance } from './instance/instance.ts';
import { occupancyOf } from './instance/lease.ts';
import { WorkerSocket } from './instance/worker-socket.ts';
import { describeIsolation } from './isolation.ts';
import { Load } from './load.ts';
import { HeldMounts, MountTable } from './mount/table.ts';
import type { LocalEngineOptions } from './options.ts';
import { Fetcher, FETCH_TIMEOUT_MS, type FetchPlan } from './packages/fetcher.ts';
import { PackageInstaller } from './packages/installer.ts';
import { SessionPackages } from './packages/session-packages.ts';
import { NO_SOURCE } from './packages/source.ts';
import { PackageStore } from './packages/store.ts';
import { Pool } from './pool.ts';
import { LocalSession, type SessionSupport } from './session.ts';
import { userOf } from './session-user.ts';
import { Worker } from './worker/worker.ts';
import type { ZygoteStarter } from './zygote/starter.ts';
import { Zygote, type ZygoteReady } from './zygote/zygote.ts';

/** Of the sessions that fetch packages: a resolver with many threads, and large files. */
const FETCH_LIMITS = Limits.parse({ timeoutMs: FETCH_TIMEOUT_MS, processes: 256, fileMb: 4096, workspaceMb: 16_384 });

interface Template {
  readonly zygote: Zygote;
  readonly ready: ZygoteReady;
}

interface LocalEngineParts {
  readonly instance: Instance;
  readonly starter: ZygoteStarter;
  /** Is disposed of last, when the engine closes. */
  readonly owned: AsyncDisposableStack;
}

/** Sessions as processes of this machine, all of them forked from one zygote. */
export class LocalEngine implements Engine<LocalSession>, SessionSupport {
  readonly load = new Load();
  readonly #options: LocalEngineOptions;
  readonly #instance: Instance;
  readonly #starter: ZygoteStarter;
  readonly #pool: Pool;
  readonly #owned: AsyncDisposableStack;
  readonly #sessions = new Set<LocalSession>();
  /** The zygote; a new one when the last has died. */
  readonly #template = new Once((signal?: AbortSignal) => this.#startZygote(signal));
  readonly #mounts: MountTable;
  /** Is started by the first session with a list of hosts. */
  readonly #gate: Gate;
  readonly #installer: PackageInstaller;
  /** What sessions see that have no mounts of their own. */
  #configured = HeldMounts.none;
  #isolation: Isolation | null = null;
  #closing: Promise<void> | null = null;
  #cleaning: Promise<unknown> = Promise.resolve();
  /** What killed engines left, which may be a lot. */
  readonly #cleaningUp: Promise<void>;
  #enclosures = 0;

  constructor(options: LocalEngineOptions, { instance, starter, owned }: LocalEngineParts) {
    this.#options = options;
    this.#instance = instance;
    this.#starter = starter;
    this.#owned = owned;
    const { sessionsRoot, workerSocket } = instance;
    const [artifacts, packages] = ['artifacts', 'packages'].map((name) => path.join(options.config.dataDir, name));
    const own = [path.dirname(workerSocket.socketPath), options.cacheDir, artifacts as string, packages as string];
    this.#mounts = new MountTable([sessionsRoot, ...own]);
    this.#gate = new Gate(options);
    this.#installer = new PackageInstaller(new PackageStore(packages as string, options), this.#createFetcher());
    this.#cleaningUp = cleanUpAfterOthers(instance);
    this.#pool = new Pool(options.config.poolSize, (enclosure) => this.openWorker(enclosure));
  }

  get warmSessions(): number {
    return this.#pool.size;
  }

  get isolation(): Isolation {
    if (this.#isolation === null) throw new VivariumError('ENGINE_CLOSED', 'The engine has not started.');
    return this.#isolation;
  }

  get workerSocket(): WorkerSocket {
    return this.#instance.workerSocket;
  }

  /** Starts the zygote and fills the pool. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    const { ready } = await this.#template.get(signal);
    this.#isolation = describeIsolation(ready);
    assertDivisible(this.#options.config.limits.cpus, this.#isolation);
    assertListable(this.#options.config.network, this.#isolation);
    this.#configured = this.#mounts.hold(this.#options.config.mounts);
    this.#fillPool();
  }

  #fillPool(): void {
    const { limits, network } = this.#options.config;
    const secrets = typeof network === 'object' ? this.#options.config.secrets : {};
    const { mounts } = this.#configured;
    this.#pool.start(this.#asUser({ limits, mounts, network, secrets, readOnly: false, twins: true }));
  }

  async open(options: OpenOptions): Promise<LocalSession> {
    const { limits, network, readOnly, env, twins } = options;
    assertDivisible(limits.cpus, this.isolation);
    if (readOnly && this.isolation.level === 'none') throw unwalled();
    assertListable(network, this.isolation);
    const secrets = this.#secretsFor(options);
    if (this.isolation.level !== 'namespaces') assertInPlace(options.mounts);
    using stack = new DisposableStack();
    const isUsual = isDeepStrictEqual(options.mounts, this.#options.config.mounts);
    const { mounts } = isUsual ? this.#configured : stack.use(this.#mounts.hold(options.mounts));
    const wanted = this.#asUser({ limits, mounts, network, secrets, readOnly, twins });
    const worker = this.#pool.claim(wanted) ?? (await this.openWorker(wanted, options.signal));
    const packages = this.#packagesOf(worker, options.packages);
    const owned = stack.move();
    const session = new LocalSession({ id: options.id, support: this, worker, env, packages, owned });
    this.#sessions.add(session);
    return session;
  }

  #packagesOf(worker: Worker, policy: PackagePolicy = 'none'): SessionPackages {
    const directory = path.join(this.#instance.sessionsDir, worker.enclosure.home.workspace, 'packages');
    return new SessionPackages({ directory, policy, installer: this.#installer });
  }

  #createFetcher(): Fetcher {
    const { python, packageSource: source = NO_SOURCE } = this.#options;
    return new Fetcher({
      python,
      source,
      open: (plan, signal) => this.#openFetching(plan, signal),
      isListable: () => this.isolation.level === 'namespaces',
      pythonVersion: () => this.#template.value?.ready.python ?? '3',
    });
  }

  /** A session of our own that reaches listed hosts. Without namespaces it has the network of the machine, as any session that has one. */
  async #openFetching({ hosts, trusted, reads }: FetchPlan, signal: AbortSignal): Promise<LocalSession> {
    using stack = new DisposableStack();
    const mounts = reads.map((source) => ({ source, target: source, writable: false }));
    const held = stack.use(this.#mounts.hold(mounts));
    const list = { allow: hosts, deny: [], log: false };
    const network = hosts.length > 0 && (this.isolation.level === 'namespaces' ? list : true);
    const wanted = { limits: FETCH_LIMITS, mounts: held.mounts, network, trustedHosts: trusted };
    const worker = await this.openWorker({ ...wanted, readOnly: false, twins: false }, signal);
    const packages = this.#packagesOf(worker);
    const owned = stack.move();
    const session = new LocalSession({ id: 'packages', support: this, worker, env: {}, packages, owned });
    this.#sessions.add(session);
    return session;
  }

  /** Without a list nothing could keep a session from sending a secret elsewhere, or put it in. Those of the host are for sessions with a list. */
  #secretsFor({ network, secrets = {} }: OpenOptions): NonNullable<OpenOptions['secrets']> {
    if (typeof network === 'object') return secrets;
    if (Object.keys(secrets).length === 0 || isDeepStrictEqual(secrets, this.#options.config.secrets)) return {};
    throw new VivariumError(
      'CONFIG_INVALID',
      'A session with secrets needs a list of hosts: set network to { allow: […] }. See docs/network.md.',
    );
  }

  #asUser(options: EnclosureOptions): EnclosureOptions {
    const uid = userOf(options.mounts, this.isolation);
    return uid === null ? options : { ...options, uid };
  }

  async openWorker(options: EnclosureOptions, signal?: AbortSignal): Promise<Worker> {
    this.#assertOpen();
    const { zygote } = await this.#awaitTemplate(signal);
    this.#enclosures += 1;
    const { workerSocket, sessionsDir } = this.#instance;
    const parts = { zygote, workerSocket, sessionsDir, gate: this.#gate };
    return Worker.open(`s${this.#enclosures}`, parts, options, signal);
  }

  /** The signal gives up waiting. A zygote that is being started is everybody's, so it does not end with one caller. */
  async #awaitTemplate(signal?: AbortSignal): Promise<Template> {
    signal?.throwIfAborted();
    const starting = this.#template.get();
    if (signal === undefined || this.#template.value !== undefined) return starting;
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([starting, givenUp]);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  async removeHome(home: Home): Promise<void> {
    for (const session of this.#sessions) if (session.isClosing) this.#sessions.delete(session);
    await this.#instance.removals.begin(path.join(this.#instance.sessionsDir, home.workspace));
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#pool.close();
    const template = await this.#template.settled();
    await template?.zygote.close(); // ends every session with it
    await this.#gate.close();
    await this.#cleaning;
    await this.#instance.removals.wait(this.#cleaningUp, REMOVAL_MS);
    await Promise.all([...this.#sessions].map((session) => session.close()));
    this.#configured[Symbol.dispose]();
    await this.#owned.disposeAsync();
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new VivariumError('ENGINE_CLOSED', 'The host is closed. Create a new one.');
  }

  async #startZygote(signal?: AbortSignal): Promise<Template> {
    const { process, name } = this.#starter.next();
    const zygote = new Zygote(process);
    const cleaned = zygote.exited.then(() => removeGroups(zygote.groupDirectories, `${name}-`));
    this.#cleaning = Promise.all([this.#cleaning, cleaned]);
    const ready = await zygote.warmUp(signal);
    const refilled = zygote.exited.then(() => {
      this.#template.forget();
      this.#fillPool();
    });
    this.#cleaning = Promise.all([this.#cleaning, refilled, this.#removeStaleGroups(zygote.groupDirectories)]);
    return { zygote, ready };
  }

  async #removeStaleGroups(directories: readonly string[]): Promise<void> {
    await removeStaleGroups(directories, async (instance) => {
      const directory = path.join(this.#instance.sessionsRoot, instance);
      return (await occupancyOf(directory, OWNER_SOCKET).catch(() => 'unmarked')) === 'occupied';
    });
  }
}

/** Only closing the engine waits for it. */
async function cleanUpAfterOthers({ sessionsRoot: directory, removals }: Instance): Promise<void> {
  const remove = (tree: string): Promise<void> => removals.remove(tree);
  const sessions = { directory, names: INSTANCE_NAMES, socket: OWNER_SOCKET, isOwn: true, remove };
  await Promise.all([removeAbandoned(sessions), WorkerSocket.removeAbandoned()]);
}

/** Without a root of its own, a session finds at a path what this machine has there. */
function assertInPlace(mounts: readonly Mount[]): void {
  const moved = mounts.find(({ source, target }) => path.resolve(source) !== path.resolve(target));
  if (moved === undefined) return;
  throw new VivariumError(
    'SANDBOX_UNAVAILABLE',
    `${moved.source} cannot be shown at ${moved.target}: below the isolation "namespaces" a session has no root of its own. Mount it at its own path, or use "namespaces".`,
  );
}

/** Without a control group a session is held to processors as a whole. */
function assertDivisible(cpus: number | null, isolation: Isolation): void {
  if (cpus === null || Number.isInteger(cpus) || isolation.cpus.includes('cgroup')) return;
  throw new VivariumError(
    'CONFIG_INVALID',
    `limits.cpus is ${cpus}, and without a control group of the cpu controller a session can be held to whole processors only. ` +
      `Use ${Math.ceil(cpus)}, or see \`vivarium doctor\` about control groups.`,
  );
}

/** Only a network of its own can be closed but for the way to the gate. */
function assertListable(network: NetworkSetting, { level }: Isolation): void {
  if (typeof network === 'boolean' || level === 'namespaces') return;
  throw new VivariumError(
    'SANDBOX_UNAVAILABLE',
    `A list of hosts cannot be enforced at the isolation "${level}": sessions have no network of their own there. Use "namespaces", or set network to true or false.`,
  );
}

function unwalled(): VivariumError {
  return new VivariumError(
    'SANDBOX_UNAVAILABLE',
    'A session without walls cannot be kept from writing. Leave out readOnly, or use an isolation above "none".',
  );
}
