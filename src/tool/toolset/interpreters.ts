import { randomUUID } from 'node:crypto';
import { VivariumError } from '../../errors.ts';
import { resolveKey } from '../../session/keys.ts';
import type { SessionOptions } from '../../session/options.ts';
import type { Session } from '../../session/session.ts';
import type { LazyEngine } from '../lazy-engine.ts';
import type { CallContext } from '../tool.ts';

/** An interpreter of the toolset. It keeps its id when its session had to be opened anew. */
export interface Entry {
  readonly id: string;
  readonly context: CallContext;
  opening: Promise<Session>;
}

/** A session to run in, and why the one before it is gone, if so. */
export interface Live {
  readonly session: Session;
  readonly loss: string | null;
}

export interface InterpretersParts {
  readonly engine: LazyEngine;
  readonly optionsFor: (context: CallContext) => Promise<SessionOptions>;
  readonly maxInterpreters: number;
}

/** The interpreters of a toolset: one for each client or chat, opened when first used, and those that were asked for. */
export class Interpreters {
  readonly #parts: InterpretersParts;
  readonly #entries = new Map<string, Entry>();
  readonly #byKey = new Map<string, Entry>();

  constructor(parts: InterpretersParts) {
    this.#parts = parts;
  }

  /** The interpreter of a client or chat. */
  ofContext(context: CallContext): Entry {
    const key = resolveKey(context);
    const known = this.#byKey.get(key);
    if (known !== undefined && this.has(known)) return known;
    const entry = this.#add(context);
    this.#byKey.set(key, entry);
    return entry;
  }

  /** One more, found by its id only. */
  async create(context: CallContext): Promise<string> {
    const entry = this.#add(context);
    await entry.opening;
    return entry.id;
  }

  /** Who says which client or chat asks sees only what is theirs; who says nothing is the program itself. */
  find(id: string, context: CallContext): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && isVisible(entry, context) ? entry : undefined;
  }

  has(entry: Entry): boolean {
    return this.#entries.get(entry.id) === entry;
  }

  list(context: CallContext): string[] {
    return [...this.#entries.values()].filter((entry) => isVisible(entry, context)).map(({ id }) => id);
  }

  async delete(entry: Entry): Promise<void> {
    this.#entries.delete(entry.id);
    const session = await entry.opening.catch(() => undefined); // reported to who opened it
    await session?.close();
  }

  /** The session of an entry; a new one under the same id where the last has ended. */
  async live(entry: Entry): Promise<Live> {
    const { opening } = entry;
    const session = await opening;
    if (!session.isClosed) return { session, loss: null };
    const isFirst = entry.opening === opening;
    if (isFirst) this.#open(entry);
    return { session: await entry.opening, loss: isFirst ? await this.#whyGone(session) : null };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.delete(entry)));
  }

  #add(context: CallContext): Entry {
    const { maxInterpreters } = this.#parts;
    if (this.#entries.size >= maxInterpreters) {
      throw new VivariumError(
        'SESSION_LIMIT',
        `${this.#entries.size} interpreters are open, as many as this toolset may have. Delete one that is not needed, or raise \`maxInterpreters\` (${maxInterpreters}).`,
      );
    }
    const id = randomUUID();
    const entry: Entry = { id, context, opening: this.#start(id, context) };
    this.#entries.set(id, entry);
    this.#forgetIfItFails(entry);
    return entry;
  }

  #open(entry: Entry): void {
    entry.opening = this.#start(entry.id, entry.context);
    this.#forgetIfItFails(entry);
  }

  #forgetIfItFails(entry: Entry): void {
    entry.opening.catch(() => this.#entries.delete(entry.id)); // reported to those who wait for it
  }

  async #start(id: string, context: CallContext): Promise<Session> {
    const engine = await this.#parts.engine.get();
    const { clientId } = context;
    const options = await this.#parts.optionsFor(context);
    return engine.createSession({ id, ...(clientId !== undefined && { clientId }), ...options });
  }

  async #whyGone(session: Session): Promise<string> {
    try {
      await session.prepare();
    } catch (error) {
      if (error instanceof VivariumError) return error.message;
    }
    return `Session ${session.id} has ended.`;
  }
}

function isVisible(entry: Entry, context: CallContext): boolean {
  const asking = ownerOf(context);
  return asking === null || asking === ownerOf(entry.context);
}

function ownerOf({ clientId, chatId, sessionId }: CallContext): string | null {
  if (clientId !== undefined) return resolveKey({ clientId });
  return chatId === undefined && sessionId === undefined ? null : resolveKey({ chatId, sessionId });
}
