import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { Artifact } from './artifact.ts';

/** Longest wait for another process that writes; its transactions take milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

const RETRY_MS = 5;
const SQLITE_BUSY = 5;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS artifacts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    sizeBytes INTEGER NOT NULL,
    mime TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    sessionId TEXT NOT NULL,
    executionId TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS artifactsBySession ON artifacts (sessionId, createdAt);
  CREATE INDEX IF NOT EXISTS artifactsByContent ON artifacts (sha256);
  CREATE INDEX IF NOT EXISTS artifactsByAge ON artifacts (createdAt);
`;

/** The table of artifacts. Several processes may use the same file. */
export class ArtifactRows implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    whenFree(() => this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL'));
    this.transact(() => this.#database.exec(SCHEMA));
  }

  /** Nobody else writes while `work` does. What it does to files is therefore in step with the rows. */
  transact<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  insert({ id, name, sizeBytes, mime, sha256, createdAt, sessionId, executionId }: Artifact): void {
    this.#prepare('INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
      id,
      name,
      sizeBytes,
      mime,
      sha256,
      createdAt.getTime(),
      sessionId,
      executionId,
    );
  }

  find(id: string): Artifact | undefined {
    const row = this.#prepare('SELECT * FROM artifacts WHERE id = ?').get(id);
    return row === undefined ? undefined : toArtifact(row);
  }

  ofSession(sessionId: string): Artifact[] {
    const rows = this.#prepare('SELECT * FROM artifacts WHERE sessionId = ? ORDER BY createdAt, rowid').all(sessionId);
    return rows.map(toArtifact);
  }

  oldest(count: number): Artifact[] {
    return this.#prepare('SELECT * FROM artifacts ORDER BY createdAt, rowid LIMIT ?').all(count).map(toArtifact);
  }

  delete(id: string): void {
    this.#prepare('DELETE FROM artifacts WHERE id = ?').run(id);
  }

  isContentUsed(sha256: string): boolean {
    return this.#prepare('SELECT 1 FROM artifacts WHERE sha256 = ? LIMIT 1').get(sha256) !== undefined;
  }

  /** Of all contents; what several artifacts share counts once. */
  totalBytes(): number {
    const query = 'SELECT TOTAL(sizeBytes) AS bytes FROM (SELECT DISTINCT sha256, sizeBytes FROM artifacts)';
    return Number(this.#prepare(query).get()?.['bytes'] ?? 0);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #prepare(query: string): StatementSync {
    const statement = this.#statements.get(query) ?? this.#database.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }
}

/** Of processes that make the same file at once SQLite turns all but one away, without waiting as it does elsewhere. */
function whenFree(work: () => void): void {
  for (const deadline = Date.now() + BUSY_TIMEOUT_MS; ;) {
    try {
      work();
      return;
    } catch (error) {
      const isBusy = error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
      if (!isBusy || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** The table is strict, so that what it holds has the types that it was given. */
function toArtifact(row: Record<string, SQLOutputValue>): Artifact {
  const { createdAt, ...rest } = row as unknown as Omit<Artifact, 'createdAt'> & { readonly createdAt: number };
  return { ...rest, createdAt: new Date(createdAt) };
}
