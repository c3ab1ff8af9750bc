import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { Sql } from './sql.ts';

export type Row = Readonly<Record<string, unknown>>;

/** What approvals and audit need of a database. Every failure is a `STORAGE_FAILED`. */
export interface Database {
  /** Where they lie. */
  readonly tables: { readonly approvals: Sql; readonly audit: Sql };
  /** Milliseconds since 1970 by the clock of the database: servers that share it agree on what is over. */
  readonly now: Sql;

  query(statement: Sql): Promise<Row[]>;

  /**
   * Makes a change and, for every row that it returns, what follows from it: all or nothing. `follow` answers at once, so
   * that SQLite, which blocks its thread while another connection writes, never waits for the same thread.
   */
  change(statement: Sql, follow: (row: Row) => Sql): Promise<Row[]>;
}

/** A database that is open. */
export interface Backend {
  readonly database: Database;
  readonly checkpointer: BaseCheckpointSaver;
  readonly close: () => Promise<void>;
}
