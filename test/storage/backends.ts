/** Both databases, so that every test runs on each. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, onTestFinished } from 'vitest';
import { openStorage, type Storage } from '../../src/storage/storage.ts';
import { askForPostgres, createDatabase, queryPostgres } from '../support/postgres/postgres.ts';

export interface Backend {
  readonly name: string;
  /** The address of an empty storage. */
  readonly fresh: () => Promise<string>;
  /** Runs a statement directly on the database. For SQLite, `vivarium.` is removed. */
  readonly query: (place: string, statement: string) => Promise<Record<string, unknown>[]>;
}

/** Created by the first test that needs it. If all are skipped, there is nothing to clean up. */
let directory: string | undefined;
afterAll(async () => directory && rm(directory, { recursive: true, force: true }));

const sqlite: Backend = {
  name: 'SQLite',
  fresh: async () => {
    directory ??= mkdtempSync(path.join(tmpdir(), 'vivarium-storage-'));
    return path.join(directory, `${randomUUID()}.sqlite`);
  },
  query: async (place, statement) => {
    const database = new DatabaseSync(place, { timeout: 10_000 });
    try {
      return database.prepare(statement.replaceAll('vivarium.', '')).all();
    } finally {
      database.close();
    }
  },
};

const answer = await askForPostgres();
const missing = 'missing' in answer ? answer.missing : undefined;

const postgres: Backend = {
  name: 'PostgreSQL',
  fresh: () => createDatabase('url' in answer ? answer.url : ''),
  query: queryPostgres,
};

/** Declares the same tests for both databases. */
export function describeBackends(declare: (backend: Backend) => void): void {
  describe(`On ${sqlite.name}`, () => {
    declare(sqlite);
  });
  describePostgres(declare);
}

/** If PostgreSQL is not available, its tests are skipped with the reason. */
export function describePostgres(declare: (backend: Backend) => void): void {
  describe.skipIf(missing !== undefined)(
    `On PostgreSQL${missing === undefined ? '' : `: NOT TESTED, ${missing}`}`,
    () => {
      declare(postgres);
    },
  );
}

/** A storage that is closed after the test. */
export async function opened(place: string): Promise<Storage> {
  const storage = await openStorage(place);
  onTestFinished(() => storage.close());
  return storage;
}
