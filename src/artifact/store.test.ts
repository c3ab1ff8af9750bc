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
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { DirectoryWorkspace } from '../workspace/directory-workspace.ts';
import type { Artifact } from './artifact.ts';
import { ArtifactStore, type Retention } from './store.ts';

const UID = process.getuid?.() ?? 0;
const NOT_FOUND = { code: 'ARTIFACT_NOT_FOUND' };

afterEach(() => void vi.useRealTimers());

test('an artifact is kept with its facts and found again, also by another store', async () => {
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
  });
  expect(store.find(artifact.id)).toEqual(artifact);
  store.close();
  using another = new ArtifactStore(directory);
  expect(another.find(artifact.id)).toEqual(artifact);
  expect(String(await buffer(await another.open(artifact.id)))).toBe('pixels');
});

test('a store touches the disk when it is used, not before', async () => {
  const { directory, store } = await scratch();
  expect(existsSync(directory)).toBe(false);
  expect(store.list({ sessionId: 'any' })).toEqual([]);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

test('artifacts are listed by session, in the order in which they were kept', async () => {
  const { store, keep } = await scratch();
  const first = await keep('b.txt', '1');
  await keep('c.txt', '2', 'another');
  const second = await keep('a.txt', '3');
  expect(store.list({ sessionId: 'session' })).toEqual([first, second]);
  expect(store.list({ sessionId: "' OR 1=1 --" })).toEqual([]);
});

test('an unknown id is not found', async () => {
  const { store } = await scratch();
  for (const id of ['', 'nothing', '../../etc/passwd', 'x'.repeat(10_000)]) {
    expect(() => store.find(id)).toThrow(expect.objectContaining(NOT_FOUND));
    expect(() => store.remove(id)).toThrow(expect.objectContaining(NOT_FOUND));
    await expect(store.open(id)).rejects.toMatchObject(NOT_FOUND);
  }
});

test('equal content is stored once and stays as long as anyone has it', async () => {
  const { store, directory, keep } = await scratch();
  const [first, second] = [await keep('a.txt', 'same'), await keep('b.txt', 'same')];
  expect(contents(directory)).toEqual([first.sha256]);
  store.remove(first.id);
  expect(String(await buffer(await store.open(second.id)))).toBe('same');
  store.remove(second.id);
  expect(contents(directory)).toEqual([]);
  expect(() => store.find(second.id)).toThrow(expect.objectContaining(NOT_FOUND));
});

test('what is open stays readable when it is removed', async () => {
  const { store, keep } = await scratch();
  const { id } = await keep('a.txt', 'content');
  const stream = await store.open(id);
  store.remove(id);
  expect(String(await buffer(stream))).toBe('content');
});

test('an empty file is an artifact like any other', async () => {
  const { store, keep } = await scratch();
  const { id, sizeBytes } = await keep('empty', '');
  expect(sizeBytes).toBe(0);
  expect(await buffer(await store.open(id))).toHaveLength(0);
});

test('a file that changes while it is kept is kept as it was read', async () => {
  const { store, workspace } = await scratch();
  const name = path.join(workspace.path, 'file');
  writeFileSync(name, 'x'.repeat(100_000));
  await using growing = await workspace.open('file');
  appendFileSync(name, 'y'.repeat(1_000_000));
  const facts = { name: 'file', sessionId: 's', executionId: 'e' };
  expect(await store.keep(growing, facts)).toMatchObject({ sizeBytes: 100_000, sha256: sha256('x'.repeat(100_000)) });
  await using shrinking = await workspace.open('file');
  truncateSync(name, 10);
  expect(await store.keep(shrinking, facts)).toMatchObject({ sizeBytes: 10, sha256: sha256('x'.repeat(10)) });
});

test('keeping ends with its signal and leaves nothing', async () => {
  const { store, directory, workspace } = await scratch();
  writeFileSync(path.join(workspace.path, 'file'), 'x'.repeat(100_000));
  await using file = await workspace.open('file');
  const facts = { name: 'file', sessionId: 's', executionId: 'e', signal: AbortSignal.abort(new Error('enough')) };
  await expect(store.keep(file, facts)).rejects.toThrow('enough');
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  expect(store.list({ sessionId: 's' })).toEqual([]);
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
  expect(store.list({ sessionId: 'session' })).toEqual([young]);
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
  expect(store.list({ sessionId: 'session' })).toEqual(kept.slice(1));
  expect(await store.sweep({ maxTotalBytes: 99 })).toEqual({ removed: 3 });
});

test('a store that is in use stays within its size, and what came last stays', async () => {
  const { store, keep } = await scratch({ maxTotalBytes: 1000 });
  for (const name of ['a', 'b', 'c', 'd', 'e']) await keep(name, name.repeat(400));
  const names = (): string[] => store.list({ sessionId: 'session' }).map(({ name }) => name);
  await vi.waitFor(() => expect(names()).toEqual(['d', 'e']));
});

test('a store that is in use forgets what is too old', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  const { store, keep } = await scratch({ maxAgeMs: 5000 });
  const { id } = await keep('old', 'old');
  await vi.advanceTimersByTimeAsync(3_600_000);
  await vi.waitFor(() => expect(() => store.find(id)).toThrow('There is no artifact'));
});

test('a store that is closed while it puts itself in order is closed', async () => {
  const { store, keep } = await scratch({ maxTotalBytes: 1000 });
  for (let n = 0; n < 250; n += 1) await keep(`${n}`, `${n}`.padEnd(50));
  store.close();
  expect(store.list({ sessionId: 'session' }).length).toBeGreaterThan(0);
});

test('a sweep of more than one batch gets to its end', async () => {
  const { store, workspace } = await scratch();
  writeFileSync(path.join(workspace.path, 'file'), 'x');
  await using file = await workspace.open('file');
  for (let index = 0; index < 250; index += 1)
    await store.keep(file, { name: 'file', sessionId: 's', executionId: 'e' });
  expect(await store.sweep({ maxTotalBytes: 0 })).toEqual({ removed: 250 });
});

test('a sweep removes contents without a row and copies that nobody finishes', async () => {
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

test('content that was lost or cut is not found, and whole again once it is kept again', async () => {
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
      const { id } = await store.keep(file, { name, sessionId: 'kept', executionId: String(process.pid) });
      for await (const chunk of await store.open(id)) if (String(chunk)[0] !== name) throw new Error('wrong content');
      if (round % 6 < 5) store.remove(id);
      if (round % 10 === 0) await store.sweep({ maxAgeMs: 3_600_000, maxTotalBytes: 1 << 20 });
    }`;
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' }),
  );
  onTestFinished(() => children.forEach((child) => void child.kill('SIGKILL')));
  const exits = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as unknown));
  expect(exits).toEqual([0, 0, 0]);
  const kept = store.list({ sessionId: 'kept' });
  expect(kept).toHaveLength(30);
  for (const { id, name } of kept) expect(String(await buffer(await store.open(id)))).toBe(name.repeat(1000));
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
});

test('a process that is killed while it keeps leaves a store that works', async () => {
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
    const keeping = store.keep(file, { name: 'large', sessionId: 'session', executionId: 'e' });
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20);
    await keeping;`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
  const drafts = readdirSync(path.join(directory, 'incoming'));
  for (const draft of drafts) utimesSync(path.join(directory, 'incoming', draft), new Date(0), new Date(0));
  await store.sweep();
  expect(readdirSync(path.join(directory, 'incoming'))).toEqual([]);
  expect(store.list({ sessionId: 'session' }).map((artifact) => artifact.id)).toEqual([id]);
});

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
  keep: (name: string, content: string, sessionId?: string) => Promise<Artifact>;
}> {
  const base = await mkdtemp(path.join(tmpdir(), 'store-'));
  const directory = path.join(base, 'artifacts');
  const workspace = new DirectoryWorkspace({ path: path.join(base, 'workspace'), uid: UID });
  mkdirSync(workspace.path);
  const store = new ArtifactStore(directory, retention);
  onTestFinished(async () => {
    store.close();
    await rm(base, { recursive: true, force: true });
  });
  const keep = async (name: string, content: string, sessionId = 'session'): Promise<Artifact> => {
    const file = path.join(workspace.path, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    await using open = await workspace.open(name);
    return await store.keep(open, { name, sessionId, executionId: 'execution' });
  };
  return { directory, workspace, store, keep };
}
