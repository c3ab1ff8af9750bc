/** Hosts and sessions that a tool opens when it first needs them. */
import { createUsualHost } from '../create-host.ts';
import { VivariumError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { HostOptions } from '../host/options.ts';
import type { Session } from '../host/session.ts';
import { Once } from '../once.ts';

/** The host of a tool: one that it was given and shares, or its own, which is opened on first use. */
export class LazyHost implements AsyncDisposable {
  readonly #given: Host | undefined;
  readonly #own: Once<Host>;
  #closing: Promise<void> | undefined;

  /** `local` is how its own host is set up if that is of this machine. */
  constructor(given: Host | undefined, local: HostOptions = {}) {
    this.#given = given;
    this.#own = new Once(() => createUsualHost(local));
  }

  /** The host, if it has been given or started. */
  get known(): Host | undefined {
    return this.#given ?? this.#own.value;
  }

  async get(): Promise<Host> {
    if (this.#closing !== undefined) {
      throw new VivariumError('ENGINE_CLOSED', 'The tool is closed. Create a new one.');
    }
    return this.#given ?? (await this.#own.get());
  }

  /** Closes the host only if it is the tool's own. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await (await this.#own.settled())?.close();
  }
}

/** A session that is opened on first use, and opened again after it has ended. */
export class LazySession {
  readonly #session: Once<Session>;
  #loss: string | null = null;

  constructor(open: () => Promise<Session>) {
    this.#session = new Once(open);
  }

  /** Callers at the same time get the same session. */
  async get(): Promise<Session> {
    const session = await this.#session.get();
    if (!session.isClosed) return session;
    const loss = await describeClosed(session);
    if (this.#session.value === session) {
      this.#session.forget();
      this.#loss = loss;
    }
    return this.#session.get();
  }

  /** Why the variables of the previous session are gone, if they are. Returned once. */
  takeLoss(): string | null {
    const loss = this.#loss;
    this.#loss = null;
    return loss;
  }

  /** Whether a session has been opened, or is being opened. */
  get isStarted(): boolean {
    return this.#session.isStarted;
  }

  /** Whether the session has ended and nobody has asked for it since. */
  get hasEnded(): boolean {
    return this.#session.value?.isClosed ?? false;
  }

  async close(): Promise<void> {
    const session = await this.#session.settled();
    this.#session.forget();
    await session?.close();
  }
}

/** Why a closed session was closed, in its own words. */
export async function describeClosed(session: Session): Promise<string> {
  try {
    await session.inspect();
  } catch (error) {
    if (error instanceof VivariumError) return error.message;
  }
  return `Session ${session.id} has ended.`;
}
