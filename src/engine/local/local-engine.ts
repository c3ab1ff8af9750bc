import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Mount } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { Once } from '../../once.ts';
import type { Engine, OpenOptions } from '../engine.ts';
import type { EnclosureOptions, Home } from './enclosure/options.ts';
import { removeAbandoned, removeGroups, removeStaleGroups } from './instance/clean-up.ts';
import { INSTANCE_NAMES, OWNER_SOCKET, REMOVAL_MS, type Instance } from './instance/instance.ts';
import { occupancyOf } from './instance/lease.ts';
import { WorkerSocket } from './instance/worker-socket.ts';
import { describeIsolation } from './isolation.ts';
import { Load } from './load.ts';
import { HeldMounts, MountTable } from './mount/table.ts';
import type { LocalEngineOptions } from './options.ts';
import { Pool } from './pool.ts';
import { LocalSession, type SessionSupport } from './session.ts';
import { userOf } from './session-user.ts';
import { Worker } from './worker/worker.ts';
import type { ZygoteStarter } from './zygote/starter.ts';
import { Zygote, type ZygoteReady } from './zygote/zygote.ts';

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
    const artifacts = path.join(options.config.dataDir, 'artifacts');
    this.#mounts = new MountTable([sessionsRoot, path.dirname(workerSocket.socketPath), options.cacheDir, artifacts]);
    this.#cleaningUp = cleanUpAfterOthers(instance);
    this.#pool = new Pool(options.config.poolSize, (enclosure) => this.openWorker(enclosure));
  }

  get isolation(): Isolation {
    if (this.#isolation === null) throw new VivariumError('ENGINE_CLOSED', 'The engine has not started.');
    return this.#isolation;
  }

  /** Starts the zygote and fills the pool. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    const { ready } = await this.#template.get(signal);
    this.#isolation = describeIsolation(ready);
    this.#configured = this.#mounts.hold(this.#options.config.mounts);
    this.#fillPool();
  }

  #fillPool(): void {
    const { limits, network } = this.#options.config;
    const { mounts } = this.#configured;
    this.#pool.start(this.#asUser({ limits, mounts, network, readOnly: false, twins: true }));
  }

  async open(options: OpenOptions): Promise<LocalSession> {
    const { limits, network, readOnly, environment, twins } = options;
    if (readOnly && this.isolation.level === 'none') throw unwalled();
    if (this.isolation.level !== 'namespaces') assertInPlace(options.mounts);
    using stack = new DisposableStack();
    const isUsual = isDeepStrictEqual(options.mounts, this.#options.config.mounts);
    const { mounts } = isUsual ? this.#configured : stack.use(this.#mounts.hold(options.mounts));
    const wanted = this.#asUser({ limits, mounts, network, readOnly, twins });
    const worker = this.#pool.claim(wanted) ?? (await this.openWorker(wanted, options.signal));
    const session = new LocalSession({ id: options.id, support: this, worker, environment, owned: stack.move() });
    this.#sessions.add(session);
    return session;
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
    return Worker.open(`s${this.#enclosures}`, { zygote, workerSocket, sessionsDir }, options, signal);
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

function unwalled(): VivariumError {
  return new VivariumError(
    'SANDBOX_UNAVAILABLE',
    'A session without walls cannot be kept from writing. Leave out readOnly, or use an isolation above "none".',
  );
}
