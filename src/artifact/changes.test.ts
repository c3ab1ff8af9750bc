import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { DirectoryWorkspace } from '../workspace/directory-workspace.ts';
import { changedSince, takeInventory } from './changes.ts';

/** Longer than the kernel's clock for files stands still. */
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
