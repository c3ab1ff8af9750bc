import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeJson, type Environment } from './environment.ts';
import { bestOf, bestPython, chooseBase, discoverPythons, findEnvironment } from './find.ts';
import { takeInventory, type PythonInventory } from './inventory.ts';
import { PROMISED_LIBRARIES } from './library-sets.ts';

test('what set-up recorded is found, in milliseconds', async () => {
  const dataDir = await temporaryDirectory();
  const environment = record({ python: process.execPath });
  await writeJson(path.join(dataDir, 'environment.json'), environment);
  await findEnvironment(dataDir);
  const durations: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const start = performance.now();
    expect(await findEnvironment(dataDir)).toEqual(environment);
    durations.push(performance.now() - start);
  }
  expect(Math.min(...durations)).toBeLessThan(20); // other tests may have the processor meanwhile
});

test('no record, a damaged record and a vanished interpreter all mean: none', async () => {
  const dataDir = await temporaryDirectory();
  expect(await findEnvironment(dataDir)).toBeUndefined();
  await writeFile(path.join(dataDir, 'environment.json'), '{"python": ');
  expect(await findEnvironment(dataDir)).toBeUndefined();
  await writeJson(path.join(dataDir, 'environment.json'), record({ python: '/gone/python' }));
  expect(await findEnvironment(dataDir)).toBeUndefined();
});

test('the machine has a Python, and each is listed once', async () => {
  const pythons = await discoverPythons();
  const paths = pythons.map(({ python }) => python);
  expect(paths.length).toBeGreaterThan(0);
  expect(new Set(paths).size).toBe(paths.length);
  expect(await bestPython()).toEqual(bestOf(pythons));
});

test('without PATH, links to one interpreter among pyenv versions are one Python', async () => {
  const { base } = await takeInventory('python3');
  const root = await temporaryDirectory();
  for (const name of ['a', 'b']) {
    await mkdir(path.join(root, 'versions', name, 'bin'), { recursive: true });
    await symlink(base, path.join(root, 'versions', name, 'bin', 'python3'));
  }
  const pythons = await discoverPythons({ env: { PATH: '', PYENV_ROOT: root } });
  expect(pythons.filter(({ python }) => python === base)).toHaveLength(1);
});

test('libraries count more than age, then the newest wins', () => {
  const bare = ['3.10.4', '3.14.0', '3.9.30'].map((version) => inventory(version, 0));
  expect(bestOf(bare)?.version).toBe('3.14.0');
  expect(bestOf([...bare, inventory('3.10.13', 4)])?.version).toBe('3.10.13');
  expect(bestOf([])).toBeUndefined();
});

test('environments are built on 3.13 first, on 3.14 and 3.10 last, always on the newest patch', () => {
  const versions = ['3.10.13', '3.14.1', '3.11.7', '3.11.12'].map((version) => inventory(version, 0));
  expect(chooseBase(versions)?.version).toBe('3.11.12');
  expect(chooseBase([...versions, inventory('3.13.0', 0)])?.version).toBe('3.13.0');
  expect(chooseBase([{ ...inventory('3.13.0', 0), freeThreaded: true }])).toBeUndefined();
});

function inventory(version: string, libraryCount: number): PythonInventory {
  return {
    python: `/opt/${version}`,
    base: `/opt/${version}`,
    version,
    implementation: 'cpython',
    freeThreaded: false,
    hasEnsurepip: true,
    pipVersion: null,
    libraries: Object.fromEntries(PROMISED_LIBRARIES.slice(0, libraryCount).map((name) => [name, '1.0'])),
    missing: PROMISED_LIBRARIES.slice(libraryCount),
  };
}

function record({ python }: { python: string }): Environment {
  return {
    python,
    version: '3.13.0',
    source: 'given',
    libraries: { numpy: '2.0' },
    missing: ['scipy'],
    cacheDir: '/c',
  };
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'find-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
