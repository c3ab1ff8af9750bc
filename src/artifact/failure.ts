/** Failures of the disk or the database of the artifact store, in our words. */
import { VivariumError } from '../errors.ts';
import { sqliteCodeOf } from '../sqlite.ts';
import { describeFault } from '../workspace/errno.ts';

/** Result codes of SQLite, and what to do. */
const DATABASE_FAULTS: ReadonlyMap<number, string> = new Map([
  [5, 'another process has locked the database. Try again when it is done'],
  [8, 'the database may not be written. Check the permissions of the data directory'],
  [10, 'the database could not be read or written. Check the disk of the data directory, and that it has room'],
  [11, 'the database is damaged. Move the directory `artifacts` of the data directory away, and start again'],
  [13, 'no space left on device. Free space on the disk of the data directory'],
  [14, 'the database could not be opened. Check the data directory, and the limit on open files (`ulimit -n`)'],
  [26, 'the database is damaged. Move the directory `artifacts` of the data directory away, and start again'],
]);

/** The error that a caller of the store gets. Errors of ours pass as they are. */
export function storeFailure(error: unknown): VivariumError {
  if (error instanceof VivariumError) return error;
  const known = DATABASE_FAULTS.get(sqliteCodeOf(error) ?? 0) ?? describeFault(error);
  const reason = known ?? `${messageOf(error)}. Check the data directory and its disk`;
  return new VivariumError('STORAGE_FAILED', `The artifact store failed: ${reason}.`, { cause: error });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
