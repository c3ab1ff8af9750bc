import type { Mount } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { resolveKey } from '../../host/keys.ts';
import type { SessionOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { resolveAccess } from '../access.ts';
import { readContext } from '../call.ts';
import { LazySession, type LazyHost } from '../lazy.ts';
import type { CallContext } from '../tool.ts';
import { startCodeWith } from './start-code.ts';
import type { IPythonSettings } from './options.ts';
import { copyBack, copyIn, enterUserData, findUserData, type UserData } from './user-data.ts';

/** Conversations with an ended session that are remembered, so that they can be told when they come back. */
const MAX_ENDED = 1000;

/** The sessions of a notebook action: one for each caller, opened with its first run. */
export class NotebookSessions {
  readonly #host: LazyHost;
  readonly #settings: IPythonSettings;
  readonly #maxSessions: number | null;
  readonly #sessions = new Map<string, LazySession>();
  /** Sessions that work on a copy of the user's files. */
  readonly #copies = new WeakMap<Session, UserData>();
  #userData: UserData | undefined;

  constructor(host: LazyHost, settings: IPythonSettings, maxSessions: number | null) {
    this.#host = host;
    this.#settings = settings;
    this.#maxSessions = maxSessions;
  }

  /** How the newest session has the user's files. */
  get userData(): UserData | undefined {
    return this.#userData;
  }

  of(context: CallContext | undefined): LazySession {
    const key = keyOf(context);
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const session = new LazySession(() => this.#open());
    this.#sessions.set(key, session);
    this.#forgetOldest();
    return session;
  }

  async end(context: CallContext | undefined): Promise<void> {
    const key = keyOf(context);
    const session = this.#sessions.get(key);
    this.#sessions.delete(key);
    await session?.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }

  /** Copies what a run wrote to the user's directory, if its session works on a copy. Returns what went wrong. */
  async keepFiles(session: Session, execution: Execution): Promise<string[]> {
    const userData = this.#copies.get(session);
    if (userData === undefined || execution.files.length === 0) return [];
    return copyBack(userData, execution, (await this.#host.get()).artifacts);
  }

  async #open(): Promise<Session> {
    this.#claimPlace();
    const host = await this.#host.get();
    const { userDataDir, userDataWritable } = this.#settings;
    const named = userDataDir();
    const userData = named === '' ? undefined : await findUserData(named, userDataWritable);
    try {
      const session = await host.createSession(this.#optionsOf(host, userData));
      this.#userData = userData;
      return session;
    } catch (error) {
      const isRefused = error instanceof VivariumError && error.code === 'INIT_FAILED' && userData?.access === 'shared';
      if (!isRefused) throw error;
      return this.#openOnCopy(host, { ...userData, access: 'copied' });
    }
  }

  async #openOnCopy(host: Host, userData: UserData): Promise<Session> {
    const session = await host.createSession(this.#optionsOf(host, userData));
    try {
      await copyIn(userData, session);
    } catch (error) {
      await session.close();
      throw error;
    }
    this.#copies.set(session, userData);
    this.#userData = userData;
    return session;
  }

  /** The session that is about to be opened does not count yet. */
  #claimPlace(): void {
    const open = [...this.#sessions.values()].filter((session) => session.isStarted && !session.hasEnded).length;
    if (this.#maxSessions !== null && open >= this.#maxSessions) throw isFull(this.#maxSessions);
  }

  #optionsOf(host: Host, userData: UserData | undefined): SessionOptions {
    const isMounted = userData !== undefined && userData.access !== 'copied';
    const mounts = isMounted ? [mountOf(userData)] : [];
    return {
      initCode: startCodeWith(userData === undefined ? '' : enterUserData(userData)),
      ...resolveAccess(this.#settings.access, host, { mounts }),
    };
  }

  #forgetOldest(): void {
    const ended = [...this.#sessions].filter(([, session]) => session.hasEnded);
    for (const [key] of ended.slice(0, -MAX_ENDED)) this.#sessions.delete(key);
  }
}

function mountOf({ directory, access }: UserData): Mount {
  return { source: directory, target: directory, writable: access === 'shared' };
}

function keyOf(context: CallContext | undefined): string {
  return resolveKey(readContext(context));
}

function isFull(maxSessions: number): VivariumError {
  return new VivariumError(
    'SESSION_LIMIT',
    `All ${maxSessions} kernels are in use (max_kernels). End one with close_session, or raise max_kernels.`,
  );
}
