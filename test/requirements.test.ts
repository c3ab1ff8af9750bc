/** Every documented feature of the systems that Vivarium follows has a test named after it. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');

/** The ids of all documented features, by the system that documents them. */
const DOCUMENTED = [
  ...ids('P', [1, 26]),
  ...ids('S', [1, 17], [20, 32]),
  ...ids('L', [1, 19]),
  ...ids('O', [1, 16], [19, 19], [22, 43]),
];

test('every documented feature has a test named after it', () => {
  const names = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: ROOT }).flatMap(titlesIn);
  const tested = new Set(names.flatMap((name) => name.match(/\b[PSLO]-\d{2}\b/g) ?? []));
  const missing = DOCUMENTED.filter((id) => !tested.has(id));
  assert.deepEqual(missing, [], `no test is named after ${missing.join(', ')}`);
});

/** The titles of tests, including tables of tests, and no other text. */
function titlesIn(file: string): string[] {
  const source = readFileSync(path.join(ROOT, file), 'utf8');
  const calls = /^\s*(?:test(?:\.\w+)*\(|test\.for\([^\n]*\)\(|\](?: as const)?\)\()\s*(['"`])(?<title>.*?)\1/gms;
  return [...source.matchAll(calls)].map(({ groups }) => groups?.['title'] ?? '');
}

function ids(letter: string, ...ranges: readonly (readonly [first: number, last: number])[]): string[] {
  return ranges.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => `${letter}-${String(first + index).padStart(2, '0')}`),
  );
}
