import { randomUUID } from 'node:crypto';
import { VivariumError } from '../../errors.ts';
import { resolveKey } from '../../host/keys.ts';
import type { SessionOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import type { Caller } from '../context.ts';
import type { LazyEngine } from '../place/lazy-engine.ts';
import { whyGone } from '../place/lazy-session.ts';

/** An interpreter of the toolset. It keeps its id when its session had to be opened anew. */
export interface Entry {
  readonly id: string;
  readonly context: Caller;
  /** Of the client or chat that it is found by; null for one that is found by its id only. */
  readonly key: string | null;
  opening: Promise<Session>;
  session: Session | null;
}

/** A session to run in, and why the one before it is gone, if so. */
export interface Live {
  readonly session: Session;
  readonly loss: string | null;
}

export interface InterpretersParts {
  readonly engine: LazyEngine;
  readonly optionsFor: (context: Caller) => Promise<SessionOptions>;
  readonly maxInterpreters: number;
}

/** So many whose session has ended are remembered, to be opened again for who comes back. */
const MAX_ENDED = 1000;

/** The interpreters of a toolset: one for each client or chat, opened when first used, and those that were asked for. */
export class Interpreters {
  readonly #parts: InterpretersParts;
  readonly #entries = new Map<string, Entry>();
  readonly #byKey = new Map<string, Entry>();

  constructor(parts: InterpretersParts) {
    this.#parts = parts;
  }

  /** The interpreter of a client or chat. */
  ofContext(context: Caller): Entry {
    const key = resolveKey(context);
    return this.#byKey.get(key) ?? this.#add(context, key);
  }

  /** The same, if there is one already. */
  known(context: Caller): Entry | undefined {
    return this.#byKey.get(resolveKey(context));
  }

  /** One more, found by its id only. */
  async create(context: Caller): Promise<string> {
    const entry = this.#add(context, null);
    await entry.opening;
    return entry.id;
  }

  /** Who says which client or chat asks sees only what is theirs; who says nothing is the program itself. */
  find(id: string, context: Caller): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && isVisible(entry, context) ? entry : undefined;
  }

  has(entry: Entry): boolean {
    return this.#entries.get(entry.id) === entry;
  }

  /** Those that are alive, which is what `running` means here, and those that are being opened. */
  list(context: Caller): { readonly id: string; readonly status: 'running' | 'pending' }[] {
    return this.#open()
      .filter((entry) => isVisible(entry, context))
      .map(({ id, session }) => ({ id, status: session === null ? 'pending' : 'running' }));
  }

  /** A fresh interpreter under the same id, whatever runs in it now; files stay. */
  async restart(entry: Entry): Promise<void> {
    const session = await entry.opening;
    if (session.isClosed) {
      await this.live(entry);
    } else {
      await session.interrupt();
      await session.reset();
    }
  }

  /** Stops the code that runs now, if any does, and keeps the variables. */
  async interrupt({ session }: Entry): Promise<void> {
    if (session?.isClosed === false) await session.interrupt();
  }

  async delete(entry: Entry): Promise<void> {
    this.#forget(entry);
    const session = await entry.opening.catch(() => undefined); // reported to who opened it
    await session?.close();
  }

  /** The session of an entry; a new one under the same id where the last has ended. */
  async live(entry: Entry): Promise<Live> {
    const { opening } = entry;
    const session = await opening;
    if (!session.isClosed) return { session, loss: null };
    const loss = await whyGone(session);
    const isFirst = entry.opening === opening; // of those who came at the same time
    try {
      if (isFirst) this.#begin(entry, session);
      return { session: await entry.opening, loss: isFirst ? loss : null };
    } catch (error) {
      throw error instanceof VivariumError ? new RestartFailure(loss, error) : error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.delete(entry)));
  }

  #add(context: Caller, key: string | null): Entry {
    const entry: Entry = { id: randomUUID(), context, key, opening: NEVER, session: null };
    this.#begin(entry);
    this.#entries.set(entry.id, entry);
    if (key !== null) this.#byKey.set(key, entry);
    this.#forgetOldest();
    return entry;
  }

  /** Opens the session of an entry. Its id is free when the session that had it is gone to its last process. */
  #begin(entry: Entry, ended?: Session): void {
    this.#admit();
    const gone = ended?.close().catch(() => undefined); // whoever ended it meets the error
    entry.session = null;
    entry.opening = this.#start(entry, gone);
    entry.opening.then(
      (session) => (entry.session = session),
      () => this.#forget(entry), // reported to those who wait for it
    );
  }

  async #start({ id, context }: Entry, gone: Promise<void> | undefined): Promise<Session> {
    await gone;
    const engine = await this.#parts.engine.get();
    const { clientId } = context;
    const options = await this.#parts.optionsFor(context);
    return engine.createSession({ id, ...(clientId !== undefined && { clientId }), ...options });
  }

  #admit(): void {
    const { maxInterpreters } = this.#parts;
    const count = this.#open().length;
    if (count < maxInterpreters) return;
    throw new VivariumError(
      'SESSION_LIMIT',
      `${count} interpreters are open, as many as this toolset may have. Delete one that is not needed, or raise \`maxInterpreters\` (${maxInterpreters}).`,
    );
  }

  #open(): Entry[] {
    return [...this.#entries.values()].filter(({ session }) => session === null || !session.isClosed);
  }

  #forgetOldest(): void {
    const ended = [...this.#entries.values()].filter(({ session }) => session?.isClosed);
    for (const entry of ended.slice(0, -MAX_ENDED)) this.#forget(entry);
  }

  #forget(entry: Entry): void {
    if (!this.has(entry)) return;
    this.#entries.delete(entry.id);
    if (entry.key !== null) this.#byKey.delete(entry.key);
  }
}

/** A session ended, and no other could be opened in its place. */
export class RestartFailure extends Error {
  override readonly cause: VivariumError;

  constructor(loss: string, cause: VivariumError) {
    super(loss);
    this.cause = cause;
  }
}

/** In the place of a session before it is begun. */
const NEVER = new Promise<never>(() => undefined);

function isVisible(entry: Entry, context: Caller): boolean {
  const asking = ownerOf(context);
  return asking === null || asking === ownerOf(entry.context);
}

function ownerOf({ clientId, chatId, sessionId }: Caller): string | null {
  if (clientId !== undefined) return resolveKey({ clientId });
  return chatId === undefined && sessionId === undefined ? null : resolveKey({ chatId, sessionId });
}
