import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Config, Mount } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { Engine, HostSession, OpenOptions } from '../engine.ts';
import { removeAbandoned, removeContents, removeGroups, removeStaleGroups, removeTree } from './clean-up.ts';
import { describeIsolation } from './isolation.ts';
import { Lease, occupancyOf } from './lease.ts';
import type { LinkOptions, Place } from './link-options.ts';
import { Link } from './link.ts';
import { Pool } from './pool.ts';
import { Reception } from './reception.ts';
import { LocalSession, type SessionHost } from './session.ts';
import { writerOf } from './writer.ts';
import { spawnZygote, type ZygoteProcess } from './zygote-process.ts';
import { Zygote, type Ready } from './zygote.ts';

const OWNER_SOCKET = 'owner.sock';
const INSTANCE_NAMES = /^\d+-[0-9a-f]{8}$/;

export interface LocalEngineOptions {
  readonly config: Config;
  readonly python: string;
  readonly cacheDir: string;
  /** A process for the first zygote that was started already; it is used if it fits, and else ended. */
  readonly headStart?: ZygoteProcess;
  readonly signal?: AbortSignal;
}

/** Starts the engine that runs sessions on this machine. */
export async function startLocalEngine(options: LocalEngineOptions): Promise<Engine<HostSession>> {
  await using stack = new AsyncDisposableStack();
  const instance = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const sessionsRoot = path.join(options.config.dataDir, 'sessions');
  const sessionsDir = path.join(sessionsRoot, instance);
  await mkdir(options.cacheDir, { recursive: true });
  await mkdir(sessionsDir, { recursive: true, mode: 0o711 });
  await chmod(sessionsDir, 0o711); // each session's own user walks through, and lists nothing
  stack.defer(() => rmdir(sessionsDir));
  const lease = await Lease.take(sessionsDir, OWNER_SOCKET);
  if (lease !== null) stack.use(lease);
  stack.defer(() => removeContents(sessionsDir, OWNER_SOCKET));
  const reception = stack.use(await Reception.start());
  const engine = new LocalEngine(options, { instance, sessionsRoot, sessionsDir, reception }, stack.move());
  try {
    await engine.warmUp(options.signal);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

interface Premises {
  readonly instance: string;
  readonly sessionsRoot: string;
  readonly sessionsDir: string;
  readonly reception: Reception;
}

interface Template {
  readonly zygote: Zygote;
  readonly ready: Ready;
}

class LocalEngine implements Engine<HostSession>, SessionHost {
  readonly #options: LocalEngineOptions;
  readonly #premises: Premises;
  readonly #pool: Pool;
  readonly #owned: AsyncDisposableStack;
  readonly #sessions = new Set<LocalSession>();
  #template: Promise<Template> | null = null;
  #headStart: ZygoteProcess | undefined;
  #isolation: Isolation | null = null;
  #closing: Promise<void> | null = null;
  #groupDirectories: readonly string[] = [];
  #cleaning: Promise<unknown>;
  #links = 0;
  #zygotes = 0;

  constructor(options: LocalEngineOptions, premises: Premises, owned: AsyncDisposableStack) {
    this.#options = options;
    this.#premises = premises;
    this.#owned = owned;
    this.#headStart = options.headStart;
    this.#cleaning = cleanUpAfterOthers(premises.sessionsRoot);
    this.#pool = new Pool(options.config.poolSize, (link) => this.openLink(link));
  }

  get isolation(): Isolation {
    if (this.#isolation === null) throw new VivariumError('ENGINE_CLOSED', 'The engine has not started.');
    return this.#isolation;
  }

  /** Starts the zygote and fills the pool. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    const { ready } = await this.#warmTemplate(signal);
    this.#isolation = describeIsolation(ready);
    const { limits, mounts, network } = this.#options.config;
    this.#pool.start(await this.#asUser({ limits, mounts, network, readOnly: false, twins: true }));
  }

  async open(options: OpenOptions): Promise<HostSession> {
    const { limits, mounts, network, readOnly, environment, twins } = options;
    if (readOnly && this.isolation.level === 'none') throw unwalled();
    if (this.isolation.level !== 'namespaces') assertInPlace(mounts);
    const wanted = await this.#asUser({ limits, mounts, network, readOnly, twins });
    const link = this.#pool.claim(wanted) ?? (await this.openLink(wanted, options.signal));
    const session = new LocalSession(options.id, this, link, environment);
    this.#sessions.add(session);
    return session;
  }

  async #asUser(options: LinkOptions): Promise<LinkOptions> {
    const uid = await writerOf(options.mounts, this.isolation);
    return uid === null ? options : { ...options, uid };
  }

  async openLink(options: LinkOptions, signal?: AbortSignal): Promise<Link> {
    this.#assertOpen();
    const { zygote } = await this.#warmTemplate(signal);
    this.#links += 1;
    const { reception, sessionsDir } = this.#premises;
    return Link.open(`s${this.#links}`, { zygote, reception, sessionsDir }, options, signal);
  }

  async removePlace(place: Place): Promise<void> {
    for (const session of this.#sessions) if (session.isClosing) this.#sessions.delete(session);
    await removeTree(path.join(this.#premises.sessionsDir, place.workspace));
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#pool.close();
    const template = await this.#template?.catch(() => null);
    await template?.zygote.close(); // takes every session along
    await this.#cleaning;
    await removeGroups(this.#groupDirectories, `${this.#premises.instance}.`); // also of a zygote killed before it was ready
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await this.#owned.disposeAsync();
  }

  #assertOpen(): void {
    if (this.#closing !== null)
      throw new VivariumError('ENGINE_CLOSED', 'The interpreter is closed. Create a new one.');
  }

  /** The zygote; a new one when the last has died. */
  #warmTemplate(signal?: AbortSignal): Promise<Template> {
    this.#template ??= this.#startZygote(signal).catch((error: unknown) => {
      this.#template = null;
      throw error;
    });
    return this.#template;
  }

  #takeHeadStart(): ZygoteProcess | undefined {
    const headStart = this.#headStart;
    this.#headStart = undefined;
    if (headStart === undefined) return undefined;
    const { python, cacheDir } = this.#options;
    if (headStart.python === python && headStart.cacheDir === cacheDir) return headStart;
    headStart.child.kill('SIGKILL');
    return undefined;
  }

  async #startZygote(signal?: AbortSignal): Promise<Template> {
    const { config, python, cacheDir } = this.#options;
    const { instance, sessionsDir, reception } = this.#premises;
    this.#zygotes += 1;
    const name = `${instance}.${this.#zygotes}`; // no zygote takes the places of one before it
    const { isolation, cgroups, preload, poolSize, twinDelayMs, tmpMb } = config;
    const template = await Zygote.start(
      this.#takeHeadStart() ?? spawnZygote(python, cacheDir),
      {
        level: isolation,
        instance: name,
        sessions: sessionsDir,
        socket: reception.socketPath,
        cache: cacheDir,
        cgroups,
        preload,
        ahead: Math.min(poolSize, 2),
        tmpBytes: tmpMb * 2 ** 20,
        twinDelayMs,
      },
      signal,
    );
    this.#groupDirectories = template.ready.groupDirectories;
    const cleaned = template.zygote.exited.then(async () => {
      this.#template = null;
      const { limits, mounts, network } = this.#options.config;
      this.#pool.start(await this.#asUser({ limits, mounts, network, readOnly: false, twins: true }));
      await removeGroups(this.#groupDirectories, `${name}-`);
    });
    this.#cleaning = Promise.all([this.#cleaning, cleaned, this.#removeStaleGroups()]);
    return template;
  }

  async #removeStaleGroups(): Promise<void> {
    await removeStaleGroups(this.#groupDirectories, async (instance) => {
      const directory = path.join(this.#premises.sessionsRoot, instance);
      return (await occupancyOf(directory, OWNER_SOCKET).catch(() => 'unmarked')) === 'occupied';
    });
  }
}

/** Nobody waits for it but whoever closes the engine. */
async function cleanUpAfterOthers(sessionsRoot: string): Promise<void> {
  const sessions = { directory: sessionsRoot, names: INSTANCE_NAMES, socket: OWNER_SOCKET, isOwn: true };
  await Promise.all([removeAbandoned(sessions), Reception.removeAbandoned()]);
}

/** Without a root of its own a session finds at a path what the host has there, and nothing else. */
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
