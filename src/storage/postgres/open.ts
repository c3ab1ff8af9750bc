import type { Pool } from 'pg';
import { VivariumError } from '../../errors.ts';
import type { Backend } from '../database/database.ts';
import { PostgresDatabase } from './database.ts';
import { createSaver } from './saver.ts';
import { migratePostgres } from './schema.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Longer than another process needs to make all tables, which is the longest that is waited for. */
const QUERY_TIMEOUT_MS = 60_000;

/** Connects to the server, and makes the tables if they are missing. */
export async function openPostgres(url: string): Promise<Backend> {
  const place = placeOf(url);
  const { Pool, PostgresSaver } = await loadPostgres();
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'vivarium',
  });
  surviveLostConnections(pool);
  const database = new PostgresDatabase(pool, place);
  const checkpointer = createSaver(PostgresSaver, pool, database);
  try {
    await database.withClient((client) => migratePostgres(client, () => checkpointer.setup()));
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { database, checkpointer, close: () => checkpointer.end() };
}

/** A connection that breaks while nobody uses it is replaced when somebody does; unheard it would end the process. */
function surviveLostConnections(pool: Pool): void {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined)); // while it is lent; its query fails anyway
}

/** Host and database: what a message may show. */
function placeOf(url: string): string {
  try {
    const { host, pathname, searchParams } = new URL(url);
    return `${host || searchParams.get('host') || 'localhost'}${pathname}`;
  } catch (cause) {
    // The parser's message holds the URL, and that the password.
    throw new VivariumError(
      'CONFIG_INVALID',
      'The URL of the PostgreSQL server cannot be read. It must look like postgres://user:password@host:5432/database.',
      { cause: cause instanceof Error ? cause.name : undefined },
    );
  }
}

const MISSING = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

export async function loadPostgres() {
  try {
    const [{ default: pg }, { PostgresSaver }] = await Promise.all([
      import('pg'),
      import('@langchain/langgraph-checkpoint-postgres'),
    ]);
    return { Pool: pg.Pool, PostgresSaver };
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && MISSING.has(String(cause.code));
    if (!isMissing) throw cause;
    throw new VivariumError(
      'STORAGE_FAILED',
      'PostgreSQL needs two packages that are not installed with Vivarium. Run: npm install pg @langchain/langgraph-checkpoint-postgres',
      { cause },
    );
  }
}
