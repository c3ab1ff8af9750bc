import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../config.ts';
import { writeJson, type Environment } from '../../environment/environment.ts';
import { choosePython } from './python.ts';

const record: Environment = {
  python: process.execPath, // any executable file will do: a recorded Python is chosen without being started
  version: '3.13.0',
  source: 'managed',
  libraries: { numpy: '2.0.0' },
  missing: [],
  cacheDir: '/none',
};

test('what set-up recorded is used as it is, also when it is configured', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'vivarium-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  await writeJson(path.join(dataDir, 'environment.json'), record);
  expect(await choosePython(parseConfig({ dataDir }))).toEqual(record);
  expect(await choosePython(parseConfig({ dataDir, python: record.python }))).toEqual(record);
  await expect(choosePython(parseConfig({ dataDir, python: '/none/python3' }))).rejects.toMatchObject({
    code: 'PYTHON_NOT_FOUND',
  });
});

test('without a set-up the best Python on the machine is used', async () => {
  const dataDir = path.join(tmpdir(), 'vivarium-none');
  const environment = await choosePython(parseConfig({ dataDir }));
  expect(environment).toMatchObject({ source: 'found', cacheDir: path.join(dataDir, 'cache') });
  expect(path.isAbsolute(environment.python)).toBe(true);
});
