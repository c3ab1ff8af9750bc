import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { Sql } from './sql.ts';

export type Row = Readonly<Record<string, unknown>>;

/** What approvals and the audit log need from a database. Every failure is a `STORAGE_FAILED`. */
export interface Database {
  /** The names of the tables. */
  readonly tables: { readonly approvals: Sql; readonly audit: Sql };
  /** Milliseconds since 1970 by the database's clock, so that all servers that share it agree on what has expired. */
  readonly now: Sql;

  query(statement: Sql): Promise<Row[]>;

  /**
   * Makes a change and runs the statement that `follow` gives for each returned row, all in one transaction. `follow` is
   * synchronous: one connection to SQLite serves all callers, and their statements must not get into the transaction.
   */
  change(statement: Sql, follow: (row: Row) => Sql): Promise<Row[]>;
}

/** An open database. */
export interface Backend {
  readonly database: Database;
  readonly checkpointer: BaseCheckpointSaver;
  readonly close: () => Promise<void>;
}
