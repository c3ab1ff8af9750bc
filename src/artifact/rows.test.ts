import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { Patience } from '../sqlite.ts';
import type { Artifact } from './artifact.ts';
import { ArtifactRows } from './rows.ts';

/** The table as it was before artifacts had owners. */
const OLD_TABLE = `
  CREATE TABLE artifacts (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, sizeBytes INTEGER NOT NULL, mime TEXT NOT NULL, sha256 TEXT NOT NULL,
    createdAt INTEGER NOT NULL, sessionId TEXT NOT NULL, executionId TEXT NOT NULL
  ) STRICT;
  INSERT INTO artifacts VALUES ('old', 'a.txt', 3, 'text/plain', 'aa', 5, 's', 'e');
`;
const OLD: Artifact = artifact('old', { name: 'a.txt', sha256: 'aa', createdAt: new Date(5) });

function artifact(id: string, more: Partial<Artifact> = {}): Artifact {
  return {
    id,
    name: `${id}.txt`,
    sizeBytes: 3,
    mime: 'text/plain',
    sha256: id,
    createdAt: new Date(1000),
    sessionId: 's',
    executionId: 'e',
    clientId: null,
    ...more,
  };
}

function open(file: string, patienceMs = 10_000): Promise<ArtifactRows> {
  return ArtifactRows.open(file, new Patience(patienceMs));
}

async function databaseFile(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'rows-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return path.join(directory, 'artifacts.sqlite');
}

test('a row comes back as the artifact that it was', async () => {
  using rows = await open(await databaseFile());
  const odd = artifact('odd', { name: 'a\'";--\n🐍', sizeBytes: 2 ** 40, clientId: "' OR 1=1 --" });
  rows.insert(odd);
  expect(rows.find('odd')).toEqual(odd);
  expect(rows.ofSession('s')).toEqual([odd]);
  expect(() => rows.insert(odd)).toThrow(/UNIQUE/);
});

test('artifacts of a session come oldest first, and those of one moment as they were inserted', async () => {
  using rows = await open(await databaseFile());
  for (const [id, ms] of [
    ['b', 2],
    ['a', 2],
    ['z', 1],
    ['c', 3],
  ] as const)
    rows.insert(artifact(id, { createdAt: new Date(ms) }));
  rows.insert(artifact('other', { sessionId: 'another' }));
  expect(rows.ofSession('s').map(({ id }) => id)).toEqual(['z', 'b', 'a', 'c']);
  expect(rows.oldest(2).map(({ id }) => id)).toEqual(['z', 'b']);
  expect(rows.oldest(10)).toHaveLength(5);
});

test('a client finds its own rows, and without a client all are found', async () => {
  using rows = await open(await databaseFile());
  rows.insert(artifact('mine', { clientId: 'me' }));
  rows.insert(artifact('nobodys'));
  expect(rows.find('mine', 'me')?.id).toBe('mine');
  expect(rows.find('mine', 'them')).toBeUndefined();
  expect(rows.find('nobodys', 'me')).toBeUndefined();
  expect(rows.find('nobodys')?.id).toBe('nobodys');
  expect(rows.ofSession('s', 'me').map(({ id }) => id)).toEqual(['mine']);
});

test('content that several artifacts share counts once, and is used until the last is gone', async () => {
  using rows = await open(await databaseFile());
  expect(rows.totalBytes()).toBe(0);
  rows.insert(artifact('a', { sha256: 'same', sizeBytes: 100 }));
  rows.insert(artifact('b', { sha256: 'same', sizeBytes: 100 }));
  rows.insert(artifact('c', { sha256: 'other', sizeBytes: 10 }));
  expect(rows.totalBytes()).toBe(110);
  rows.delete('a');
  expect([rows.totalBytes(), rows.isContentUsed('same')]).toEqual([110, true]);
  rows.delete('b');
  expect([rows.totalBytes(), rows.isContentUsed('same')]).toEqual([10, false]);
  rows.delete('b');
});

test('a transaction that fails changes nothing, and the next one works', async () => {
  using rows = await open(await databaseFile());
  const undone: string[] = [];
  const failing = rows.transact(
    () => {
      rows.insert(artifact('half'));
      throw new Error('the content could not be moved');
    },
    () => undone.push('the content'),
  );
  await expect(failing).rejects.toThrow('the content could not be moved');
  expect(undone).toEqual(['the content']);
  expect(rows.find('half')).toBeUndefined();
  expect(await rows.transact(() => (rows.insert(artifact('whole')), 'result'))).toBe('result');
  expect(rows.find('whole')).toBeDefined();
});

test('a table from before artifacts had owners keeps its rows and gets the column, once', async () => {
  const file = await databaseFile();
  const database = new DatabaseSync(file);
  database.exec(OLD_TABLE);
  database.close();
  for (let opening = 0; opening < 2; opening += 1) {
    using rows = await open(file);
    expect(rows.find('old')).toEqual(OLD);
    expect(rows.find('old', 'me')).toBeUndefined();
    rows.insert(artifact(`new-${opening}`, { clientId: 'me' }));
  }
  using rows = await open(file);
  expect(rows.ofSession('s', 'me').map(({ id }) => id)).toEqual(['new-0', 'new-1']);
});

test('processes that open an old table at once all find it with its new column', async () => {
  const file = await databaseFile();
  const database = new DatabaseSync(file);
  database.exec(OLD_TABLE);
  database.close();
  const program = `
    const { ArtifactRows } = await import(${JSON.stringify(new URL('rows.ts', import.meta.url).href)});
    const { Patience } = await import(${JSON.stringify(new URL('../sqlite.ts', import.meta.url).href)});
    using rows = await ArtifactRows.open(${JSON.stringify(file)}, new Patience(10_000));
    await rows.transact(() => rows.insert({ ...rows.find('old'), id: String(process.pid), clientId: 'me' }));`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' }),
  );
  onTestFinished(() => children.forEach((child) => void child.kill('SIGKILL')));
  const exits = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as unknown));
  expect(exits).toEqual([0, 0, 0, 0]);
  using rows = await open(file);
  expect(rows.ofSession('s')).toHaveLength(5);
});

test('a writer waits for a writer in another thread, and loses nothing', async () => {
  const file = await databaseFile();
  using rows = await open(file);
  const program = `
    const { parentPort } = require('node:worker_threads');
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(${JSON.stringify(file)});
    database.exec('BEGIN IMMEDIATE');
    parentPort.postMessage('holds it');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    database.exec('COMMIT');`;
  const holder = new Worker(program, { eval: true });
  onTestFinished(async () => void (await holder.terminate()));
  await once(holder, 'message');
  await rows.transact(() => rows.insert(artifact('patient')));
  expect(rows.find('patient')).toBeDefined();
});

test('a file that is no database is an error, and stays as it is', async () => {
  const file = await databaseFile();
  writeFileSync(file, 'no database at all, '.repeat(100));
  await expect(open(file)).rejects.toThrow(/not a database/);
  expect(readFileSync(file, 'utf8')).toMatch(/^no database at all/);
});

test('what is closed cannot be used', async () => {
  const rows = await open(await databaseFile());
  rows[Symbol.dispose]();
  expect(() => rows.find('a')).toThrow(/not open|closed|finalized/i);
});

test('while another writes, rows are found, and after a wait in vain the next ones are short', async () => {
  const file = await databaseFile();
  using before = await open(file);
  before.insert(artifact('there'));
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  using rows = await open(file, 300); // the table is up to date, so opening needs no lock
  expect(await rows.whenFree(() => rows.find('there')?.id)).toBe('there');
  const startedAt = performance.now();
  await expect(rows.transact(() => undefined)).rejects.toThrow('locked');
  const firstMs = performance.now() - startedAt;
  await expect(rows.transact(() => undefined)).rejects.toThrow('locked');
  expect(firstMs).toBeGreaterThanOrEqual(300);
  expect(performance.now() - startedAt - firstMs).toBeLessThan(firstMs);
});
