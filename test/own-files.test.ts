/** Files of this package that are read while it works. */
import { expect, test } from 'vitest';
import { exhaustDescriptors } from './support/faults/descriptors.ts';
import { VivariumError } from '../src/errors.ts';
import { readAnalysis, readKernelSources, readPayload } from '../src/engine/python-files.ts';

test('a payload is read once, and is there when this process can open nothing any more', async () => {
  const text = await readPayload('context');
  expect(text).toContain('class Context');
  using _ = exhaustDescriptors();
  expect(await readPayload('context')).toBe(text);
});

test('a file of ours that cannot be read is an error with what to do, and is read when that has been done', async () => {
  const failed = { code: 'STORAGE_FAILED', message: expect.stringMatching(/\.py.*EMFILE.*`ulimit -n`\./) as string };
  const taken = exhaustDescriptors();
  try {
    const attempts = [() => readPayload('effects'), readAnalysis, () => readKernelSources().then(Object.keys)];
    for (const attempt of attempts) {
      const error: unknown = await attempt().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(VivariumError);
    }
    await expect(readPayload('effects')).rejects.toMatchObject(failed);
  } finally {
    taken[Symbol.dispose]();
  }
  expect(await readPayload('effects')).not.toBe('');
  expect(await readAnalysis()).toHaveLength(9);
});
