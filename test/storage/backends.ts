/** The two databases, so that what holds for one is tested on the other. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, onTestFinished } from 'vitest';
import { openStorage, type Storage } from '../../src/storage/storage.ts';
import { askForPostgres, createDatabase, queryPostgres } from '../support/postgres/postgres.ts';

export interface Backend {
  readonly name: string;
  /** Where an empty storage can be opened. */
  readonly fresh: () => Promise<string>;
  /** A statement past all of our own code; `vivarium.` is left out for SQLite. */
  readonly query: (place: string, statement: string) => Promise<Record<string, unknown>[]>;
}

const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-storage-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

const sqlite: Backend = {
  name: 'SQLite',
  fresh: async () => path.join(directory, `${randomUUID()}.sqlite`),
  query: async (place, statement) => {
    const database = new DatabaseSync(place, { timeout: 10_000 });
    try {
      return database.prepare(statement.replaceAll('vivarium.', '')).all();
    } finally {
      database.close();
    }
  },
};

const postgres = await askForPostgres();

/** Declares the same tests for both. A PostgreSQL that cannot be had is a skip that says why. */
export function describeBackends(declare: (backend: Backend) => void): void {
  describe(sqlite.name, () => declare(sqlite));
  if ('missing' in postgres) {
    describe.skip(`PostgreSQL: NOT TESTED, ${postgres.missing}`, () => declare({ ...sqlite, name: 'PostgreSQL' }));
    return;
  }
  const { url } = postgres;
  describe('PostgreSQL', () => declare({ name: 'PostgreSQL', fresh: () => createDatabase(url), query: queryPostgres }));
}

/** A storage that is closed with the test. */
export async function opened(place: string): Promise<Storage> {
  const storage = await openStorage(place);
  onTestFinished(() => storage.close());
  return storage;
}
