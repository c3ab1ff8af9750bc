/** What all users of `node:sqlite` share. Its calls are synchronous: one that waited for a lock would stop the event loop. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Goes with every connection: SQLite itself never waits for a lock. */
export const NO_WAIT = { timeout: 0 } as const;

const RETRY_MS = 5;
const SHORT_MS = 50;
const SQLITE_BUSY = 5;

/** The primary result code of SQLite, without its details; undefined if the error is not from SQLite. */
export function sqliteCodeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return sqliteCodeOf(error) === SQLITE_BUSY;
}

/** How long the users of one database wait for other processes. */
export class Patience {
  readonly #ms: number;
  #isBlocked = false;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /**
   * Does `work` as soon as no other connection is in the way, or fails with SQLite's own error. After a wait that was in
   * vain the next ones are short, so that a series of calls does not wait for each.
   */
  async whenFree<T>(work: () => T): Promise<T> {
    const patienceMs = this.#isBlocked ? SHORT_MS : this.#ms;
    for (const deadline = performance.now() + patienceMs; ;) {
      try {
        const result = work();
        this.#isBlocked = false;
        return result;
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (performance.now() >= deadline) {
          this.#isBlocked = true;
          throw error;
        }
        await sleep(RETRY_MS);
      }
    }
  }
}
