import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { NO_WAIT, type Patience } from '../sqlite.ts';
import type { Artifact } from './artifact.ts';

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

/**
 * The table of artifacts. Several processes may use the same file. Single statements are synchronous; `whenFree` and
 * `transact` wait for other processes.
 */
export class ArtifactRows implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #patience: Patience;

  private constructor(database: DatabaseSync, patience: Patience) {
    this.#database = database;
    this.#patience = patience;
  }

  /** Creates the file and its table if they are missing. */
  static async open(file: string, patience: Patience): Promise<ArtifactRows> {
    using stack = new DisposableStack();
    const rows = stack.use(new ArtifactRows(new DatabaseSync(file, NO_WAIT), patience));
    await rows.whenFree(() => rows.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL'));
    // Most files are up to date, and looking needs no lock that another process may hold.
    if (!(await rows.whenFree(() => rows.#isUpToDate()))) await rows.transact(() => rows.#migrate());
    stack.move(); // the caller owns it now
    return rows;
  }

  /** Does `work`, again if another process is in the way. */
  whenFree<T>(work: () => T): Promise<T> {
    return this.#patience.whenFree(work);
  }

  /**
   * No other process writes while `work` runs, so what it does to files stays in step with the rows. It runs once: `undo`
   * takes back what it did to files if the rows cannot be written.
   */
  async transact<T>(work: () => T, undo?: () => void): Promise<T> {
    const end = await this.whenFree(() => {
      this.#database.exec('BEGIN IMMEDIATE');
      return this.#complete(work, undo);
    });
    return end();
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

  oldestOf(clientId: string | null, count: number): Artifact[] {
    const query = 'SELECT * FROM artifacts WHERE clientId IS ? ORDER BY createdAt, rowid LIMIT ?';
    return this.#prepare(query).all(clientId, count).map(toArtifact);
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

  /** The size of the contents of each client. */
  bytesByClient(): Map<string | null, number> {
    const query = `SELECT clientId, TOTAL(sizeBytes) AS bytes
      FROM (SELECT DISTINCT clientId, sha256, sizeBytes FROM artifacts) GROUP BY clientId`;
    const rows = this.#prepare(query).all() as unknown as { clientId: string | null; bytes: number }[];
    return new Map(rows.map(({ clientId, bytes }) => [clientId, bytes]));
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** Creates the table, or adds the columns that it had not in earlier versions. */
  #migrate(): void {
    this.#database.exec(SCHEMA);
    if (!this.#isUpToDate()) this.#database.exec('ALTER TABLE artifacts ADD COLUMN clientId TEXT');
  }

  #isUpToDate(): boolean {
    const columns = this.#database.prepare('PRAGMA table_info(artifacts)').all();
    return columns.some(({ name }) => name === 'clientId');
  }

  /** Returns how the transaction ended as a function, so that only its beginning is tried again. */
  #complete<T>(work: () => T, undo: (() => void) | undefined): () => T {
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return () => result;
    } catch (error) {
      undo?.();
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK'); // a full disk makes SQLite do it by itself
      return () => {
        throw error;
      };
    }
  }

  #prepare(query: string): StatementSync {
    const statement = this.#statements.get(query) ?? this.#database.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }
}

/** The table is strict, so its values have the declared types. */
function toArtifact(row: Record<string, SQLOutputValue>): Artifact {
  const { createdAt, ...rest } = row as unknown as Omit<Artifact, 'createdAt'> & { readonly createdAt: number };
  return { ...rest, createdAt: new Date(createdAt) };
}
