import { randomUUID } from 'node:crypto';
import { VivariumError } from '../../errors.ts';
import { resolveKey } from '../../host/keys.ts';
import type { SessionOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import type { CallerIdentity } from '../call.ts';
import { describeClosed, type LazyHost } from '../lazy.ts';

/** An interpreter of the toolset. It keeps its id when its session has to be opened again. */
export interface ToolsetInterpreter {
  readonly id: string;
  readonly context: CallerIdentity;
  /** The key of its client or chat; null if it can only be found by its id. */
  readonly key: string | null;
  opening: Promise<Session>;
  session: Session | null;
}

/** A session to run in, and why the previous one is gone, if it is. */
export interface LiveSession {
  readonly session: Session;
  readonly loss: string | null;
}

export interface InterpretersParts {
  readonly host: LazyHost;
  readonly optionsFor: (context: CallerIdentity) => Promise<SessionOptions>;
  readonly maxInterpreters: number;
}

/** Interpreters with an ended session that are remembered, so that they can be opened again under the same id. */
const MAX_ENDED = 1000;

/** The interpreters of a toolset: one for each client or chat, opened on first use, and those created on request. */
export class Interpreters {
  readonly #parts: InterpretersParts;
  readonly #entries = new Map<string, ToolsetInterpreter>();
  readonly #byKey = new Map<string, ToolsetInterpreter>();

  constructor(parts: InterpretersParts) {
    this.#parts = parts;
  }

  /** The interpreter of a client or chat. */
  ofContext(context: CallerIdentity): ToolsetInterpreter {
    const key = resolveKey(context);
    return this.#byKey.get(key) ?? this.#add(context, key);
  }

  /** The interpreter of a client or chat, if it has one already. */
  known(context: CallerIdentity): ToolsetInterpreter | undefined {
    return this.#byKey.get(resolveKey(context));
  }

  /** Creates an interpreter that can only be found by its id. */
  async create(context: CallerIdentity): Promise<string> {
    const entry = this.#add(context, null);
    await entry.opening;
    return entry.id;
  }

  /** A caller with a client or chat id finds only its own interpreters. One without ids is the program itself. */
  find(id: string, context: CallerIdentity): ToolsetInterpreter | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && isVisible(entry, context) ? entry : undefined;
  }

  has(entry: ToolsetInterpreter): boolean {
    return this.#entries.get(entry.id) === entry;
  }

  /** `running` means that the session is open, `pending` that it is being opened. */
  list(context: CallerIdentity): { readonly id: string; readonly status: 'running' | 'pending' }[] {
    return this.#open()
      .filter((entry) => isVisible(entry, context))
      .map(({ id, session }) => ({ id, status: session === null ? 'pending' : 'running' }));
  }

  /** Stops the code that runs now and starts fresh under the same id. Files stay. */
  async restart(entry: ToolsetInterpreter): Promise<void> {
    const session = await entry.opening;
    if (session.isClosed) {
      await this.live(entry);
    } else {
      await session.interrupt();
      await session.reset();
    }
  }

  /** Stops the code that runs now, if any. The variables stay. */
  async interrupt({ session }: ToolsetInterpreter): Promise<void> {
    if (session?.isClosed === false) await session.interrupt();
  }

  async delete(entry: ToolsetInterpreter): Promise<void> {
    this.#forget(entry);
    const session = await entry.opening.catch(() => undefined); // the call that opened it reports it
    await session?.close();
  }

  /** The session of an interpreter. If it has ended, a new one under the same id. */
  async live(entry: ToolsetInterpreter): Promise<LiveSession> {
    const { opening } = entry;
    const session = await opening;
    if (!session.isClosed) return { session, loss: null };
    const loss = await describeClosed(session);
    const isFirst = entry.opening === opening; // of the callers that wait at the same time
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

  #add(context: CallerIdentity, key: string | null): ToolsetInterpreter {
    const entry: ToolsetInterpreter = { id: randomUUID(), context, key, opening: NEVER, session: null };
    this.#begin(entry);
    this.#entries.set(entry.id, entry);
    if (key !== null) this.#byKey.set(key, entry);
    this.#forgetOldest();
    return entry;
  }

  /** Opens the session. The id is free only once every process of the ended session is gone. */
  #begin(entry: ToolsetInterpreter, ended?: Session): void {
    this.#admit();
    const gone = ended?.close().catch(() => undefined); // the call that ended it reports it
    entry.session = null;
    entry.opening = this.#start(entry, gone);
    entry.opening.then(
      (session) => (entry.session = session),
      () => this.#forget(entry), // reported to those who wait
    );
  }

  async #start({ id, context }: ToolsetInterpreter, gone: Promise<void> | undefined): Promise<Session> {
    await gone;
    const host = await this.#parts.host.get();
    const { clientId } = context;
    const options = await this.#parts.optionsFor(context);
    return host.createSession({ id, ...(clientId !== undefined && { clientId }), ...options });
  }

  #admit(): void {
    const { maxInterpreters } = this.#parts;
    const count = this.#open().length;
    if (count < maxInterpreters) return;
    throw new VivariumError(
      'SESSION_LIMIT',
      `${count} interpreters are open, which is the most that this toolset allows. Delete one, or raise \`maxInterpreters\` (${maxInterpreters}).`,
    );
  }

  #open(): ToolsetInterpreter[] {
    return [...this.#entries.values()].filter(({ session }) => session === null || !session.isClosed);
  }

  #forgetOldest(): void {
    const ended = [...this.#entries.values()].filter(({ session }) => session?.isClosed);
    for (const entry of ended.slice(0, -MAX_ENDED)) this.#forget(entry);
  }

  #forget(entry: ToolsetInterpreter): void {
    if (!this.has(entry)) return;
    this.#entries.delete(entry.id);
    if (entry.key !== null) this.#byKey.delete(entry.key);
  }
}

/** A session ended, and no new one could be opened in its place. */
export class RestartFailure extends Error {
  override readonly cause: VivariumError;

  constructor(loss: string, cause: VivariumError) {
    super(loss);
    this.cause = cause;
  }
}

/** The value of `opening` before the session is opened. */
const NEVER = new Promise<never>(() => undefined);

function isVisible(entry: ToolsetInterpreter, context: CallerIdentity): boolean {
  const asking = ownerOf(context);
  return asking === null || asking === ownerOf(entry.context);
}

function ownerOf({ clientId, chatId, sessionId }: CallerIdentity): string | null {
  if (clientId !== undefined) return resolveKey({ clientId });
  return chatId === undefined && sessionId === undefined ? null : resolveKey({ chatId, sessionId });
}
