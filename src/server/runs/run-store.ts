import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { Execution } from '../../execution/execution.ts';
import { SqliteFile, type SqliteFileOptions } from '../../storage/sqlite/file.ts';
import type { WireError } from '../../wire/error.ts';

const SCHEMA = `
CREATE TABLE IF NOT EXISTS runs (
  id TEXT PRIMARY KEY,
  client TEXT,
  session_id TEXT,
  kind TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  code TEXT NOT NULL,
  echo TEXT,
  may_have_written INTEGER NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS runs_of_session ON runs (session_id, started_at);
CREATE INDEX IF NOT EXISTS runs_by_age ON runs (started_at);
CREATE TABLE IF NOT EXISTS idempotency_keys (
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  run_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
`;
const KEY_MS = 24 * 3_600_000;
const SWEEP_MS = 3_600_000;
const BATCH = 100;
const INSERT = 'INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';

/** What happened to the state of a session: code that ran, variables that were set, or a step back. */
export type StepKind = 'run' | 'init' | 'variables' | 'reset' | 'rollback';

/** A step of a session, as it is kept. */
export interface StoredStep {
  readonly id: string;
  /** The client that may see it. */
  readonly owner: string | null;
  readonly sessionId: string | null;
  readonly kind: StepKind;
  readonly startedAt: Date;
  readonly code: string;
  readonly echo: 'all' | 'last' | 'none' | null;
  readonly mayHaveWritten: boolean;
  /** The HTTP status that its answer had. */
  readonly status: number;
  /** JSON: an execution if the status is 200, and an error if it is not. */
  readonly body: string;
}

/** A request that an idempotency key stands for. */
export interface KeyClaim {
  readonly owner: string | null;
  readonly key: string;
  /** Of the route and the body. */
  readonly sha256: string;
  readonly runId: string;
}

export interface StoreRetention {
  readonly maxAgeMs: number;
  readonly maxTotalBytes: number;
}

/** Runs that have ended, and the idempotency keys of requests. They outlive the server. */
export class RunStore implements AsyncDisposable {
  readonly #steps: SqliteFile;
  /** A connection that waits for the disk: what it writes outlives power cuts. */
  readonly #keys: SqliteFile;
  readonly #retention: StoreRetention;
  #sweeper: NodeJS.Timeout | undefined;
  #totalBytes = 0;
  #sweeping: Promise<void> | undefined;

  private constructor(steps: SqliteFile, keys: SqliteFile, retention: StoreRetention) {
    this.#steps = steps;
    this.#keys = keys;
    this.#retention = retention;
  }

  static async open(file: string, retention: StoreRetention): Promise<RunStore> {
    using stack = new DisposableStack();
    const steps = stack.use(await SqliteFile.open(file, { outlivesPowerCuts: false }));
    const keys = stack.use(await SqliteFile.open(file));
    await steps.transact((_, execute) => execute(SCHEMA));
    const store = new RunStore(steps, keys, retention);
    const [row] = await steps.all('SELECT coalesce(sum(bytes), 0) AS bytes FROM runs', []);
    store.#totalBytes = Number(row?.['bytes']);
    await store.sweep();
    const sweep = (): void => void store.sweep().catch(() => undefined); // the next one tries again
    store.#sweeper = setInterval(sweep, SWEEP_MS).unref();
    stack.move();
    return store;
  }

  async add(step: StoredStep): Promise<void> {
    const bytes = step.code.length + step.body.length;
    await this.#steps.all(INSERT, rowOf(step, bytes));
    this.#totalBytes += bytes;
    if (this.#totalBytes > this.#retention.maxTotalBytes) this.sweep().catch(() => undefined); // the next one tries again
  }

  /** A run that has ended. To a client, another's run does not exist. */
  async find(id: string, clientId: string | null): Promise<StoredStep | undefined> {
    const [row] = await this.#steps.all(
      "SELECT * FROM runs WHERE id = ? AND kind = 'run' AND (? IS NULL OR client = ?)",
      [id, clientId, clientId],
    );
    return row && toStep(row);
  }

  async has(id: string): Promise<boolean> {
    return (await this.#steps.all('SELECT 1 FROM runs WHERE id = ?', [id])).length > 0;
  }

  /** Everything that happened to the state of a session, in order. */
  async ofSession(sessionId: string, clientId: string | null): Promise<StoredStep[]> {
    const rows = await this.#steps.all(
      'SELECT * FROM runs WHERE session_id = ? AND (? IS NULL OR client = ?) ORDER BY started_at, rowid',
      [sessionId, clientId, clientId],
    );
    return rows.map(toStep);
  }

  /**
   * Notes that a key stands for a request, unless it stands for one already, which is returned. Whatever happens to the
   * server, that is not forgotten. A power cut ends all sessions, so only what can run without one has to outlive it.
   */
  async claim(
    { owner, key, sha256, runId }: KeyClaim,
    { outlivesPowerCuts = true }: SqliteFileOptions = {},
  ): Promise<Omit<KeyClaim, 'owner' | 'key'> | undefined> {
    const file = outlivesPowerCuts ? this.#keys : this.#steps;
    return file.transact((run) => {
      const client = owner ?? '';
      run('DELETE FROM idempotency_keys WHERE client = ? AND key = ? AND created_at < ?', [
        client,
        key,
        Date.now() - KEY_MS,
      ]);
      const [found] = run('SELECT sha256, run_id FROM idempotency_keys WHERE client = ? AND key = ?', [client, key]);
      if (found !== undefined) return { sha256: String(found['sha256']), runId: String(found['run_id']) };
      run('INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)', [client, key, sha256, runId, Date.now()]);
      return undefined;
    });
  }

  /** The request was refused before any code ran, so that it may be sent again. */
  async release(owner: string | null, key: string): Promise<void> {
    await this.#keys.all('DELETE FROM idempotency_keys WHERE client = ? AND key = ?', [owner ?? '', key]);
  }

  /** Removes what is too old, then the oldest of the client with most until the rest fits. */
  sweep(): Promise<void> {
    return (this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#sweeping?.catch(() => undefined); // it is tried again at the next start
    this.#steps[Symbol.dispose]();
    this.#keys[Symbol.dispose]();
  }

  async #sweep(): Promise<void> {
    const { maxAgeMs, maxTotalBytes } = this.#retention;
    await this.#steps.all('DELETE FROM idempotency_keys WHERE created_at < ?', [Date.now() - KEY_MS]);
    for (let removed = BATCH; removed === BATCH;) {
      removed = await this.#remove('started_at < ? ORDER BY started_at', [Date.now() - maxAgeMs]);
    }
    while (this.#totalBytes > maxTotalBytes) {
      const [largest] = await this.#steps.all(
        'SELECT client FROM runs GROUP BY client ORDER BY sum(bytes) DESC LIMIT 1',
        [],
      );
      if (largest === undefined) return;
      await this.#remove('client IS ? ORDER BY started_at', [largest['client'] as SQLInputValue]);
    }
  }

  async #remove(which: string, values: readonly SQLInputValue[]): Promise<number> {
    const rows = await this.#steps.all(
      `DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs WHERE ${which} LIMIT ${BATCH}) RETURNING bytes`,
      values,
    );
    this.#totalBytes -= rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
    return rows.length;
  }
}

/** The execution of a run, or the error that it ended with. */
export function resultOf({
  status,
  body,
}: StoredStep): { readonly execution: Execution } | { readonly error: WireError } {
  return status === 200 ? { execution: JSON.parse(body) as Execution } : { error: JSON.parse(body) as WireError };
}

function rowOf(step: StoredStep, bytes: number): SQLInputValue[] {
  const { id, owner, sessionId, kind, startedAt, code, echo, mayHaveWritten, status, body } = step;
  return [id, owner, sessionId, kind, startedAt.getTime(), code, echo, Number(mayHaveWritten), status, body, bytes];
}

function toStep(row: Record<string, SQLOutputValue>): StoredStep {
  return {
    id: String(row['id']),
    owner: row['client'] === null ? null : String(row['client']),
    sessionId: row['session_id'] === null ? null : String(row['session_id']),
    kind: String(row['kind']) as StepKind,
    startedAt: new Date(Number(row['started_at'])),
    code: String(row['code']),
    echo: row['echo'] as StoredStep['echo'],
    mayHaveWritten: row['may_have_written'] === 1,
    status: Number(row['status']),
    body: String(row['body']),
  };
}
