import type { Pool, PoolClient } from 'pg';
import { VivariumError } from '../../errors.ts';
import type { Database, Row } from '../database/database.ts';
import { literal, type Sql } from '../database/sql.ts';
import { SCHEMA } from './schema.ts';

/** PostgreSQL as the approvals and the audit log see it. */
export class PostgresDatabase implements Database {
  readonly tables = { approvals: literal(`${SCHEMA}.approvals`), audit: literal(`${SCHEMA}.audit`) };
  readonly now = literal('CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)');
  readonly #pool: Pool;
  readonly #place: string;

  /** `place` names the server in messages, without a password. */
  constructor(pool: Pool, place: string) {
    this.#pool = pool;
    this.#place = place;
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

  /** Lends a connection. One on which something failed is closed, which also takes back an open transaction. */
  async withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.guard(async () => {
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

  /** Tells every failure as one of the storage. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
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
      `PostgreSQL at ${this.#place} failed: ${reason}. Check that it runs, that the URL is right and that its user may create and write tables there.`,
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
