import { closeSync, mkdirSync, openSync } from 'node:fs';
import nodePath from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../errors.ts';

/** Longest wait for another process that writes; its transactions take milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

const RETRY_MS = 5;
const SQLITE_BUSY = 5;

/**
 * One connection to an SQLite file. All its work is done at once, without giving others a turn in between: a transaction
 * that waited for its own thread would block every other connection of this process, and with it itself.
 */
export class SqliteFile implements Disposable {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
  }

  /** Makes the file if there is none. It holds code and what it did: nobody else may read it. */
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
    return this.#guard(() => this.#prepare(query).all(...values));
  }

  /** Several statements without values. */
  execute(statements: string): void {
    this.#guard(() => this.#database.exec(statements));
  }

  /** All of `work` or nothing, and nobody else writes meanwhile. */
  transact<T>(work: () => T): T {
    this.execute('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.execute('COMMIT');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.execute('ROLLBACK'); // SQLite has done so itself when the disk is full
      throw error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Every commit reaches the disk: a claim that a power cut took back would let code run twice. */
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

  #guard<T>(work: () => T): T {
    if (!this.#database.isOpen) {
      throw new VivariumError('STORAGE_FAILED', `The storage at ${this.path} was closed. Open it again to use it.`);
    }
    try {
      return work();
    } catch (error) {
      throw translate(this.path, error);
    }
  }
}

/** Of processes that make the same file at once SQLite turns all but one away, without waiting as it does elsewhere. */
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
    ? 'Another process has been writing for too long; try again, or use PostgreSQL for many writers.'
    : 'Check that the file is a database of Vivarium, may be written, and that the disk has room.';
  return new VivariumError('STORAGE_FAILED', `The database ${path} failed: ${reason}. ${remedy}`, { cause: error });
}
