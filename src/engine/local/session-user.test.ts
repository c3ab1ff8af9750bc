import { expect, test } from 'vitest';
import type { Isolation } from '../../execution/isolation.ts';
import type { HeldMount } from './mount/table.ts';
import { userOf } from './session-user.ts';

const WALLED = { level: 'namespaces', uid: 'own' } as Isolation;

const mount = (owner: number, { writable = true, inode = '7' } = {}): HeldMount => ({
  source: '/srv/data',
  target: '/data',
  writable,
  device: '42',
  inode,
  owner,
});

test('a session that writes in no mounted directory has a user of its own', () => {
  expect(userOf([], WALLED)).toBeNull();
  expect(userOf([mount(1234, { writable: false })], WALLED)).toBeNull();
});

test.for([
  { level: 'namespaces', uid: 'shared' },
  { level: 'landlock', uid: 'own' },
  { level: 'none', uid: 'own' },
] as const)('with the walls %o there are no users to choose from', (isolation) => {
  expect(userOf([mount(1234)], isolation as Isolation)).toBeNull();
});

test('the owner of the first writable directory is the user', () => {
  expect(userOf([mount(4321, { writable: false }), mount(1234)], WALLED)).toBe(1234);
  expect(userOf([mount(4321), mount(1234)], WALLED)).toBe(4321);
});

test('in place of root it is a user for this directory only, the same each time', () => {
  const users = ['7', '7', '8'].map((inode) => userOf([mount(0, { inode })], WALLED));
  expect(users[0]).toBe(users[1]);
  expect(users[0]).not.toBe(users[2]);
  for (const user of users) {
    expect(user).toBeGreaterThanOrEqual(1_800_000_000);
    expect(user).toBeLessThan(1_890_000_000);
  }
});
