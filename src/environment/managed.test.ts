import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { BASE_ORDER } from './find.ts';
import { PROMISED_LIBRARIES } from './inventory.ts';
import { LOCKS_DIR } from './managed.ts';

describe.each(BASE_ORDER)('the lock for Python %s', async (minor) => {
  const lock = await readFile(path.join(LOCKS_DIR, `${minor}.txt`), 'utf8');
  const entries = lock.split(/^(?=[\w-]+==)/m).slice(1);

  test('pins every promised library', () => {
    const names = entries.map((entry) => entry.split('==')[0]);
    expect(names).toEqual(expect.arrayContaining([...PROMISED_LIBRARIES]));
  });

  test('has a hash for every package', () => {
    for (const entry of entries) expect(entry).toMatch(/^[\w-]+==[\w.]+ \\\n +--hash=sha256:[0-9a-f]{64}/);
  });

  test('names no index', () => {
    expect(lock).not.toMatch(/https?:|^\s*(-i|-f|--(extra-)?index-url|--find-links|--trusted-host)\b/m);
  });
});

test('the list the locks are made from is the list of promised libraries', async () => {
  const list = await readFile(path.join(LOCKS_DIR, 'libraries.in'), 'utf8');
  expect(list.trim().split('\n')).toEqual([...PROMISED_LIBRARIES]);
});
