import type { Pool, PoolClient } from 'pg';
import { VivariumError } from '../../errors.ts';
import type { Database, Row } from '../database/database.ts';
import { literal, type Sql } from '../database/sql.ts';
import { SCHEMA } from './schema.ts';

/** PostgreSQL as the database of approvals and the audit log. */
export class PostgresDatabase implements Database {
  readonly tables = { approvals: literal(`${SCHEMA}.approvals`), audit: literal(`${SCHEMA}.audit`) };
  readonly now = literal('CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)');
  readonly #pool: Pool;
  readonly #serverName: string;

  /** `serverName` names the server in messages, without a password. */
  constructor(pool: Pool, serverName: string) {
    this.#pool = pool;
    this.#serverName = serverName;
  }

  async query(statement: Sql): Promise<Row[]> {
    return this.withClient((client) => run(client, statement));
  }

  async change(statement: Sql, follow: (row: Row) => Sql): Promise<Row[]> {
    return this.withClient(async (client) => {
      await client.query('BEGIN');
      const rows = await run(client, statement);
      for (const row of rows) await run(client, follow(row));
      await client.query('COMMIT');
      return rows;
    });
  }

  /** Lends a connection. After a failure the connection is closed, which also rolls back an open transaction. */
  async withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.translatingErrors(async () => {
      const client = await this.#pool.connect();
      let hasFailed = true;
      try {
        const result = await work(client);
        hasFailed = false;
        return result;
      } finally {
        client.release(hasFailed);
      }
    });
  }

  /** Turns every failure into a `STORAGE_FAILED`. */
  async translatingErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#translate(error);
    }
  }

  #translate(error: unknown): VivariumError {
    if (error instanceof VivariumError) return error;
    const reason = error instanceof Error ? error.message || error.name : String(error);
    return new VivariumError(
      'STORAGE_FAILED',
      `PostgreSQL at ${this.#serverName} failed: ${reason}. Check that the server runs, that the URL is correct and that its user may create and write tables.`,
      { cause: error },
    );
  }
}

async function run(client: PoolClient, statement: Sql): Promise<Row[]> {
  const { rows } = await client.query<Record<string, unknown>>(
    statement.render((position) => `$${position}`),
    [...statement.values],
  );
  return rows;
}
