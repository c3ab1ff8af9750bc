import { VivariumError } from '../errors.ts';

/** How a session came to its end. */
export interface Ending {
  /** Completes "Session x …". */
  readonly what: string;
  /** Whether somebody may still count on its variables, since nobody asked for the end. */
  readonly isUnexpected: boolean;
}

export const CLOSED: Ending = { what: 'was closed', isUnexpected: false };

export function evictedAfter(idleMs: number): Ending {
  return { what: `was evicted after ${describeDuration(idleMs)} without use`, isUnexpected: true };
}

export function failedWith(message: string): Ending {
  return { what: `was lost: ${message}`, isUnexpected: true };
}

export function sessionClosed(id: string, ending: Ending): VivariumError {
  return new VivariumError(
    'SESSION_CLOSED',
    `Session ${id} ${ending.what}. Its variables are gone; create a new session.`,
  );
}

interface Ended {
  readonly id: string;
  /** Undefined where it was found by its id only. */
  readonly key?: string | undefined;
  readonly clientId?: string | undefined;
}

/** Remembers how the last sessions ended, to answer those who come back for them. */
export class Endings {
  readonly #capacity: number;
  readonly #byId = new Map<string, Ending & Ended>();
  readonly #byKey = new Map<string, Ending>();

  constructor(capacity = 1000) {
    this.#capacity = capacity;
  }

  add(ended: Ended, ending: Ending): void {
    remember(this.#byId, ended.id, { ...ended, ...ending }, this.#capacity);
    if (ended.key !== undefined && ending.isUnexpected) remember(this.#byKey, ended.key, ending, this.#capacity);
  }

  /** Who says which client asks hears only of what was that client's. */
  of(id: string, clientId?: string): Ending | undefined {
    const ended = this.#byId.get(id);
    return clientId === undefined || ended?.clientId === clientId ? ended : undefined;
  }

  /** The id lives again. */
  forget(id: string): void {
    this.#byId.delete(id);
  }

  /** Why the session of this key, which its user believes to be there, is gone; told once. */
  takeLoss(key: string): Ending | undefined {
    const ending = this.#byKey.get(key);
    this.#byKey.delete(key);
    return ending;
  }
}

function remember<T>(endings: Map<string, T>, name: string, ending: T, capacity: number): void {
  endings.delete(name); // a map keeps its order by first insertion
  endings.set(name, ending);
  const [oldest] = endings.keys();
  if (endings.size > capacity && oldest !== undefined) endings.delete(oldest);
}

/** In the largest unit that gives a round number: 90 minutes, 20 seconds, 5 ms. */
export function describeDuration(ms: number): string {
  if (ms % 1000 !== 0 || ms === 0) return `${ms} ms`;
  const [amount, unit] = ms % 60_000 === 0 ? [ms / 60_000, 'minute'] : [ms / 1000, 'second'];
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`;
}
