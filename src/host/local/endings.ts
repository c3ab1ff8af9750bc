import { VivariumError } from '../../errors.ts';

/** How a session came to its end. */
export interface Ending {
  /** Completes the sentence "Session x …". */
  readonly what: string;
  /** Nobody asked for the end, so its client may still rely on its variables. */
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
  /** Undefined for a session that was found only by its id. */
  readonly key?: string | undefined;
  readonly clientId?: string | undefined;
}

/** Remembers how the last sessions ended, for callers that still refer to them. */
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

  /** How the session ended. With a client, undefined for another client's session. */
  of(id: string, clientId?: string): Ending | undefined {
    const ended = this.#byId.get(id);
    return clientId === undefined || ended?.clientId === clientId ? ended : undefined;
  }

  /** The id is in use again. */
  forget(id: string): void {
    this.#byId.delete(id);
  }

  /** Why the session of this key, on which its client still relies, is gone. Reported once. */
  takeLoss(key: string): Ending | undefined {
    const ending = this.#byKey.get(key);
    this.#byKey.delete(key);
    return ending;
  }
}

function remember<T>(endings: Map<string, T>, name: string, ending: T, capacity: number): void {
  endings.delete(name); // otherwise the entry would keep its old position in the map
  endings.set(name, ending);
  const [oldest] = endings.keys();
  if (endings.size > capacity && oldest !== undefined) endings.delete(oldest);
}

/** Uses the largest unit that gives a whole number: 90 minutes, 20 seconds, 5 ms. */
export function describeDuration(ms: number): string {
  if (ms % 1000 !== 0 || ms === 0) return `${ms} ms`;
  const [amount, unit] = ms % 60_000 === 0 ? [ms / 60_000, 'minute'] : [ms / 1000, 'second'];
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`;
}
