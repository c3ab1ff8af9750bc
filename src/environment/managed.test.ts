import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dataPathsIn } from './environment.ts';
import { BASE_ORDER } from './find.ts';
import { EMOJI_PACKAGE, FONT_PACKAGES, LIBRARY_SETS, SET_NAMES, type LibrarySet } from './library-sets.ts';
import { LOCKS_DIR, readLock } from './managed.ts';

const LOCKS = SET_NAMES.flatMap((set) => BASE_ORDER.map((minor) => [set, minor] as const));

/** What set-up installs by name: the libraries, and in the full set the packages with fonts. */
function named(set: LibrarySet): string[] {
  return [...LIBRARY_SETS[set], ...(set === 'full' ? FONT_PACKAGES : [])];
}

describe.each(LOCKS)('the lock of the set %s for Python %s', async (set, minor) => {
  const lock = await readFile(path.join(LOCKS_DIR, set, `${minor}.txt`), 'utf8');
  const entries = lock.split(/^(?=[\w-]+==)/m).slice(1);

  test('pins every promised library', () => {
    const names = entries.map((entry) => entry.split('==')[0]);
    expect(names).toEqual(expect.arrayContaining(named(set)));
    expect(names.includes(EMOJI_PACKAGE)).toBe(set === 'full' && minor !== '3.10');
  });

  test('has a hash for every package', () => {
    for (const entry of entries) expect(entry).toMatch(/^[\w-]+==[\w.]+ \\\n +--hash=sha256:[0-9a-f]{64}/);
  });

  test('names no index', () => {
    expect(lock).not.toMatch(/https?:|^\s*(-i|-f|--(extra-)?index-url|--find-links|--trusted-host)\b/m);
  });
});

test.each(SET_NAMES)(
  'the list the locks of the set %s are made from is the list of promised libraries',
  async (set) => {
    const list = await readFile(path.join(LOCKS_DIR, set, 'libraries.in'), 'utf8');
    const emoji = set === 'full' ? [`${EMOJI_PACKAGE}; python_version >= "3.11"`] : [];
    expect(list.trim().split('\n')).toEqual([...named(set), ...emoji]);
  },
);

test.each(BASE_ORDER)('a library has the same version in both sets for Python %s', async (minor) => {
  const [core = [], full = []] = await Promise.all(
    SET_NAMES.map(async (set) =>
      (await readFile(path.join(LOCKS_DIR, set, `${minor}.txt`), 'utf8')).match(/^\S+==\S+/gm),
    ),
  );
  expect(full).toEqual(expect.arrayContaining(core ?? []));
});

test.for([
  ['is missing', async () => undefined, /cannot be read \(ENOENT\).*[Ii]nstall vivarium again/],
  ['is a directory', async (file: string) => mkdir(file), /cannot be read \(EISDIR\).*[Ii]nstall vivarium again/],
  ['is cut off', async (file: string) => writeFile(file, '# made by\n'), /names no library.*[Ii]nstall vivarium again/],
] as const)('a lock that %s is told with its path and what to do', async ([, spoil, message]) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-locks-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(path.join(directory, 'core'));
  const file = path.join(directory, 'core', '3.13.txt');
  await spoil(file);
  const problem = await readLock('3.13', { locksDir: directory, set: 'core' }, dataPathsIn(directory)).catch(
    (error: unknown) => error,
  );
  expect(problem).toMatchObject({ name: 'VivariumError', code: 'SETUP_FAILED' });
  expect(problem).toMatchObject({ message: expect.stringContaining(file) as unknown });
  expect(problem).toMatchObject({ message: expect.stringMatching(message) as unknown });
});
