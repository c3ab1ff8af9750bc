import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import type { ArtifactStore } from '../artifact/store.ts';
import type { Engine } from '../engine/engine.ts';
import { VivariumError } from '../errors.ts';
import { describeDuration, Endings, sessionClosed } from './endings.ts';
import { keyOfId } from './keys.ts';
import type { Settings } from './options.ts';
import { Session } from './session.ts';

type Caps = Pick<Config, 'maxSessions' | 'maxSessionsPerClient' | 'maxQueue' | 'idleMs'>;

/** A session to be opened. */
export interface Plan {
  readonly settings: Settings;
  /** Without one it is found by its id only. */
  readonly key?: string;
  /** It runs once: no twins guard its state, and nobody will ask what became of it. */
  readonly isOnce?: boolean;
  /** Gives up opening. */
  readonly signal?: AbortSignal | undefined;
}

/** A place under the caps, held from the wish for a session until its processes are gone. */
interface Slot {
  readonly clientId: string | undefined;
  readonly opening: Promise<Session>;
  session: Session | undefined;
  /** The place is free again. */
  readonly left: PromiseWithResolvers<void>;
}

interface SessionsParts {
  readonly engine: Engine;
  readonly store: ArtifactStore;
  /** No copies of what runs produce are kept. */
  readonly keepsNothing?: boolean;
  readonly pythonVersion: string;
  readonly caps: Caps;
}

/** All sessions of an interpreter: how many there may be, how they are found, and what became of those that ended. */
export class Sessions implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #store: ArtifactStore;
  readonly #keepsNothing: boolean;
  readonly #pythonVersion: string;
  readonly #caps: Caps;
  readonly #slots = new Map<string, Slot>();
  readonly #byKey = new Map<string, Promise<Session>>();
  readonly #endings = new Endings();
  #closing: Promise<void> | undefined;

  constructor({ engine, store, keepsNothing = false, pythonVersion, caps }: SessionsParts) {
    this.#engine = engine;
    this.#store = store;
    this.#keepsNothing = keepsNothing;
    this.#pythonVersion = pythonVersion;
    this.#caps = caps;
  }

  async open(plan: Plan): Promise<Session> {
    const { settings } = plan;
    const { clientId, id = randomUUID() } = settings;
    await this.#whenLeft(id, plan);
    this.#admit(id, clientId);
    const opening = this.#start(id, plan);
    const slot: Slot = { clientId, opening, session: undefined, left: Promise.withResolvers() };
    this.#slots.set(id, slot);
    try {
      slot.session = await slot.opening;
      this.#endings.forget(id);
      return slot.session;
    } catch (error) {
      this.#leave(id);
      throw error;
    }
  }

  /** The session of a key, opened if there is none. However many ask at once, it is one session. */
  async ofKey(key: string, settings: () => Settings): Promise<Session> {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const opening = this.open({ settings: settings(), key });
    this.#byKey.set(key, opening);
    opening.catch(() => this.#byKey.delete(key)); // reported to those who wait for it
    return opening;
  }

  /** A session by its id. Who says which client asks sees only what is that client's. */
  get(id: string, clientId?: string): Session {
    const session = this.#slots.get(id)?.session;
    const isTheirs = clientId === undefined || session?.clientId === clientId;
    if (session !== undefined && !session.isClosed && isTheirs) return session;
    const ending = this.#endings.of(id, clientId);
    if (ending !== undefined) throw sessionClosed(id, ending);
    throw new VivariumError(
      'SESSION_NOT_FOUND',
      `There is no session ${JSON.stringify(id)}. Create it with \`createSession({ id })\`, or list those there are with \`listSessions()\`.`,
    );
  }

  list(): Session[] {
    return [...this.#slots.values()].flatMap(({ session }) => (session && !session.isClosed ? [session] : []));
  }

  /** Closes every session, also those that are being opened or closed. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const openings = [...this.#slots.values()].map(({ opening }) => opening);
    const closings = openings.map(async (opening) => {
      const session = await opening.catch(() => undefined); // reported to who asked for it
      await session?.close();
    });
    const failures = (await Promise.allSettled(closings)).flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    if (failures.length > 0) throw new AggregateError(failures, 'sessions could not be closed');
  }

  async #start(id: string, { settings, key, isOnce = false, signal }: Plan): Promise<Session> {
    const { limits, mounts, network, readOnly, environment } = settings;
    const walls = { limits, mounts, network, readOnly, environment };
    const inner = await this.#engine.open({ id, ...walls, twins: !isOnce, ...(signal && { signal }) });
    const loss = key === undefined ? undefined : this.#endings.takeLoss(key);
    return new Session(
      {
        inner,
        key: key ?? keyOfId(id),
        settings,
        maxQueue: this.#caps.maxQueue,
        store: this.#store,
        keepsNothing: this.#keepsNothing,
        pythonVersion: this.#pythonVersion,
        loss,
        isForOneRun: isOnce,
      },
      {
        onEnd: (ending) => {
          if (key !== undefined) this.#byKey.delete(key);
          if (!isOnce) this.#endings.add({ id, key, clientId: settings.clientId }, ending);
        },
        onGone: () => this.#leave(id),
      },
    );
  }

  #leave(id: string): void {
    this.#slots.get(id)?.left.resolve();
    this.#slots.delete(id);
  }

  /** A place that is being left is worth waiting for: what closes is gone soon. */
  async #whenLeft(id: string, { settings: { clientId }, signal }: Plan): Promise<void> {
    for (let leaving = this.#leaving(id, clientId); leaving.length > 0; leaving = this.#leaving(id, clientId)) {
      await unlessAborted(Promise.race(leaving), signal);
    }
  }

  /** The places one of which has to be free first, as far as they will be. */
  #leaving(id: string, clientId: string | undefined): readonly Promise<void>[] {
    const { maxSessions, maxSessionsPerClient } = this.#caps;
    const same = this.#slots.get(id);
    if (same === undefined && this.#slots.size < Math.min(maxSessions, maxSessionsPerClient)) return [];
    const slots = same === undefined ? [...this.#slots.values()] : [same];
    const own = slots.filter((slot) => slot.clientId === clientId);
    const isClientFull = clientId !== undefined && own.length >= maxSessionsPerClient;
    if (same === undefined && this.#slots.size < maxSessions && !isClientFull) return [];
    return (isClientFull ? own : slots).flatMap(({ session, left }) => (session?.isClosed ? [left.promise] : []));
  }

  /** Refuses at once what cannot be opened; nobody waits for a place that may never come. */
  #admit(id: string, clientId: string | undefined): void {
    const { maxSessions, maxSessionsPerClient } = this.#caps;
    if (this.#closing !== undefined) {
      throw new VivariumError('ENGINE_CLOSED', 'The host is closed. Create a new one.');
    }
    if (this.#slots.has(id)) {
      throw new VivariumError(
        'SESSION_EXISTS',
        `There is a session ${id} already. Use it with \`getSession\`, or choose another id.`,
      );
    }
    const ways = `Close one that is not needed, ${this.#describeEviction()}, or raise`;
    if (this.#slots.size >= maxSessions) {
      throw new VivariumError(
        'SESSION_LIMIT',
        `${this.#slots.size} sessions are open, as many as may be. ${ways} \`maxSessions\` (${maxSessions}).`,
      );
    }
    const own = [...this.#slots.values()].filter((slot) => slot.clientId === clientId).length;
    if (clientId !== undefined && own >= maxSessionsPerClient) {
      throw new VivariumError(
        'SESSION_LIMIT',
        `Client ${clientId} has ${own} sessions open, as many as one client may. ${ways} \`maxSessionsPerClient\` (${maxSessionsPerClient}).`,
      );
    }
  }

  #describeEviction(): string {
    const { idleMs } = this.#caps;
    return idleMs === null
      ? 'set `idleMs` to have idle ones closed'
      : `wait (idle ones are closed after ${describeDuration(idleMs)})`;
  }
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  if (signal === undefined) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
