import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defaultStoragePath, openStorage } from './storage.ts';

test('a file and its directory are made for their owner alone', async () => {
  const place = defaultStoragePath(path.join(await temporaryDirectory(), 'new', 'data'));
  await using storage = await openStorage(place);
  expect(await storage.approvals.list()).toEqual([]);
  for (const file of [place, `${place}-wal`, `${place}-shm`]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(path.dirname(place))).mode & 0o777).toBe(0o700);
});

test('readers do not wait for writers', async () => {
  const place = await emptyFile();
  await using storage = await openStorage(place);
  using writer = new DatabaseSync(place);
  writer.exec('BEGIN IMMEDIATE');
  expect(await storage.audit.list()).toEqual([]);
});

test('a file that another connection is just making is waited for', async () => {
  const place = await emptyFile();
  using other = new DatabaseSync(place);
  other.exec('BEGIN IMMEDIATE'); // SQLite then refuses at once to change the journal mode
  const opening = openStorage(place);
  other.exec('COMMIT');
  await using storage = await opening;
  expect(await storage.approvals.list()).toEqual([]);
});

test('a file that is no database is left as it is', async () => {
  const place = await emptyFile();
  await writeFile(place, 'This is a letter to my aunt, and it is long enough to be looked at. '.repeat(100));
  const before = await stat(place);
  const opening = openStorage(place);
  await expect(opening).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await expect(opening).rejects.toThrow(/file is not a database.*Check that/);
  expect(await stat(place)).toMatchObject({ size: before.size, mtimeMs: before.mtimeMs });
});

test('a file of a newer version is not touched', async () => {
  const place = await emptyFile();
  await (await openStorage(place)).close();
  using database = new DatabaseSync(place);
  database.exec('PRAGMA user_version = 99');
  await expect(openStorage(place)).rejects.toThrow(/version 99.*a newer Vivarium created it/);
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 99 });
});

test('a place that cannot be written is an error that names it', async () => {
  const directory = await temporaryDirectory();
  await writeFile(path.join(directory, 'file'), '');
  const place = path.join(directory, 'file', 'storage.sqlite');
  const opening = openStorage(place);
  await expect(opening).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await expect(opening).rejects.toThrow(place);
});

test.skipIf(process.getuid?.() === 0)('a directory that is not ours is an error', async () => {
  const directory = await temporaryDirectory();
  await chmod(directory, 0o500);
  await expect(openStorage(path.join(directory, 'a'))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

test.each(['', 'mysql://user:secret@host/db', 'sqlite:file'])('%j is no place for storage', async (place) => {
  const opening = openStorage(place);
  await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(opening).rejects.not.toThrow('secret');
});

test('a checkpoint needs a thread', async () => {
  await using storage = await openStorage(await emptyFile());
  const writing = storage.checkpointer.putWrites({ configurable: { thread_id: 't' } }, [], 'task');
  await expect(writing).rejects.toThrow(/"checkpoint_id" is missing/);
  await expect(storage.checkpointer.putWrites({}, [], 'task')).rejects.toThrow(/"thread_id" is missing/);
  await expect(storage.checkpointer.getTuple({ configurable: { thread_id: 7 } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});

async function emptyFile(): Promise<string> {
  return path.join(await temporaryDirectory(), 'storage.sqlite');
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-storage-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
