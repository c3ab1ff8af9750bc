import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { SandboxFiles } from './sandbox-files.ts';
import { compareMarks } from './watch.ts';
import { Watchers } from './watchers.ts';

const mark = (ino: number, change: object = {}) => ({
  ino: BigInt(ino),
  isFile: true,
  sizeBytes: 1n,
  mtimeNs: 1n,
  mode: 0o644n,
  ...change,
});
const compare = (before: object, after: object): string[] =>
  compareMarks(new Map(Object.entries(before)), new Map(Object.entries(after))).map(
    ({ name, type }) => `${type.slice('EVENT_TYPE_'.length)} ${name}`,
  );

test.each([
  ['a new file', {}, { a: mark(1) }, ['CREATE a', 'WRITE a']],
  ['an empty one', {}, { a: mark(1, { sizeBytes: 0n }) }, ['CREATE a']],
  ['a new directory', {}, { a: mark(1, { isFile: false }) }, ['CREATE a']],
  ['other content', { a: mark(1) }, { a: mark(1, { mtimeNs: 2n }) }, ['WRITE a']],
  ['another size', { a: mark(1) }, { a: mark(1, { sizeBytes: 2n }) }, ['WRITE a']],
  ['another file of that name', { a: mark(1) }, { a: mark(2) }, ['WRITE a']],
  ['another mode', { a: mark(1) }, { a: mark(1, { mode: 0o600n }) }, ['CHMOD a']],
  ['a removed file', { a: mark(1) }, {}, ['REMOVE a']],
  ['another name', { a: mark(1) }, { b: mark(1) }, ['RENAME a', 'CREATE b']],
  [
    'a directory in which something happened',
    { a: mark(1, { isFile: false }) },
    { a: mark(1, { isFile: false, mtimeNs: 2n }) },
    [],
  ],
  ['nothing', { a: mark(1) }, { a: mark(1) }, []],
])('%s is told as what it is', (_, before, after, events) => {
  expect(compare(before, after)).toEqual(events);
});

let directory: string;
let watchers: Watchers;
const at = (name: string): string => path.join(directory, 'home', name);
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'viv-watch-'));
  for (const name of ['home', 'tmp', 'trash', 'outside']) mkdirSync(path.join(directory, name));
  const place = { home: at(''), temporary: path.join(directory, 'tmp'), trash: path.join(directory, 'trash') };
  watchers = new Watchers(new SandboxFiles(place));
  onTestFinished(async () => {
    watchers[Symbol.dispose]();
    await rm(directory, { recursive: true, force: true });
  });
});

/** Waits until an event of this kind and name was told. */
async function seen(id: string, wanted: string): Promise<string[]> {
  const events: string[] = [];
  const look = (): string[] => {
    events.push(...watchers.take(id).map(({ name, type }) => `${type.slice('EVENT_TYPE_'.length)} ${name}`));
    return events;
  };
  await expect.poll(look).toContain(wanted);
  return events;
}

test('a watcher that is asked tells what happened since', async () => {
  writeFileSync(at('old'), 'x');
  const id = watchers.create({ path: '.', recursive: false });
  expect(watchers.take(id)).toEqual([]);
  writeFileSync(at('new'), 'x');
  await seen(id, 'CREATE new');
  renameSync(at('new'), at('other'));
  expect(await seen(id, 'CREATE other')).toContain('RENAME new');
  chmodSync(at('other'), 0o600);
  await seen(id, 'CHMOD other');
  rmSync(at('old'));
  await seen(id, 'REMOVE old');
  watchers.remove(id);
  expect(() => watchers.take(id)).toThrow('There is no watcher');
});

test('a recursive watcher looks into directories that come later, and follows no link', async () => {
  const id = watchers.create({ path: '.', recursive: true });
  mkdirSync(at('a/b'), { recursive: true });
  symlinkSync(path.join(directory, 'outside'), at('way'));
  await seen(id, 'CREATE a/b');
  writeFileSync(path.join(directory, 'outside/x'), '');
  writeFileSync(at('a/b/c'), '');
  expect(await seen(id, 'CREATE a/b/c')).not.toContain('CREATE way/x');
});

test('a stream tells events until it is disposed of', async () => {
  const stream = watchers.stream({ path: '.', recursive: false });
  const reader = stream.events[Symbol.asyncIterator]();
  writeFileSync(at('new'), '');
  expect((await reader.next()).value).toEqual({ name: 'new', type: 'EVENT_TYPE_CREATE' });
  stream[Symbol.dispose]();
});

test('when the sandbox ends, its streams end', async () => {
  const { events } = watchers.stream({ path: '.', recursive: false });
  const reading = Array.fromAsync(events);
  watchers[Symbol.dispose]();
  expect(await reading).toEqual([]);
});

test('there are not more watches than a sandbox may have', () => {
  const ids = Array.from({ length: 64 }, () => watchers.create({ path: '.', recursive: false }));
  expect(() => watchers.create({ path: '.', recursive: false })).toThrow('up to 64 watches');
  watchers.remove(ids[0] ?? '');
  expect(() => watchers.create({ path: 'none', recursive: false })).toThrow('There is no');
  watchers.create({ path: '.', recursive: false });
});
