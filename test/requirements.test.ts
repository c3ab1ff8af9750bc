/** Every documented feature of the systems that Vivarium follows has a test named after it, and a mutant for that test. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { applyTo, MUTANTS } from '../tools/mutants/mutants.ts';
import { DOCUMENTED, testFilesByRow } from './support/documented-rows.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

test('every documented feature has a test named after it', () => {
  const tested = testFilesByRow();
  const missing = DOCUMENTED.filter((id) => !tested.has(id));
  assert.deepEqual(missing, [], `no test is named after ${missing.join(', ')}`);
});

test('every documented feature has one mutant, and each still fits the code', () => {
  expect([...MUTANTS.keys()].toSorted()).toEqual(DOCUMENTED.toSorted());
  for (const [id, mutant] of MUTANTS) {
    const source = readFileSync(path.join(ROOT, mutant.file), 'utf8');
    expect(applyTo(source, mutant), id).not.toBe(source);
  }
});
