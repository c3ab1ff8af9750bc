import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Isolation } from '../../execution/isolation.ts';
import { userOf } from './session-user.ts';

const IS_ROOT = process.getuid?.() === 0;
const WALLED = { level: 'namespaces', uid: 'own' } as Isolation;

function directories(): { one: string; other: string } {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-user-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const [one, other] = [path.join(base, 'one'), path.join(base, 'other')];
  for (const directory of [one, other]) mkdirSync(directory);
  return { one, other };
}

const mount = (source: string, writable = true) => ({ source, target: '/data', writable });

test('a session that writes in no mounted directory has a user of its own', async () => {
  const { one } = directories();
  expect(await userOf([], WALLED)).toBeNull();
  expect(await userOf([mount(one, false)], WALLED)).toBeNull();
});

test.for([
  { level: 'namespaces', uid: 'shared' },
  { level: 'landlock', uid: 'own' },
  { level: 'none', uid: 'own' },
] as const)('with the walls %o there are no users to choose from', async (isolation) => {
  const { one } = directories();
  expect(await userOf([mount(one)], isolation as Isolation)).toBeNull();
});

test.runIf(IS_ROOT)('the owner of the first writable directory is the user', async () => {
  const { one, other } = directories();
  chownSync(one, 1234, 1234);
  chownSync(other, 4321, 4321);
  expect(await userOf([mount(other, false), mount(one)], WALLED)).toBe(1234);
  expect(await userOf([mount(other), mount(one)], WALLED)).toBe(4321);
});

test.runIf(IS_ROOT)('in place of root it is a user for this directory only, the same each time', async () => {
  const { one, other } = directories();
  const users = await Promise.all([one, one, other].map((source) => userOf([mount(source)], WALLED)));
  expect(users[0]).toBe(users[1]);
  expect(users[0]).not.toBe(users[2]);
  for (const user of users) {
    expect(user).toBeGreaterThanOrEqual(1_800_000_000);
    expect(user).toBeLessThan(1_890_000_000);
  }
});

test('a directory that does not exist is for the walls to report', async () => {
  expect(await userOf([mount('/does/not/exist')], WALLED)).toBeNull();
});
