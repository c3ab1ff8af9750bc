/** A lock that lets one process at a time work on a directory. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, NO_WAIT } from '../sqlite.ts';

/** The kernel does not report when a file lock is released, so waiting means polling. */
const ASK_AGAIN_MS = 100;

export interface ClaimOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onWait: () => void;
}

/**
 * Holds the claim until disposed. It is a file lock of the operating system, taken through SQLite. It ends with its
 * process, however that dies, so there are no stale claims.
 */
export async function claim(file: string, { signal, onWait }: ClaimOptions): Promise<Disposable> {
  const database = new DatabaseSync(file, NO_WAIT);
  try {
    for (let attempt = 0; !tryLock(database); attempt += 1) {
      if (attempt === 0) onWait();
      await sleep(ASK_AGAIN_MS, undefined, signal ? { signal } : {});
    }
  } catch (error) {
    database.close();
    signal?.throwIfAborted();
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}

/** The claim, or undefined if another holds or shares it. */
export function tryClaim(file: string): Disposable | undefined {
  return openLocked(file, 'BEGIN EXCLUSIVE');
}

/** A claim that can be held together with others of its kind, or undefined if one holds it alone. */
export function tryShare(file: string): Disposable | undefined {
  return openLocked(file, 'BEGIN; SELECT count(*) FROM sqlite_master');
}

function openLocked(file: string, lock: string): Disposable | undefined {
  const database = new DatabaseSync(file, NO_WAIT);
  try {
    if (tryLock(database, lock)) return { [Symbol.dispose]: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
  database.close();
  return undefined;
}

function tryLock(database: DatabaseSync, lock = 'BEGIN EXCLUSIVE'): boolean {
  try {
    database.exec(lock);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}
