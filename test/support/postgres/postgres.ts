import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { PostgresAnswer } from './setup.ts';

/** Asks for the run's PostgreSQL. It may be missing where there is none and none can be fetched, but never in CI. */
export async function askForPostgres(): Promise<PostgresAnswer> {
  const answer = JSON.parse(await text(connect(inject('postgresDesk')))) as PostgresAnswer;
  if ('missing' in answer && process.env['CI'] === 'true')
    throw new Error(`PostgreSQL must run in CI: ${answer.missing}`);
  return answer;
}

/** An empty database of its own; the URL that reaches it. */
export async function createDatabase(serverUrl: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await queryPostgres(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = name;
  return url.href;
}

/** One statement, past all of our own code. */
export async function queryPostgres(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
