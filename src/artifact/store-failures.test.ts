/** What the store does when the disk, the database or another process does not do as it should. */
import { globSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Artifact } from './artifact.ts';
import { ArtifactStore, type Keepable, type Retention } from './store.ts';

const NOT_FOUND = { code: 'ARTIFACT_NOT_FOUND' };
const FACTS = { name: 'a.txt', sessionId: 's', executionId: 'e' };

afterEach(() => void vi.useRealTimers());

function content(...pieces: readonly string[]): Keepable {
  return {
    async *chunks() {
      for (const piece of pieces) yield await Promise.resolve(Buffer.from(piece));
    },
  };
}

test('everything in the store is for its owner only', async () => {
  const { directory, keep } = await scratch();
  await keep('secret');
  for (const name of ['.', 'incoming', 'contents']) {
    expect(statSync(path.join(directory, name)).mode & 0o777, name).toBe(0o700);
  }
  const [file = ''] = globSync('contents/*/*', { cwd: directory });
  expect(statSync(path.join(directory, file)).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(path.join(directory, file))).mode & 0o777).toBe(0o700);
});

test('a source that fails midway leaves neither a row nor a draft', async () => {
  const { store, directory } = await scratch();
  const failing: Keepable = {
    async *chunks() {
      yield await Promise.resolve(Buffer.from('half'));
      throw new Error('the workspace is gone');
    },
  };
  await expect(store.writerFor(null).keep(failing, FACTS)).rejects.toThrow('the workspace is gone');
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  expect(await store.list({ sessionId: 's' })).toEqual([]);
});

test('a late copy is as long as was promised, or there is none', async () => {
  const { store, directory } = await scratch();
  const shrunk = { ...content('half'), sizeBytes: 8, [Symbol.asyncDispose]: () => Promise.resolve() };
  const { id, done } = store.writerFor(null).keepLater(shrunk, FACTS);
  const failure = { code: 'FILE_REFUSED', message: expect.stringMatching(/"a.txt" shrank/) as unknown };
  await expect(done).rejects.toMatchObject(failure);
  await expect(store.open(id)).rejects.toMatchObject(failure);
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
});

test('an abort between two chunks stops the copying', async () => {
  const { store, directory } = await scratch();
  const controller = new AbortController();
  let asked = 0;
  const endless: Keepable = {
    async *chunks() {
      for (;;) {
        asked += 1;
        if (asked === 3) controller.abort(new Error('enough'));
        yield await Promise.resolve(Buffer.from('x'));
      }
    },
  };
  const keeping = store.writerFor(null).keep(endless, { ...FACTS, signal: controller.signal });
  await expect(keeping).rejects.toThrow('enough');
  expect(asked).toBe(3);
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
});

test('a content that cannot be moved into the store leaves no row', async () => {
  const { store, directory } = await scratch();
  await store.list({ sessionId: 's' });
  writeFileSync(path.join(directory, 'contents'), 'a file where a directory should be');
  await expect(store.writerFor(null).keep(content('x'), FACTS)).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    cause: { code: 'ENOTDIR' },
  });
  expect(await store.list({ sessionId: 's' })).toEqual([]);
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  rmSync(path.join(directory, 'contents'));
  expect(await store.writerFor(null).keep(content('x'), FACTS)).toMatchObject({ sizeBytes: 1 });
});

test('a draft that a sweep of another process took is an error, and no row is left', async () => {
  const { store, directory } = await scratch();
  await using draft = await store.writerFor(null).draft();
  await draft.write(Buffer.from('x'));
  for (const name of readdirSync(path.join(directory, 'incoming'))) rmSync(path.join(directory, 'incoming', name));
  await expect(draft.keep(FACTS)).rejects.toThrow('ENOENT');
  expect(await store.list({ sessionId: 's' })).toEqual([]);
});

test('a store that is closed under a draft refuses it, and nothing is left', async () => {
  const { store, directory } = await scratch();
  const draft = await store.writerFor(null).draft();
  await draft.write(Buffer.from('x'));
  await store.close();
  await store.close();
  await expect(draft.keep(FACTS)).rejects.toThrow('database is not open');
  await draft[Symbol.asyncDispose]();
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  expect(await store.list({ sessionId: 's' })).toEqual([]);
});

test('a link in the place of a content is not followed', async () => {
  const { store, directory, keep } = await scratch();
  const { id, sizeBytes } = await keep('secret!');
  const [file = ''] = globSync('contents/*/*', { cwd: directory });
  const target = path.join(directory, 'elsewhere');
  writeFileSync(target, 'x'.repeat(sizeBytes));
  rmSync(path.join(directory, file));
  symlinkSync(target, path.join(directory, file));
  await expect(store.open(id)).rejects.toMatchObject({ code: 'STORAGE_FAILED', cause: { code: 'ELOOP' } });
});

test.for<[string, (file: string) => void]>([
  ['grew', (file) => writeFileSync(file, 'longer than before')],
  ['became empty', (file) => writeFileSync(file, '')],
  ['is gone', (file) => rmSync(file)],
])('a content that %s is not served, and its artifact can still be removed', async ([, damage]) => {
  const { store, directory, keep } = await scratch();
  const { id } = await keep('content');
  const [file = ''] = globSync('contents/*/*', { cwd: directory });
  damage(path.join(directory, file));
  await expect(store.open(id)).rejects.toMatchObject(NOT_FOUND);
  await store.remove(id);
  await expect(store.remove(id)).rejects.toMatchObject(NOT_FOUND);
  expect(globSync('contents/*/*', { cwd: directory })).toEqual([]);
});

test('the message names an unknown artifact, shortened, and what to do', async () => {
  const { store } = await scratch();
  await expect(store.get('some"id')).rejects.toThrow(
    String.raw`There is no artifact "some\"id". It may have been removed`,
  );
  const [failed] = await Promise.allSettled([store.get('x'.repeat(1000))]);
  const message = failed.status === 'rejected' ? (failed.reason as Error).message : '';
  expect(message).toContain(`"${'x'.repeat(64)}"`);
  expect(message).not.toContain('x'.repeat(65));
});

test('what a client’s runs read back is only their own', async () => {
  const { store, keep } = await scratch();
  const mine = await keep('mine', 'me');
  const theirs = await keep('theirs', 'them');
  const nobodys = await keep('of nobody', null);
  expect(await text(await store.writerFor('me').open(mine.id))).toBe('mine');
  for (const { id } of [theirs, nobodys]) await expect(store.writerFor('me').open(id)).rejects.toMatchObject(NOT_FOUND);
  expect(await text(await store.writerFor(null).open(theirs.id))).toBe('theirs');
});

test('an artifact stays for exactly its time', async () => {
  const { store, keep } = await scratch({ maxAgeMs: 5000 });
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  const { id } = await keep('x');
  vi.setSystemTime(1_005_000);
  expect(await store.trim()).toEqual({ removed: 0 });
  expect(await store.get(id)).toBeDefined();
  vi.setSystemTime(1_005_001);
  expect(await store.trim()).toEqual({ removed: 1 });
});

test('a store may be exactly as large as it may be', async () => {
  const { store, keep } = await scratch();
  const [first, second] = [await keep('a'.repeat(50)), await keep('b'.repeat(50))];
  expect(await store.trim({ maxTotalBytes: 100 })).toEqual({ removed: 0 });
  expect(await store.trim({ maxTotalBytes: 99 })).toEqual({ removed: 1 });
  await expect(store.get(first.id)).rejects.toMatchObject(NOT_FOUND);
  expect(await store.get(second.id)).toEqual(second);
});

test('age and size are both kept to', async () => {
  const { store, keep } = await scratch();
  vi.useFakeTimers({ toFake: ['Date'], now: 1000 });
  const kept: Artifact[] = [];
  for (const letter of ['a', 'b', 'c', 'd']) {
    kept.push(await keep(letter.repeat(10)));
    vi.setSystemTime(Date.now() + 1000);
  }
  expect(await store.trim({ maxAgeMs: 3000, maxTotalBytes: 25 })).toEqual({ removed: 2 });
  expect(await store.list({ sessionId: 's' })).toEqual(kept.slice(2));
});

test('trimming leaves drafts and orphans to the sweep', async () => {
  const { store, directory } = await scratch();
  await store.list({ sessionId: 's' });
  const orphan = path.join(directory, 'contents', 'ab', `ab${'0'.repeat(62)}`);
  mkdirSync(path.dirname(orphan), { recursive: true });
  writeFileSync(orphan, 'x');
  await store.trim({ maxAgeMs: 0, maxTotalBytes: 0 });
  expect(globSync('contents/*/*', { cwd: directory })).toHaveLength(1);
  await store.sweep();
  expect(globSync('contents/*/*', { cwd: directory })).toEqual([]);
});

test('a sweep of a store that was never used makes it and finds nothing', async () => {
  const { store } = await scratch({ maxAgeMs: 1, maxTotalBytes: 1 });
  expect(await store.sweep()).toEqual({ removed: 0 });
});

test('two stores on one directory see each other’s artifacts and removals', async () => {
  const { store, directory, keep } = await scratch();
  await using other = new ArtifactStore(directory);
  const { id } = await keep('shared');
  expect(await text(await other.open(id))).toBe('shared');
  const stream = await store.open(id);
  await other.remove(id);
  await expect(store.get(id)).rejects.toMatchObject(NOT_FOUND);
  expect(await text(stream)).toBe('shared');
});

test('contents that are kept at once, in many copies, are all there', async () => {
  const { store, directory, keep } = await scratch();
  const kept = await Promise.all(Array.from({ length: 30 }, (_, n) => keep(`content ${n % 3}`)));
  expect(new Set(kept.map(({ id }) => id)).size).toBe(30);
  expect(globSync('contents/*/*', { cwd: directory })).toHaveLength(3);
  await Promise.all(kept.slice(3).map(({ id }) => store.remove(id)));
  for (const { id } of kept.slice(0, 3)) expect(await text(await store.open(id))).toMatch(/^content \d$/);
});

async function scratch(retention?: Retention): Promise<{
  store: ArtifactStore;
  directory: string;
  keep: (content: string, clientId?: string | null) => Promise<Artifact>;
}> {
  const base = await mkdtemp(path.join(tmpdir(), 'store-'));
  const directory = path.join(base, 'artifacts');
  const store = new ArtifactStore(directory, retention);
  onTestFinished(async () => {
    await store.close();
    await rm(base, { recursive: true, force: true });
  });
  return { store, directory, keep: (bytes, clientId = null) => store.writerFor(clientId).keep(content(bytes), FACTS) };
}
