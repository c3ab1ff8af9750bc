import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takeInventory } from './inventory.ts';
import { PROMISED_LIBRARIES } from './library-sets.ts';

test('a supported Python tells what it has and what it lacks', async () => {
  const inventory = await takeInventory('python3');
  expect(inventory.version).toMatch(/^3\.1[0-4]\.\d+$/);
  expect(path.isAbsolute(inventory.python)).toBe(true);
  expect([...Object.keys(inventory.libraries), ...inventory.missing].toSorted()).toEqual(
    [...PROMISED_LIBRARIES].toSorted(),
  );
});

test('a path without a Python is told apart from a Python that cannot be used', async () => {
  await expect(takeInventory('/does/not/exist')).rejects.toMatchObject({ code: 'PYTHON_NOT_FOUND' });
  await expect(takeInventory('/etc/passwd')).rejects.toMatchObject({ code: 'PYTHON_NOT_FOUND' });
  await expect(takeInventory('/bin/true')).rejects.toMatchObject({ code: 'PYTHON_UNSUPPORTED' });
});

test.each([
  ['3.9.18', 'cpython', 'it is Python 3.9.18'],
  ['3.15.0', 'cpython', 'it is Python 3.15.0'],
  ['3.11.9', 'pypy', 'it is pypy, not CPython'],
])('Python %s of %s is refused with the reason', async (version, implementation, reason) => {
  const answer = { python: '/p', base: '/p', version, implementation, freeThreaded: false, hasEnsurepip: false };
  const file = await script(`echo '${JSON.stringify({ ...answer, pipVersion: null, libraries: {}, missing: [] })}'`);
  const refusal = takeInventory(file);
  await expect(refusal).rejects.toMatchObject({ code: 'PYTHON_UNSUPPORTED' });
  await expect(refusal).rejects.toThrow(reason);
});

async function script(body: string): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'python-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'python3');
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}
