import type { Pool } from 'pg';
import { VivariumError } from '../../errors.ts';
import { loadOptional, NEEDED } from '../../packages.ts';
import type { Backend } from '../database/database.ts';
import { PostgresDatabase } from './database.ts';
import { createSaver } from './saver.ts';
import { migratePostgres } from './schema.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Longer than another process needs to create all tables, which is the longest wait there is. */
const QUERY_TIMEOUT_MS = 60_000;

/** Connects to the server. Creates the tables if they are missing. */
export async function openPostgres(url: string): Promise<Backend> {
  const serverName = serverNameOf(url);
  const { Pool, PostgresSaver } = await loadPostgres();
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    allowExitOnIdle: true, // see src/process-life.ts
    application_name: 'vivarium',
  });
  surviveLostConnections(pool);
  const database = new PostgresDatabase(pool, serverName);
  const checkpointer = createSaver(PostgresSaver, pool, database);
  try {
    await database.withClient((client) => migratePostgres(client, () => checkpointer.setup()));
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { database, checkpointer, close: () => checkpointer.end() };
}

/** The pool replaces a connection that breaks while idle. Without a listener, its error would end the process. */
function surviveLostConnections(pool: Pool): void {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined)); // while it is lent out; its query fails as well
}

/** Server and database, without user and password: what a message may show. */
function serverNameOf(url: string): string {
  try {
    const { host, pathname, searchParams } = new URL(url);
    return `${host || searchParams.get('host') || 'localhost'}${pathname}`;
  } catch (cause) {
    // The parser's message contains the URL, and with it the password.
    throw new VivariumError(
      'CONFIG_INVALID',
      'The URL of the PostgreSQL server is not valid. It must look like postgres://user:password@host:5432/database.',
      { cause: cause instanceof Error ? cause.name : undefined },
    );
  }
}

/** The packages for PostgreSQL are optional, so they are loaded only when they are used. */
async function loadPostgres() {
  const [{ default: pg }, { PostgresSaver }] = await loadOptional('PostgreSQL', NEEDED.postgres, () =>
    Promise.all([import('pg'), import('@langchain/langgraph-checkpoint-postgres')]),
  );
  return { Pool: pg.Pool, PostgresSaver };
}
