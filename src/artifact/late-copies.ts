import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../errors.ts';
import type { Artifact } from './artifact.ts';
import { messageOf } from './failure.ts';

/** The longest wait for copies when the store closes. The largest file that may be kept takes seconds on most disks. */
const CLOSE_MS = 60_000;
const MAX_FAILURES = 1000;

/** An artifact whose id is given away before its copy is made. */
export interface LateFacts {
  readonly id: string;
  readonly name: string;
  readonly sessionId: string;
  readonly clientId: string | null;
}

interface Pending extends LateFacts {
  readonly copying: Promise<Artifact>;
}

interface Failure extends LateFacts {
  readonly error: VivariumError;
}

/** Copies that are made after the answers of their runs, those of a session one after the other. */
export class LateCopies {
  readonly #pending = new Map<string, Pending>();
  /** The last copies that could not be made. */
  readonly #failures = new Map<string, Failure>();
  readonly #stop = new AbortController();

  /** `copy` starts when the earlier copies of the session are made. The promise that is returned need not be awaited. */
  add(facts: LateFacts, copy: (signal: AbortSignal) => Promise<Artifact>): Promise<Artifact> {
    const before = this.#ofSession(facts.sessionId).at(-1);
    const copying = this.#copy(facts, before, copy);
    copying.catch(() => undefined); // opening the artifact reports it
    this.#pending.set(facts.id, { ...facts, copying });
    return copying;
  }

  /** Resolves when the copy is made, or if none of this id was promised to the client. Fails if it could not be made. */
  async settled(id: string, clientId: string | undefined): Promise<void> {
    const isTheirs = (facts: LateFacts | undefined): boolean =>
      facts !== undefined && (clientId === undefined || facts.clientId === clientId);
    const pending = this.#pending.get(id);
    if (isTheirs(pending)) await pending?.copying.catch(() => undefined); // it is among the failures now
    const failure = this.#failures.get(id);
    if (failure !== undefined && isTheirs(failure)) throw failure.error;
  }

  /** Resolves when no copy of the session is under way any more. */
  async settledOf(sessionId: string): Promise<void> {
    await Promise.allSettled(this.#ofSession(sessionId).map(({ copying }) => copying));
  }

  /** Waits for the copies that are under way, and gives up those that take too long. */
  async close(waitMs = CLOSE_MS): Promise<void> {
    const all = Promise.allSettled([...this.#pending.values()].map(({ copying }) => copying));
    const given = new AbortController();
    await Promise.race([all, sleep(waitMs, undefined, { signal: given.signal }).catch(() => undefined)]);
    given.abort(); // ends the wait if the copies are made
    this.#stop.abort(
      new VivariumError('STORAGE_FAILED', 'The host was closed before the copy was made. Run it again.'),
    );
    await all;
  }

  async #copy(
    facts: LateFacts,
    before: Pending | undefined,
    copy: (signal: AbortSignal) => Promise<Artifact>,
  ): Promise<Artifact> {
    await before?.copying.catch(() => undefined); // told to those who ask for it
    try {
      return await copy(this.#stop.signal);
    } catch (error) {
      throw this.#fail(facts, error);
    } finally {
      this.#pending.delete(facts.id);
    }
  }

  #fail(facts: LateFacts, cause: unknown): VivariumError {
    const reason = `The copy of "${facts.name}" could not be made. ${messageOf(cause)}`;
    const code = cause instanceof VivariumError ? cause.code : 'STORAGE_FAILED';
    const error = new VivariumError(code, reason, { cause });
    this.#failures.set(facts.id, { ...facts, error });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_FAILURES && oldest !== undefined) this.#failures.delete(oldest);
    return error;
  }

  #ofSession(sessionId: string): Pending[] {
    return [...this.#pending.values()].filter((pending) => pending.sessionId === sessionId);
  }
}
