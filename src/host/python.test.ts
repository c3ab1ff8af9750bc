import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../config.ts';
import { writeJson, type Environment } from '../environment/environment.ts';
import { choosePython } from './python.ts';

const record: Environment = {
  python: process.execPath, // anything that can be executed: a recorded interpreter is not started to be chosen
  version: '3.13.0',
  source: 'managed',
  libraries: { numpy: '2.0.0' },
  missing: [],
  cacheDir: '/none',
};

test('what set-up recorded is taken as it is, also when it is named', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'vivarium-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  await writeJson(path.join(dataDir, 'environment.json'), record);
  expect(await choosePython(parseConfig({ dataDir }))).toEqual(record);
  expect(await choosePython(parseConfig({ dataDir, python: record.python }))).toEqual(record);
  await expect(choosePython(parseConfig({ dataDir, python: '/none/python3' }))).rejects.toMatchObject({
    code: 'PYTHON_NOT_FOUND',
  });
});

test('without a set-up the best Python of the machine is taken', async () => {
  const dataDir = path.join(tmpdir(), 'vivarium-none');
  const environment = await choosePython(parseConfig({ dataDir }));
  expect(environment).toMatchObject({ source: 'found', cacheDir: path.join(dataDir, 'cache') });
  expect(path.isAbsolute(environment.python)).toBe(true);
});
