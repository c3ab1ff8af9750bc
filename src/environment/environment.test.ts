import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeMissing, isEnvironment, readJson, writeJson, type Environment } from './environment.ts';

const environment: Environment = {
  python: '/opt/python',
  version: '3.13.0',
  source: 'found',
  libraries: { numpy: '2.0' },
  missing: ['pandas', 'scipy'],
  cacheDir: '/data/cache',
};

test('what is written is read again, and no draft stays', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'environment-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'environment.json');
  await Promise.all([writeJson(file, environment), writeJson(file, environment)]);
  expect(readJson(file, isEnvironment)).toEqual(environment);
  expect(await readdir(directory)).toEqual(['environment.json']);
});

test.each([
  null,
  [],
  {},
  { ...environment, python: 1 },
  { ...environment, source: 'borrowed' },
  { ...environment, libraries: { numpy: 2 } },
  { ...environment, missing: 'pandas' },
])('%j is not an environment', (value) => {
  expect(isEnvironment(value)).toBe(false);
});

test('missing libraries are named with how to get them', () => {
  expect(describeMissing(environment)).toContain('Missing: pandas, scipy. Run `vivarium setup` again');
  expect(describeMissing({ ...environment, source: 'given' })).toContain('/opt/python -m pip install pandas scipy');
  expect(describeMissing({ ...environment, missing: [] })).toBeUndefined();
});
