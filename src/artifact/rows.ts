import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { Artifact } from './artifact.ts';

/** The longest wait for another process that writes; its transactions take milliseconds. */
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
    executionId TEXT NOT NULL,
    clientId TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS artifactsBySession ON artifacts (sessionId, createdAt);
  CREATE INDEX IF NOT EXISTS artifactsByContent ON artifacts (sha256);
  CREATE INDEX IF NOT EXISTS artifactsByAge ON artifacts (createdAt);
`;

/** Columns in the order of the table. One that was added later is null in the rows from before. */
const COLUMNS = ['id', 'name', 'sizeBytes', 'mime', 'sha256', 'createdAt', 'sessionId', 'executionId', 'clientId'];
const INSERT = `INSERT INTO artifacts (${COLUMNS.join()}) VALUES (${COLUMNS.map((name) => `$${name}`).join()})`;

/** The table of artifacts. Several processes may use the same file. */
export class ArtifactRows implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    whenFree(() => this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL'));
    this.transact(() => this.#migrate());
  }

  /** No other process writes while `work` runs, so what it does to files stays in step with the rows. */
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

  insert({ createdAt, ...artifact }: Artifact): void {
    this.#prepare(INSERT).run({ ...artifact, createdAt: createdAt.getTime() });
  }

  /** With a client, undefined for what is another client's. */
  find(id: string, clientId?: string): Artifact | undefined {
    const row = this.#prepare('SELECT * FROM artifacts WHERE id = ?').get(id);
    const artifact = row && toArtifact(row);
    return clientId === undefined || artifact?.clientId === clientId ? artifact : undefined;
  }

  /** Oldest first. Without a client, those of every client. */
  ofSession(sessionId: string, clientId?: string): Artifact[] {
    const rows = this.#prepare('SELECT * FROM artifacts WHERE sessionId = ? ORDER BY createdAt, rowid').all(sessionId);
    return rows.map(toArtifact).filter((artifact) => clientId === undefined || artifact.clientId === clientId);
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

  /** The size of all contents; one that several artifacts share counts once. */
  totalBytes(): number {
    const query = 'SELECT TOTAL(sizeBytes) AS bytes FROM (SELECT DISTINCT sha256, sizeBytes FROM artifacts)';
    return Number(this.#prepare(query).get()?.['bytes'] ?? 0);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** Creates the table, or adds the columns that it had not in earlier versions. */
  #migrate(): void {
    this.#database.exec(SCHEMA);
    const columns = this.#database.prepare('PRAGMA table_info(artifacts)').all();
    if (columns.some(({ name }) => name === 'clientId')) return;
    this.#database.exec('ALTER TABLE artifacts ADD COLUMN clientId TEXT');
  }

  #prepare(query: string): StatementSync {
    const statement = this.#statements.get(query) ?? this.#database.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }
}

/** Where processes create the same file at once, SQLite fails all but one of them without waiting for `timeout`. */
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

/** The table is strict, so its values have the declared types. */
function toArtifact(row: Record<string, SQLOutputValue>): Artifact {
  const { createdAt, ...rest } = row as unknown as Omit<Artifact, 'createdAt'> & { readonly createdAt: number };
  return { ...rest, createdAt: new Date(createdAt) };
}
