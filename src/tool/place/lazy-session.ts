import { VivariumError } from '../../errors.ts';
import type { Session } from '../../host/session.ts';

/** A session that is opened when first needed, and opened anew where it has ended. */
export class LazySession {
  readonly #open: () => Promise<Session>;
  #opening: Promise<Session> | undefined;
  #session: Session | undefined;
  #loss: string | null = null;

  constructor(open: () => Promise<Session>) {
    this.#open = open;
  }

  /** However many ask at once, it is one session. */
  async get(): Promise<Session> {
    const opening = (this.#opening ??= this.#begin());
    const session = await opening;
    if (!session.isClosed) return session;
    const loss = await whyGone(session);
    if (this.#opening === opening) {
      this.#opening = this.#begin();
      this.#loss = loss;
    }
    return (this.#opening ??= this.#begin());
  }

  /** Why the variables of a session before are gone, if they are; told once. */
  takeLoss(): string | null {
    const loss = this.#loss;
    this.#loss = null;
    return loss;
  }

  get isBegun(): boolean {
    return this.#opening !== undefined;
  }

  /** Whether nothing runs any more under it, until it is asked for again. */
  get isEnded(): boolean {
    return this.#session?.isClosed ?? false;
  }

  async close(): Promise<void> {
    const session = await this.#opening?.catch(() => undefined); // reported to who opened it
    this.#opening = undefined;
    await session?.close();
  }

  #begin(): Promise<Session> {
    const opening = this.#open();
    opening.then(
      (session) => (this.#session = session),
      () => {
        if (this.#opening === opening) this.#opening = undefined; // the next call tries again
      },
    );
    return opening;
  }
}

/** How a session that is closed came to its end, in its own words. */
export async function whyGone(session: Session): Promise<string> {
  try {
    await session.inspect();
  } catch (error) {
    if (error instanceof VivariumError) return error.message;
  }
  return `Session ${session.id} has ended.`;
}
