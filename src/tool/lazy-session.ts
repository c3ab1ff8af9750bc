import type { Session } from '../session/session.ts';

/** A session that is opened when first needed, and opened anew where it has ended. */
export class LazySession {
  readonly #open: () => Promise<Session>;
  #opening: Promise<Session> | undefined;

  constructor(open: () => Promise<Session>) {
    this.#open = open;
  }

  /** However many ask at once, it is one session. */
  async get(): Promise<Session> {
    const opening = (this.#opening ??= this.#begin());
    const session = await opening;
    if (!session.isClosed) return session;
    if (this.#opening === opening) this.#opening = this.#begin();
    return (this.#opening ??= this.#begin());
  }

  get isBegun(): boolean {
    return this.#opening !== undefined;
  }

  async close(): Promise<void> {
    const session = await this.#opening?.catch(() => undefined); // reported to who opened it
    this.#opening = undefined;
    await session?.close();
  }

  #begin(): Promise<Session> {
    const opening = this.#open();
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined; // the next call tries again
    });
    return opening;
  }
}
