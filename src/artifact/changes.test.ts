import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { DirectoryWorkspace } from '../workspace/directory-workspace.ts';
import type { FoundFile } from '../workspace/workspace.ts';
import { changedSince, emptyInventory, takeInventory, updateInventory, type FileInventory } from './changes.ts';

/** Longer than a tick of the clock that the kernel stamps files with. */
const TICK_MS = 20;

test('what was created or changed is told apart, what was there before is not named', async () => {
  const { workspace, inside } = await scratch();
  for (const name of ['same.txt', 'grown.txt', 'rewritten.txt', 'removed.txt']) writeFileSync(inside(name), 'before');
  await sleep(TICK_MS);
  const before = await takeInventory(workspace);
  writeFileSync(inside('grown.txt'), 'before and after');
  writeFileSync(inside('rewritten.txt'), 'after!');
  rmSync(inside('removed.txt'));
  mkdirSync(inside('new'));
  writeFileSync(inside('new', 'file.txt'), '');
  symlinkSync('/etc/passwd', inside('link'));
  const after = await takeInventory(workspace);
  expect(changedSince(before, after).map((file) => [file.path, file.change])).toEqual([
    ['grown.txt', 'changed'],
    ['new/file.txt', 'created'],
    ['rewritten.txt', 'changed'],
  ]);
  expect(changedSince(after, after)).toEqual([]);
});

test('a file that is rewritten under its old date and size is found', async () => {
  const { workspace, inside } = await scratch();
  const past = new Date('2001-01-01');
  writeFileSync(inside('file.txt'), 'before');
  utimesSync(inside('file.txt'), past, past);
  await sleep(TICK_MS);
  const before = await takeInventory(workspace);
  writeFileSync(inside('file.txt'), 'after!');
  utimesSync(inside('file.txt'), past, past);
  expect(changedSince(before, await takeInventory(workspace))).toMatchObject([{ path: 'file.txt', change: 'changed' }]);
});

test('another file in the place of one is a change, also with the same content', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('file.txt'), 'same');
  writeFileSync(inside('other'), 'same');
  const before = await takeInventory(workspace);
  renameSync(inside('other'), inside('file.txt'));
  expect(changedSince(before, await takeInventory(workspace))).toMatchObject([{ path: 'file.txt', change: 'changed' }]);
});

test('files in a directory that was renamed are at a new place', async () => {
  const { workspace, inside } = await scratch();
  mkdirSync(inside('old'));
  writeFileSync(inside('old', 'file.txt'), 'x');
  const before = await takeInventory(workspace);
  renameSync(inside('old'), inside('new'));
  expect(changedSince(before, await takeInventory(workspace))).toMatchObject([
    { path: 'new/file.txt', change: 'created' },
  ]);
});

test('after an inventory that was cut short the time of change decides', async () => {
  const { workspace, inside } = await scratch();
  for (let index = 0; index < 50; index += 1) writeFileSync(inside(`old${index}`), 'x');
  await sleep(2 * TICK_MS);
  const before = await takeInventory(workspace, { caps: { maxEntries: 10 } });
  expect(before.cut).toBe('entries');
  await sleep(TICK_MS);
  writeFileSync(inside('new.txt'), 'x');
  truncateSync(inside('old7'), 0);
  const changed = changedSince(before, await takeInventory(workspace));
  expect(changed.map((file) => file.path)).toEqual(['new.txt', 'old7']);
});

async function scratch(): Promise<{ workspace: DirectoryWorkspace; inside: (...names: string[]) => string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'changes-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const workspace = new DirectoryWorkspace({ path: directory, uid: process.getuid?.() ?? 0 });
  return { workspace, inside: (...names) => path.join(directory, ...names) };
}

/** An inventory with these files, taken at a moment in nanoseconds. */
function inventory(files: readonly FoundFile[], more: Partial<FileInventory> = {}): FileInventory {
  return { ...emptyInventory(), files: new Map(files.map((file) => [file.path, file])), ...more };
}

const FILE: FoundFile = { path: 'file', sizeBytes: 1, dev: 1n, ino: 1n, mtimeNs: 5n, ctimeNs: 5n };

test.for<[keyof FoundFile, Partial<FoundFile>]>([
  ['ino', { ino: 2n }],
  ['dev', { dev: 2n }],
  ['sizeBytes', { sizeBytes: 2 }],
  ['mtimeNs', { mtimeNs: 6n }],
  ['ctimeNs', { ctimeNs: 6n }],
])('a file whose %s differs has changed', ([, difference]) => {
  expect(changedSince(inventory([FILE]), inventory([{ ...FILE, ...difference }]))).toEqual([
    { ...FILE, ...difference, change: 'changed' },
  ]);
  expect(changedSince(inventory([FILE]), inventory([{ ...FILE }]))).toEqual([]);
});

test('everything is new in a workspace that was empty, and what was removed is not named', () => {
  expect(changedSince(emptyInventory(), inventory([FILE]))).toEqual([{ ...FILE, change: 'created' }]);
  expect(changedSince(inventory([FILE]), emptyInventory())).toEqual([]);
});

test('changes are sorted by path, whatever order they were found in', () => {
  const found = ['b', 'a/z', 'a', 'B', 'é', 'a/b'].map((name) => ({ ...FILE, path: name }));
  const paths = changedSince(emptyInventory(), inventory(found)).map((file) => file.path);
  expect(paths).toEqual(['B', 'a', 'a/b', 'a/z', 'b', 'é']);
});

test.for<[ctimeNs: bigint, isNew: boolean]>([
  [99n, false],
  [100n, true],
  [101n, true],
])('after an inventory that was cut at 100, an unknown file that changed at %i is new: %s', ([ctimeNs, isNew]) => {
  const after = inventory([{ ...FILE, ctimeNs }]);
  expect(changedSince(inventory([], { cut: 'entries', takenAtNs: 100n }), after)).toHaveLength(isNew ? 1 : 0);
  expect(changedSince(inventory([], { cut: 'time', takenAtNs: 100n }), after)).toHaveLength(isNew ? 1 : 0);
  expect(changedSince(inventory([], { takenAtNs: 100n }), after)).toHaveLength(1);
});

test('a file that a cut inventory did list is compared as any other', () => {
  const before = inventory([FILE], { cut: 'entries', takenAtNs: 100n });
  expect(changedSince(before, inventory([FILE]))).toEqual([]);
  expect(changedSince(before, inventory([{ ...FILE, sizeBytes: 2 }]))).toMatchObject([{ change: 'changed' }]);
});

test('an update by what was touched finds what two inventories find', async () => {
  const { workspace, inside } = await scratch();
  mkdirSync(inside('old'));
  for (const name of ['same', 'grown', 'removed', 'old/one', 'old/two', 'becomes a folder'])
    writeFileSync(inside(name), 'x');
  const before = await takeInventory(workspace);
  const updated = await takeInventory(workspace);
  writeFileSync(inside('grown'), 'more');
  rmSync(inside('removed'));
  rmSync(inside('becomes a folder'));
  mkdirSync(inside('becomes a folder'));
  writeFileSync(inside('becomes a folder', 'file'), '');
  renameSync(inside('old'), inside('new'));
  const paths = ['grown', 'removed', 'becomes a folder', 'becomes a folder/file', 'new', 'new/one', 'new/two', 'same'];
  const folders = ['old', 'new', 'becomes a folder'];
  const { inventory: present, changed } = await updateInventory(updated, workspace, { paths, folders });
  const after = await takeInventory(workspace);
  expect(changed.map((file) => [file.path, file.change])).toEqual([
    ['becomes a folder/file', 'created'],
    ['grown', 'changed'],
    ['new/one', 'created'],
    ['new/two', 'created'],
  ]);
  expect(changed.map((file) => file.path)).toEqual(changedSince(before, after).map((file) => file.path));
  expect(changedSince(present, after)).toEqual([]);
  expect(new Set(present.files.keys())).toEqual(new Set(after.files.keys()));
  expect(present.allocatedBytes).toBe(after.allocatedBytes);
});

test('a file that is written by a name that nobody told is found by the name that was known', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('first'), 'x');
  const before = await takeInventory(workspace);
  linkSync(inside('first'), inside('second'));
  const { inventory: known } = await updateInventory(before, workspace, { paths: ['second'], folders: [] });
  await sleep(TICK_MS);
  writeFileSync(inside('second'), 'xyz');
  const { changed } = await updateInventory(known, workspace, { paths: ['second'], folders: [] });
  expect(changed.map((file) => file.path)).toEqual(['first', 'second']);
});

test('what was touched beyond a cut is told, and told apart', async () => {
  const { workspace, inside } = await scratch();
  for (const name of ['a', 'b', 'c', 'd']) writeFileSync(inside(name), '');
  await sleep(TICK_MS);
  const cut = await takeInventory(workspace, { caps: { maxEntries: 1 } });
  expect(cut).toMatchObject({ cut: 'entries', unseen: 3 });
  for (const name of ['a', 'b', 'c', 'd', 'e']) writeFileSync(inside(name), 'x');
  const { changed } = await updateInventory(cut, workspace, { paths: ['a', 'b', 'c', 'd', 'e'], folders: [] });
  expect(changed.map((file) => file.change)).toEqual(['changed', 'changed', 'changed', 'changed', 'created']);
});
