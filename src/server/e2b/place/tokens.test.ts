import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { isSame, isSigned, makeTokens } from './tokens.ts';

const request = {
  path: '/home/user/a',
  operation: 'read',
  username: '',
  signature: undefined,
  expiration: undefined,
} as const;
const sign = (text: string): string => `v1_${createHash('sha256').update(text).digest('base64').replace(/=+$/, '')}`;

test('each sandbox has two secrets of its own', () => {
  const [one, other] = [makeTokens(), makeTokens()];
  expect(new Set([one.envd, one.traffic, other.envd, other.traffic]).size).toBe(4);
  expect(one.envd).toMatch(/^[0-9a-f]{64}$/);
});

test('a secret is the same as itself alone', () => {
  expect(isSame('abc', 'abc')).toBe(true);
  for (const given of ['', 'abd', 'ab', 'abcd', undefined]) expect(isSame(given, 'abc')).toBe(false);
});

test('a signature holds for one path, one operation and one user', () => {
  const signature = sign('/home/user/a:read::token');
  expect(isSigned({ ...request, signature }, 'token')).toBe(true);
  expect(isSigned({ ...request, signature }, 'other')).toBe(false);
  expect(isSigned({ ...request, signature, path: '/home/user/b' }, 'token')).toBe(false);
  expect(isSigned({ ...request, signature, operation: 'write' }, 'token')).toBe(false);
  expect(isSigned({ ...request, signature, username: 'user' }, 'token')).toBe(false);
  expect(isSigned(request, 'token')).toBe(false);
});

test('a signature ends at its time', () => {
  const signed = { ...request, expiration: '1000', signature: sign('/home/user/a:read::token:1000') };
  expect(isSigned(signed, 'token', 999_000)).toBe(true);
  expect(isSigned(signed, 'token', 1_000_000)).toBe(false);
  expect(isSigned({ ...signed, expiration: '2000' }, 'token', 999_000)).toBe(false);
  expect(isSigned({ ...signed, expiration: 'soon' }, 'token', 0)).toBe(false);
});
