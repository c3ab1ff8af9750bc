import path from 'node:path';
import type { Mount } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { Once } from '../../once.ts';
import type { Engine, HostSession, OpenOptions } from '../engine.ts';
import { removeAbandoned, removeGroups, removeStaleGroups, removeTree } from './premises/clean-up.ts';
import { describeIsolation } from './isolation.ts';
import { occupancyOf } from './premises/lease.ts';
import type { LinkOptions, Place } from './link/options.ts';
import { Link } from './link/link.ts';
import type { LocalEngineOptions } from './options.ts';
import { Pool } from './pool.ts';
import { INSTANCE_NAMES, OWNER_SOCKET, type Premises } from './premises/premises.ts';
import { Reception } from './premises/reception.ts';
import { LocalSession, type SessionHost } from './session.ts';
import { writerOf } from './writer.ts';
import type { ZygoteLauncher } from './zygote/launcher.ts';
import { Zygote, type Ready } from './zygote/zygote.ts';

interface Template {
  readonly zygote: Zygote;
  readonly ready: Ready;
}

/** What an engine is built on. */
interface Foundations {
  readonly premises: Premises;
  readonly launcher: ZygoteLauncher;
  readonly owned: AsyncDisposableStack;
}

export class LocalEngine implements Engine<HostSession>, SessionHost {
  readonly #options: LocalEngineOptions;
  readonly #premises: Premises;
  readonly #launcher: ZygoteLauncher;
  readonly #pool: Pool;
  readonly #owned: AsyncDisposableStack;
  readonly #sessions = new Set<LocalSession>();
  /** The zygote; a new one when the last has died. */
  readonly #template = new Once((signal?: AbortSignal) => this.#startZygote(signal));
  #isolation: Isolation | null = null;
  #closing: Promise<void> | null = null;
  #groupDirectories: readonly string[] = [];
  #cleaning: Promise<unknown>;
  #links = 0;

  constructor(options: LocalEngineOptions, { premises, launcher, owned }: Foundations) {
    this.#options = options;
    this.#premises = premises;
    this.#launcher = launcher;
    this.#owned = owned;
    this.#cleaning = cleanUpAfterOthers(premises.sessionsRoot);
    this.#pool = new Pool(options.config.poolSize, (link) => this.openLink(link));
  }

  get isolation(): Isolation {
    if (this.#isolation === null) throw new VivariumError('ENGINE_CLOSED', 'The engine has not started.');
    return this.#isolation;
  }

  /** Starts the zygote and fills the pool. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    const { ready } = await this.#template.get(signal);
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
    const { zygote } = await this.#template.get(signal);
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
    const template = await this.#template.settled();
    await template?.zygote.close(); // takes every session along
    await this.#cleaning;
    await removeGroups(this.#groupDirectories, `${this.#premises.instance}.`); // also of a zygote killed before it was ready
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await this.#owned.disposeAsync();
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new VivariumError('ENGINE_CLOSED', 'The host is closed. Create a new one.');
  }

  async #startZygote(signal?: AbortSignal): Promise<Template> {
    const { process, name } = this.#launcher.next();
    const template = await Zygote.start(process, signal);
    this.#groupDirectories = template.ready.groupDirectories;
    const cleaned = template.zygote.exited.then(async () => {
      this.#template.forget();
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
