import { closeSync, mkdirSync, openSync } from 'node:fs';
import nodePath from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../errors.ts';

/** How long to wait for another process that writes. Its transactions take milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

const RETRY_MS = 5;
const SQLITE_BUSY = 5;

/**
 * One connection to an SQLite file. Its work is synchronous: a transaction that awaited something could leave another
 * connection of this process blocking the thread that the transaction needs to finish.
 */
export class SqliteFile implements Disposable {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
  }

  /** Creates the file if it is missing. It holds code and its results, so only the owner may read it. */
  static async open(path: string): Promise<SqliteFile> {
    try {
      mkdirSync(nodePath.dirname(path), { recursive: true, mode: 0o700 });
      closeSync(openSync(path, 'a', 0o600));
      const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
      const file = new SqliteFile(path, database);
      await file.#prepareFile();
      return file;
    } catch (error) {
      throw translate(path, error);
    }
  }

  all(query: string, values: readonly SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.#attempt(() => this.#prepare(query).all(...values));
  }

  /** Runs several statements without values. */
  execute(statements: string): void {
    this.#attempt(() => this.#database.exec(statements));
  }

  /** Runs `work` in a transaction that excludes other writers. */
  transact<T>(work: () => T): T {
    this.execute('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.execute('COMMIT');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.execute('ROLLBACK'); // when the disk is full, SQLite has rolled back already
      throw error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Every commit is synced to disk: losing a claim in a power cut would let code run twice. */
  async #prepareFile(): Promise<void> {
    try {
      await whenFree(() => this.#database.exec('PRAGMA journal_mode = WAL'));
      this.#database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  #prepare(query: string): StatementSync {
    const statement = this.#statements.get(query) ?? this.#database.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }

  #attempt<T>(work: () => T): T {
    if (!this.#database.isOpen) {
      throw new VivariumError('STORAGE_FAILED', `The storage at ${this.path} is closed. Open it again to use it.`);
    }
    try {
      return work();
    } catch (error) {
      throw translate(this.path, error);
    }
  }
}

/** Retries while SQLite is busy. When several processes create the same file, SQLite rejects all but one without waiting. */
async function whenFree(work: () => void): Promise<void> {
  for (const deadline = Date.now() + BUSY_TIMEOUT_MS; ;) {
    try {
      work();
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error;
      await sleep(RETRY_MS);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

function translate(path: string, error: unknown): VivariumError {
  if (error instanceof VivariumError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const remedy = isBusy(error)
    ? 'Another process has held the write lock for too long. Try again, or use PostgreSQL if there are many writers.'
    : 'Check that the file is a Vivarium database, that it is writable and that the disk has space.';
  return new VivariumError('STORAGE_FAILED', `The database ${path} failed: ${reason}. ${remedy}`, { cause: error });
}
