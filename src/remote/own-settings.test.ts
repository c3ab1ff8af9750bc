import { expect, test } from 'vitest';
import { ownSettings } from './own-settings.ts';

const ACCESS = {
  mounts: [{ source: '', target: '/data', writable: false }],
  network: false,
  env: {},
  packages: 'none',
} as const;

test('what the host has anyway is left out, and all else is kept', () => {
  const mounts = ACCESS.mounts.map((mount) => ({ ...mount }));
  expect(ownSettings({ mounts, network: false, env: {}, packages: 'none', id: 'a' }, ACCESS)).toEqual({ id: 'a' });
  expect(ownSettings({}, ACCESS)).toEqual({});
});

test('what differs is kept, also if it is less', () => {
  const own = { mounts: [], network: { allow: ['a'] }, env: { A: '1' }, packages: ['six'] };
  expect(ownSettings(own, ACCESS)).toEqual(own);
});
