import { randomUUID } from 'node:crypto';
import type { Config } from '../../config.ts';
import type { ArtifactStore } from '../../artifact/store.ts';
import type { Environment } from '../../environment/environment.ts';
import { VivariumError } from '../../errors.ts';
import type { PythonError } from '../../execution/outcome.ts';
import { describeDuration, Endings, sessionClosed } from './endings.ts';
import { keyOfId } from '../keys.ts';
import { HostedSession } from './hosted-session.ts';
import type { Environments } from './environments.ts';
import type { SessionSettings } from '../options.ts';
import type { SessionLog } from './session-log.ts';
import { unlessAborted } from './unless-aborted.ts';

type Caps = Pick<Config, 'maxSessions' | 'maxSessionsPerClient' | 'maxQueue' | 'idleMs'>;

/** A session to be opened. */
export interface SessionPlan {
  readonly settings: SessionSettings;
  /** Without one it is found only by its id. */
  readonly key?: string;
  /** It runs once: it needs no twins, and nobody asks later how it ended. */
  readonly isOnce?: boolean;
  /** Aborting it gives up opening the session. */
  readonly signal?: AbortSignal | undefined;
}

/** Counts against the caps from the request for a session until its processes are gone. */
interface Slot {
  readonly clientId: string | undefined;
  readonly opening: Promise<HostedSession>;
  session: HostedSession | undefined;
  /** Resolves when the slot is free again. */
  readonly left: PromiseWithResolvers<void>;
}

interface SessionsParts {
  readonly environments: Environments;
  readonly store: ArtifactStore;
  /** No copies are kept of what runs produce. */
  readonly keepsNothing?: boolean;
  readonly caps: Caps;
  /** A run has ended with an error of Python. */
  readonly onError?: ((error: PythonError, environment: Environment) => void) | undefined;
  readonly log?: SessionLog | undefined;
}

/** All sessions of a host: how many there may be, how they are found, and how the ended ones ended. */
export class Sessions implements AsyncDisposable {
  readonly #environments: Environments;
  readonly #store: ArtifactStore;
  readonly #keepsNothing: boolean;
  readonly #caps: Caps;
  readonly #onError: SessionsParts['onError'];
  readonly #log: SessionLog | undefined;
  readonly #slots = new Map<string, Slot>();
  readonly #byKey = new Map<string, Promise<HostedSession>>();
  readonly #endings = new Endings();
  #closing: Promise<void> | undefined;

  constructor({ environments, store, keepsNothing = false, caps, onError, log }: SessionsParts) {
    this.#environments = environments;
    this.#store = store;
    this.#keepsNothing = keepsNothing;
    this.#caps = caps;
    this.#onError = onError;
    this.#log = log;
  }

  async open(plan: SessionPlan): Promise<HostedSession> {
    const { settings } = plan;
    const { clientId, id = randomUUID() } = settings;
    await this.#whenLeft(id, plan);
    this.#admit(id, clientId);
    const startedMs = performance.now();
    const opening = this.#start(id, plan);
    const slot: Slot = { clientId, opening, session: undefined, left: Promise.withResolvers() };
    this.#slots.set(id, slot);
    try {
      slot.session = await slot.opening;
      this.#endings.forget(id);
      this.#log?.opened(slot.session, performance.now() - startedMs);
      return slot.session;
    } catch (error) {
      this.#leave(id);
      throw error;
    }
  }

  /** The session of a key, opened if there is none. Calls that come at once get the same session. */
  async ofKey(key: string, settings: () => SessionSettings): Promise<HostedSession> {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const opening = this.open({ settings: settings(), key });
    this.#byKey.set(key, opening);
    opening.catch(() => this.#byKey.delete(key)); // reported to those who wait for it
    return opening;
  }

  /** An open session. To a client, another client's session is the same as one that never existed. */
  get(id: string, clientId?: string): HostedSession {
    const session = this.#slots.get(id)?.session;
    if (session !== undefined && isOpenTo(session, clientId)) return session;
    const ending = this.#endings.of(id, clientId);
    if (ending !== undefined) throw sessionClosed(id, ending);
    throw new VivariumError(
      'SESSION_NOT_FOUND',
      `There is no session ${JSON.stringify(id)}. Create it with \`createSession({ id })\`, or list the open ones with \`listSessions()\`.`,
    );
  }

  /** The open sessions: all of them, or those of one client. */
  list(clientId?: string): HostedSession[] {
    return [...this.#slots.values()].flatMap(({ session }) =>
      session && isOpenTo(session, clientId) ? [session] : [],
    );
  }

  /** Closes every session, including those that are being opened or closed. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const openings = [...this.#slots.values()].map(({ opening }) => opening);
    const closings = openings.map(async (opening) => {
      const session = await opening.catch(() => undefined); // reported to the caller of `open`
      await session?.close();
    });
    const failures = (await Promise.allSettled(closings)).flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    if (failures.length > 0) throw new AggregateError(failures, 'Some sessions could not be closed.');
  }

  async #start(id: string, { settings, key, isOnce = false, signal }: SessionPlan): Promise<HostedSession> {
    const { limits, mounts, network, secrets, readOnly, env, packages } = settings;
    const confinement = { limits, mounts, network, secrets, readOnly, env, packages };
    using stack = new DisposableStack();
    const { engine, environment } = stack.use(await this.#environments.use(settings.environment, signal));
    const inner = await engine.open({ id, ...confinement, twins: !isOnce, ...(signal && { signal }) });
    const inUse = stack.move(); // until the session is gone
    const names = { id, clientId: settings.clientId ?? null };
    const loss = key === undefined ? undefined : this.#endings.takeLoss(key);
    return new HostedSession(
      {
        inner,
        key: key ?? keyOfId(id),
        settings,
        maxQueue: this.#caps.maxQueue,
        artifacts: this.#store.writerFor(settings.clientId ?? null),
        keepsNothing: this.#keepsNothing,
        pythonVersion: environment.version,
        loss,
        isForOneRun: isOnce,
      },
      {
        onEnd: (ending) => {
          if (key !== undefined) this.#byKey.delete(key);
          this.#log?.ended(names, ending);
          if (!isOnce) this.#endings.add({ id, key, clientId: settings.clientId }, ending);
        },
        onGone: () => {
          inUse.dispose();
          this.#leave(id);
        },
        onError: (error) => this.#onError?.(error, environment),
        onRun: this.#log && ((run) => this.#log?.ran(names, run)),
      },
    );
  }

  #leave(id: string): void {
    this.#slots.get(id)?.left.resolve();
    this.#slots.delete(id);
  }

  /** Waits for slots of sessions that are closing: those are free soon. */
  async #whenLeft(id: string, { settings: { clientId }, signal }: SessionPlan): Promise<void> {
    for (let leaving = this.#leaving(id, clientId); leaving.length > 0; leaving = this.#leaving(id, clientId)) {
      await unlessAborted(Promise.race(leaving), signal);
    }
  }

  /** Of the slots that are in the way, those that will soon be free. */
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

  /** Refuses at once what cannot be opened: a slot that is in use may never become free. */
  #admit(id: string, clientId: string | undefined): void {
    const { maxSessions, maxSessionsPerClient } = this.#caps;
    if (this.#closing !== undefined) {
      throw new VivariumError('ENGINE_CLOSED', 'The host is closed. Create a new one.');
    }
    if (this.#slots.has(id)) {
      throw new VivariumError(
        'SESSION_EXISTS',
        `The id ${id} is in use by another session. Choose another id, or get that session with \`getSession\`.`,
      );
    }
    const ways = `Close one that is not needed, ${this.#describeEviction()}, or raise`;
    if (this.#slots.size >= maxSessions) {
      throw new VivariumError(
        'SESSION_LIMIT',
        `${this.#slots.size} sessions are open, the most that this host allows. ${ways} \`maxSessions\` (${maxSessions}).`,
      );
    }
    const own = [...this.#slots.values()].filter((slot) => slot.clientId === clientId).length;
    if (clientId !== undefined && own >= maxSessionsPerClient) {
      throw new VivariumError(
        'SESSION_LIMIT',
        `Client ${clientId} has ${own} sessions open, the most that one client may have. ${ways} \`maxSessionsPerClient\` (${maxSessionsPerClient}).`,
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

function isOpenTo(session: HostedSession, clientId: string | undefined): boolean {
  return !session.isClosed && (clientId === undefined || session.clientId === clientId);
}
