import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeAbandoned } from './clean-up.ts';
import { Lease, occupancyOf } from './lease.ts';
import { Removals } from './removals.ts';

function scratch(): string {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-removals-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return base;
}

function makeTree(directory: string, files: number): void {
  mkdirSync(path.join(directory, 'inner'), { recursive: true });
  for (let number = 0; number < files; number += 1) writeFileSync(path.join(directory, 'inner', `${number}`), '');
}

test.each([3, 1000])('a directory with %i files is out of the way at once, and gone soon', async (files) => {
  const base = scratch();
  makeTree(path.join(base, 'home'), files);
  const removals = new Removals();
  await removals.begin(path.join(base, 'home'));
  expect(existsSync(path.join(base, 'home'))).toBe(false);
  const [aside] = readdirSync(base);
  if (aside !== undefined) await removals.remove(path.join(base, aside));
  expect(readdirSync(base)).toEqual([]);
});

test('a directory that is gone already is no error', async () => {
  await expect(new Removals().begin(path.join(scratch(), 'nothing'))).resolves.toBeUndefined();
});

test('what takes too long is left to a process that goes on', async () => {
  const base = scratch();
  makeTree(path.join(base, 'home'), 1000);
  const removals = new Removals();
  expect(await removals.wait(removals.remove(path.join(base, 'home')), 0)).toBe(false);
  await expect.poll(() => readdirSync(base), { timeout: 10_000 }).toEqual([]);
});

test('a directory whose engine has left it half removed is removed by the next one', async () => {
  const base = scratch();
  const directory = path.join(base, '1-00000000');
  makeTree(path.join(directory, 'home.removed-1'), 300);
  const lease = await Lease.take(directory, 'owner.sock');
  await lease?.abandon();
  expect(await occupancyOf(directory, 'owner.sock')).toBe('abandoned');
  await removeAbandoned({ directory: base, names: /^1-00000000$/, socket: 'owner.sock', isOwn: true });
  expect(readdirSync(base)).toEqual([]);
});

test('a tree of many locked directories is removed', async () => {
  const base = scratch();
  makeTree(path.join(base, 'home'), 300);
  execFileSync('chmod', ['-R', 'a-rwx', path.join(base, 'home')]);
  await new Removals().remove(path.join(base, 'home'));
  expect(readdirSync(base)).toEqual([]);
});
