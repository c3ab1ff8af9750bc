import { closeSync, mkdirSync, openSync } from 'node:fs';
import nodePath from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { VivariumError } from '../../errors.ts';
import { isBusy, NO_WAIT, Patience } from '../../sqlite.ts';

/** How long to wait for another process that writes. Its transactions take milliseconds. */
const PATIENCE_MS = 10_000;

export interface SqliteFileOptions {
  /** False: the last commits may be lost when the machine loses power. They outlive the process in any case. */
  readonly outlivesPowerCuts?: boolean;
}

/** Runs a statement within a transaction. */
export type RunStatement = (query: string, values: readonly SQLInputValue[]) => Record<string, SQLOutputValue>[];

/**
 * One connection to an SQLite file. Waiting for other processes is asynchronous. A transaction is synchronous, since one
 * that awaited something could get statements of other callers between its own.
 */
export class SqliteFile implements Disposable {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #patience = new Patience(PATIENCE_MS);
  readonly #statements = new Map<string, StatementSync>();

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
  }

  /** Creates the file if it is missing. It holds code and its results, so only the owner may read it. */
  static async open(path: string, { outlivesPowerCuts = true }: SqliteFileOptions = {}): Promise<SqliteFile> {
    try {
      mkdirSync(nodePath.dirname(path), { recursive: true, mode: 0o700 });
      closeSync(openSync(path, 'a', 0o600));
      using stack = new DisposableStack();
      const file = stack.use(new SqliteFile(path, new DatabaseSync(path, NO_WAIT)));
      await file.#prepareFile(outlivesPowerCuts ? 'FULL' : 'NORMAL');
      stack.move(); // the caller owns it now
      return file;
    } catch (error) {
      throw translate(path, error);
    }
  }

  async all(query: string, values: readonly SQLInputValue[]): Promise<Record<string, SQLOutputValue>[]> {
    return this.#attempt(() => this.#run(query, values));
  }

  /** Runs `work` in a transaction that excludes other writers. It runs once. */
  async transact<T>(work: (run: RunStatement, execute: (statements: string) => void) => T): Promise<T> {
    const end = await this.#attempt(() => {
      this.#database.exec('BEGIN IMMEDIATE');
      return this.#complete(() => work(this.#run, (statements) => this.#database.exec(statements)));
    });
    return end();
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Returns how the transaction ended as a function, so that only its beginning is tried again. */
  #complete<T>(work: () => T): () => T {
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return () => result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK'); // when the disk is full, SQLite has rolled back already
      return () => {
        throw translate(this.path, error);
      };
    }
  }

  readonly #run: RunStatement = (query, values) => this.#prepare(query).all(...values);

  /** Usually every commit is synced to disk: losing a claim in a power cut would let code run twice. */
  async #prepareFile(synchronous: 'FULL' | 'NORMAL'): Promise<void> {
    // When several processes create the same file, SQLite rejects all but one without waiting.
    await this.#patience.whenFree(() => this.#database.exec('PRAGMA journal_mode = WAL'));
    this.#database.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = ON`);
  }

  #prepare(query: string): StatementSync {
    const statement = this.#statements.get(query) ?? this.#database.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }

  async #attempt<T>(work: () => T): Promise<T> {
    try {
      return await this.#patience.whenFree(() => {
        if (this.#database.isOpen) return work();
        throw new VivariumError('STORAGE_FAILED', `The storage at ${this.path} is closed. Open it again to use it.`);
      });
    } catch (error) {
      throw translate(this.path, error);
    }
  }
}

function translate(path: string, error: unknown): VivariumError {
  if (error instanceof VivariumError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const remedy = isBusy(error)
    ? 'Another process has held the write lock for too long. Try again, or use PostgreSQL if there are many writers.'
    : 'Check that the file is a Vivarium database, that it is writable and that the disk has space.';
  return new VivariumError('STORAGE_FAILED', `The database ${path} failed: ${reason}. ${remedy}`, { cause: error });
}
