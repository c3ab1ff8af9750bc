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

/** Remembers how the last sessions ended, to answer those who come back for them. */
export class Endings {
  readonly #capacity: number;
  readonly #byId = new Map<string, Ending>();
  readonly #byKey = new Map<string, Ending>();

  constructor(capacity = 1000) {
    this.#capacity = capacity;
  }

  add({ id, key }: { readonly id: string; readonly key?: string | undefined }, ending: Ending): void {
    remember(this.#byId, id, ending, this.#capacity);
    if (key !== undefined && ending.isUnexpected) remember(this.#byKey, key, ending, this.#capacity);
  }

  of(id: string): Ending | undefined {
    return this.#byId.get(id);
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

function remember(endings: Map<string, Ending>, name: string, ending: Ending, capacity: number): void {
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
