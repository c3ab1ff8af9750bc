import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dataPathsIn } from './environment.ts';
import { BASE_ORDER } from './find.ts';
import { PROMISED_LIBRARIES } from './inventory.ts';
import { LOCKS_DIR, readLock } from './managed.ts';

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

test.for([
  ['is missing', async () => undefined, /cannot be read \(ENOENT\).*[Ii]nstall vivarium again/],
  ['is a directory', async (file: string) => mkdir(file), /cannot be read \(EISDIR\).*[Ii]nstall vivarium again/],
  ['is cut off', async (file: string) => writeFile(file, '# made by\n'), /names no library.*[Ii]nstall vivarium again/],
] as const)('a lock that %s is told with its path and what to do', async ([, spoil, message]) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-locks-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, '3.13.txt');
  await spoil(file);
  const problem = await readLock('3.13', directory, dataPathsIn(directory)).catch((error: unknown) => error);
  expect(problem).toMatchObject({ name: 'VivariumError', code: 'SETUP_FAILED' });
  expect(problem).toMatchObject({ message: expect.stringContaining(file) as unknown });
  expect(problem).toMatchObject({ message: expect.stringMatching(message) as unknown });
});
