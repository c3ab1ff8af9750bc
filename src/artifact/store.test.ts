import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { DirectoryWorkspace } from '../workspace/directory-workspace.ts';
import type { Artifact } from './artifact.ts';
import { ArtifactStore, type Retention } from './store.ts';

const UID = process.getuid?.() ?? 0;
const NOT_FOUND = { code: 'ARTIFACT_NOT_FOUND' };

afterEach(() => void vi.useRealTimers());

test('an artifact is kept with its description and found again, also by another store', async () => {
  const { store, directory, keep } = await scratch();
  const artifact = await keep('plots/sine.png', 'pixels');
  expect(artifact).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    name: 'plots/sine.png',
    sizeBytes: 6,
    mime: 'image/png',
    sha256: sha256('pixels'),
    createdAt: expect.any(Date) as Date,
    sessionId: 'session',
    executionId: 'execution',
    clientId: null,
  });
  expect(await store.get(artifact.id)).toEqual(artifact);
  await store.close();
  await using another = new ArtifactStore(directory);
  expect(await another.get(artifact.id)).toEqual(artifact);
  expect(String(await buffer(await another.open(artifact.id)))).toBe('pixels');
});

test('a store does not touch the disk before it is used', async () => {
  const { directory, store } = await scratch();
  expect(existsSync(directory)).toBe(false);
  expect(await store.list({ sessionId: 'any' })).toEqual([]);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

test('artifacts are listed by session, in the order in which they were kept', async () => {
  const { store, keep } = await scratch();
  const first = await keep('b.txt', '1');
  await keep('c.txt', '2', { sessionId: 'another' });
  const second = await keep('a.txt', '3');
  expect(await store.list({ sessionId: 'session' })).toEqual([first, second]);
  expect(await store.list({ sessionId: "' OR 1=1 --" })).toEqual([]);
});

test('an unknown id is not found', async () => {
  const { store } = await scratch();
  for (const id of ['', 'nothing', '../../etc/passwd', 'x'.repeat(10_000)]) {
    await expect(store.get(id)).rejects.toMatchObject(NOT_FOUND);
    await expect(store.remove(id)).rejects.toMatchObject(NOT_FOUND);
    await expect(store.open(id)).rejects.toMatchObject(NOT_FOUND);
  }
});

test('to a client, what is another client’s does not exist', async () => {
  const { store, keep } = await scratch();
  const mine = await keep('a.txt', 'mine', { clientId: 'me' });
  const theirs = await keep('b.txt', 'theirs', { clientId: 'them' });
  const nobodys = await keep('c.txt', 'of nobody');
  const asMe = { clientId: 'me' };
  expect(await store.get(mine.id, asMe)).toEqual(mine);
  expect(String(await buffer(await store.open(mine.id, asMe)))).toBe('mine');
  expect(await store.list({ sessionId: 'session', ...asMe })).toEqual([mine]);
  expect(await store.list({ sessionId: 'session' })).toEqual([mine, theirs, nobodys]);
  const [unknown] = await Promise.allSettled([store.get('unknown', asMe)]);
  for (const { id } of [theirs, nobodys]) {
    for (const look of [store.get(id, asMe), store.open(id, asMe), store.remove(id, asMe)]) {
      await expect(look).rejects.toMatchObject({ ...NOT_FOUND, message: messageOf(unknown).replace('unknown', id) });
    }
  }
  expect(await store.get(theirs.id)).toEqual(theirs);
  await store.remove(mine.id, asMe);
  await expect(store.get(mine.id)).rejects.toMatchObject(NOT_FOUND);
});

test('a misspelt client is refused: it must not see everything', async () => {
  const { store, keep } = await scratch();
  const { id } = await keep('a.txt', 'mine', { clientId: 'me' });
  // @ts-expect-error - an unknown option of a caller from JavaScript
  await expect(store.open(id, { clientID: 'them' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  // @ts-expect-error - see above
  await expect(store.get(id, 'them')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(store.list({ sessionId: 'session', clientId: '' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('a database from before artifacts had owners is read, and extended once', async () => {
  const { store, directory, keep } = await scratch();
  const { id, ...facts } = await keep('a.txt', 'old');
  await store.close();
  const file = path.join(directory, 'artifacts.sqlite');
  const before = new DatabaseSync(file);
  before.exec('ALTER TABLE artifacts DROP COLUMN clientId');
  before.close();
  expect(await store.get(id)).toEqual({ id, ...facts });
  const mine = await keep('b.txt', 'new', { clientId: 'me' });
  await store.close();
  expect(await store.list({ sessionId: 'session' })).toEqual([{ id, ...facts }, mine]);
  await expect(store.get(id, { clientId: 'me' })).rejects.toMatchObject(NOT_FOUND);
});

test('equal content is stored once and stays as long as an artifact has it', async () => {
  const { store, directory, keep } = await scratch();
  const [first, second] = [await keep('a.txt', 'same'), await keep('b.txt', 'same')];
  expect(contents(directory)).toEqual([first.sha256]);
  await store.remove(first.id);
  expect(String(await buffer(await store.open(second.id)))).toBe('same');
  await store.remove(second.id);
  expect(contents(directory)).toEqual([]);
  await expect(store.get(second.id)).rejects.toMatchObject(NOT_FOUND);
});

test('an open content stays readable when its artifact is removed', async () => {
  const { store, keep } = await scratch();
  const { id } = await keep('a.txt', 'content');
  const stream = await store.open(id);
  await store.remove(id);
  expect(String(await buffer(stream))).toBe('content');
});

test('an empty file is an artifact like any other', async () => {
  const { store, keep } = await scratch();
  const { id, sizeBytes } = await keep('empty', '');
  expect(sizeBytes).toBe(0);
  expect(await buffer(await store.open(id))).toHaveLength(0);
});

test('a file that changes while it is copied is kept as it was read', async () => {
  const { store, workspace } = await scratch();
  const name = path.join(workspace.path, 'file');
  writeFileSync(name, 'x'.repeat(100_000));
  await using growing = await workspace.open('file');
  appendFileSync(name, 'y'.repeat(1_000_000));
  const facts = { name: 'file', sessionId: 's', executionId: 'e' };
  expect(await store.writerFor(null).keep(growing, facts)).toMatchObject({
    sizeBytes: 100_000,
    sha256: sha256('x'.repeat(100_000)),
  });
  await using shrinking = await workspace.open('file');
  truncateSync(name, 10);
  expect(await store.writerFor(null).keep(shrinking, facts)).toMatchObject({
    sizeBytes: 10,
    sha256: sha256('x'.repeat(10)),
  });
});

test('an abort stops the copying and leaves nothing', async () => {
  const { store, directory, workspace } = await scratch();
  writeFileSync(path.join(workspace.path, 'file'), 'x'.repeat(100_000));
  await using file = await workspace.open('file');
  const facts = { name: 'file', sessionId: 's', executionId: 'e', signal: AbortSignal.abort(new Error('enough')) };
  await expect(store.writerFor(null).keep(file, facts)).rejects.toThrow('enough');
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  expect(await store.list({ sessionId: 's' })).toEqual([]);
});

test('a sweep removes what is too old', async () => {
  const { store, directory, keep } = await scratch();
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: now - 10_000 });
  const old = await keep('old', 'old');
  const oldToo = await keep('old too', 'shared');
  vi.setSystemTime(now);
  const young = await keep('young', 'shared');
  expect(await store.sweep({ maxAgeMs: 5000 })).toEqual({ removed: 2 });
  expect(await store.list({ sessionId: 'session' })).toEqual([young]);
  expect([old, oldToo].filter(({ sha256: content }) => contents(directory).includes(content))).toEqual([oldToo]);
});

test('a sweep removes the oldest until the rest fits, counting shared content once', async () => {
  const { store, keep } = await scratch();
  const kept: Artifact[] = [];
  for (const [name, content] of [
    ['a', 'A'],
    ['b', 'B'],
    ['c', 'C'],
    ['d', 'C'],
  ] as const) {
    kept.push(await keep(name, content.repeat(100)));
  }
  expect(await store.sweep({ maxTotalBytes: 300 })).toEqual({ removed: 0 });
  expect(await store.sweep({ maxTotalBytes: 200 })).toEqual({ removed: 1 });
  expect(await store.list({ sessionId: 'session' })).toEqual(kept.slice(1));
  expect(await store.sweep({ maxTotalBytes: 99 })).toEqual({ removed: 3 });
});

test('a store in use stays within its size and keeps what came last', async () => {
  const { store, keep } = await scratch({ maxTotalBytes: 1000 });
  for (const name of ['a', 'b', 'c', 'd', 'e']) await keep(name, name.repeat(400));
  const names = async (): Promise<string[]> => (await store.list({ sessionId: 'session' })).map(({ name }) => name);
  await vi.waitFor(async () => expect(await names()).toEqual(['d', 'e']));
});

test('a store in use removes what is too old', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  const { store, keep } = await scratch({ maxAgeMs: 5000 });
  const { id } = await keep('old', 'old');
  await vi.advanceTimersByTimeAsync(3_600_000);
  await vi.waitFor(() => expect(store.get(id)).rejects.toThrow('There is no artifact'));
});

test('a store can be closed while it trims itself', async () => {
  const { store, keep } = await scratch({ maxTotalBytes: 1000 });
  for (let n = 0; n < 250; n += 1) await keep(`${n}`, `${n}`.padEnd(50));
  await store.close();
  expect((await store.list({ sessionId: 'session' })).length).toBeGreaterThan(0);
});

test("a client that keeps much pushes out its own artifacts and nobody else's", async () => {
  const { store, workspace } = await scratch();
  const keepFor = async (clientId: string | null, name: string, content: string): Promise<string> => {
    writeFileSync(path.join(workspace.path, name), content);
    await using file = await workspace.open(name);
    return (await store.writerFor(clientId).keep(file, { name, sessionId: `of ${clientId}`, executionId: 'e' })).id;
  };
  const early = await keepFor('quiet', 'early', 'q'.repeat(300));
  const unowned = await keepFor(null, 'unowned', 'u'.repeat(100));
  const flood: string[] = [];
  for (let index = 0; index < 250; index += 1) flood.push(await keepFor('loud', 'flood', `${index}`.padEnd(100)));
  const late = await keepFor('quiet', 'late', 'q'.repeat(200));
  await store.trim({ maxTotalBytes: 2000 });
  expect((await store.list({ sessionId: 'of quiet' })).map(({ id }) => id)).toEqual([early, late]);
  expect((await store.list({ sessionId: 'of null' })).map(({ id }) => id)).toEqual([unowned]);
  expect((await store.list({ sessionId: 'of loud' })).map(({ id }) => id)).toEqual(flood.slice(-14));
});

test('a sweep of more than one batch is completed', async () => {
  const { store, workspace } = await scratch();
  writeFileSync(path.join(workspace.path, 'file'), 'x');
  await using file = await workspace.open('file');
  for (let index = 0; index < 250; index += 1)
    await store.writerFor(null).keep(file, { name: 'file', sessionId: 's', executionId: 'e' });
  expect(await store.sweep({ maxTotalBytes: 0 })).toEqual({ removed: 250 });
});

test('a sweep removes contents without a row and abandoned drafts', async () => {
  const { store, directory, keep } = await scratch();
  const { sha256: content } = await keep('a.txt', 'kept');
  const orphan = path.join(directory, 'contents', 'ab', `ab${'0'.repeat(62)}`);
  mkdirSync(path.dirname(orphan), { recursive: true });
  writeFileSync(orphan, 'x');
  const [abandoned, current] = ['abandoned', 'current'].map((name) => path.join(directory, 'incoming', name));
  writeFileSync(abandoned ?? '', 'x');
  writeFileSync(current ?? '', 'x');
  utimesSync(abandoned ?? '', new Date(0), new Date(0));
  expect(await store.sweep()).toEqual({ removed: 0 });
  expect(contents(directory)).toEqual([content]);
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual(['current']);
});

test('content that was lost or cut is not found until it is kept again', async () => {
  const { store, directory, keep } = await scratch();
  const first = await keep('a.txt', 'content');
  truncateSync(path.join(directory, 'contents', first.sha256.slice(0, 2), first.sha256), 3);
  await expect(store.open(first.id)).rejects.toMatchObject(NOT_FOUND);
  await keep('b.txt', 'content');
  expect(String(await buffer(await store.open(first.id)))).toBe('content');
  await rm(path.join(directory, 'contents'), { recursive: true });
  await expect(store.open(first.id)).rejects.toMatchObject(NOT_FOUND);
});

test('processes that keep, remove and sweep the same contents at once lose nothing', async () => {
  const { store, directory, workspace } = await scratch();
  for (const name of ['a', 'b', 'c']) writeFileSync(path.join(workspace.path, name), name.repeat(1000));
  const program = `
    const { ArtifactStore } = await import(${JSON.stringify(new URL('store.ts', import.meta.url).href)});
    const { DirectoryWorkspace } = await import(${JSON.stringify(new URL('../workspace/directory-workspace.ts', import.meta.url).href)});
    const workspace = new DirectoryWorkspace(${JSON.stringify(workspace)});
    const store = new ArtifactStore(${JSON.stringify(directory)});
    for (let round = 0; round < 60; round += 1) {
      const name = 'abc'[round % 3];
      await using file = await workspace.open(name);
      const { id } = await store.writerFor(null).keep(file, { name, sessionId: 'kept', executionId: String(process.pid) });
      for await (const chunk of await store.open(id)) if (String(chunk)[0] !== name) throw new Error('wrong content');
      if (round % 6 < 5) await store.remove(id);
      if (round % 10 === 0) await store.sweep({ maxAgeMs: 3_600_000, maxTotalBytes: 1 << 20 });
    }`;
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' }),
  );
  onTestFinished(() => children.forEach((child) => void child.kill('SIGKILL')));
  const exits = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as unknown));
  expect(exits).toEqual([0, 0, 0]);
  const kept = await store.list({ sessionId: 'kept' });
  expect(kept).toHaveLength(30);
  for (const { id, name } of kept) expect(String(await buffer(await store.open(id)))).toBe(name.repeat(1000));
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
});

test('a process that is killed while it copies leaves a working store', async () => {
  const { store, directory, workspace, keep } = await scratch();
  const { id } = await keep('before', 'before');
  writeFileSync(path.join(workspace.path, 'large'), '');
  truncateSync(path.join(workspace.path, 'large'), 1 << 30);
  const program = `
    const { ArtifactStore } = await import(${JSON.stringify(new URL('store.ts', import.meta.url).href)});
    const { DirectoryWorkspace } = await import(${JSON.stringify(new URL('../workspace/directory-workspace.ts', import.meta.url).href)});
    const workspace = new DirectoryWorkspace(${JSON.stringify(workspace)});
    const store = new ArtifactStore(${JSON.stringify(directory)});
    const file = await workspace.open('large');
    const keeping = store.writerFor(null).keep(file, { name: 'large', sessionId: 'session', executionId: 'e' });
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20);
    await keeping;`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
  const drafts = readdirSync(path.join(directory, 'incoming'));
  for (const draft of drafts) utimesSync(path.join(directory, 'incoming', draft), new Date(0), new Date(0));
  await store.sweep();
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  expect((await store.list({ sessionId: 'session' })).map((artifact) => artifact.id)).toEqual([id]);
});

function messageOf(result: PromiseSettledResult<unknown>): string {
  return result.status === 'rejected' ? (result.reason as Error).message : '';
}

function contents(directory: string): string[] {
  return globSync('*/*', { cwd: path.join(directory, 'contents') }).map((name) => path.basename(name));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function scratch(retention?: Retention): Promise<{
  directory: string;
  workspace: DirectoryWorkspace;
  store: ArtifactStore;
  keep: (name: string, content: string, owner?: { sessionId?: string; clientId?: string }) => Promise<Artifact>;
}> {
  const base = await mkdtemp(path.join(tmpdir(), 'store-'));
  const directory = path.join(base, 'artifacts');
  const workspace = new DirectoryWorkspace({ path: path.join(base, 'workspace'), uid: UID });
  mkdirSync(workspace.path);
  const store = new ArtifactStore(directory, retention);
  onTestFinished(async () => {
    await store.close();
    await rm(base, { recursive: true, force: true });
  });
  const keep: Awaited<ReturnType<typeof scratch>>['keep'] = async (name, content, owner = {}) => {
    const file = path.join(workspace.path, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    await using open = await workspace.open(name);
    const { sessionId = 'session', clientId = null } = owner;
    return await store.writerFor(clientId).keep(open, { name, sessionId, executionId: 'execution' });
  };
  return { directory, workspace, store, keep };
}
