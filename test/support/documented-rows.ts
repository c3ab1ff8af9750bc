/** The documented features of the systems that Vivarium follows, and the tests that are named after them. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** The ids of all documented features, by the system that documents them. */
export const DOCUMENTED: readonly string[] = [
  ...ids('P', [1, 26]),
  ...ids('S', [1, 17], [20, 32]),
  ...ids('L', [1, 19]),
  ...ids('O', [1, 16], [19, 19], [22, 43]),
];

/** The files that have a test named after each feature. */
export function testFilesByRow(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const file of globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: ROOT })) {
    for (const id of titlesIn(file).flatMap((title) => title.match(/\b[PSLO]-\d{2}\b/g) ?? [])) {
      found.set(id, (found.get(id) ?? new Set()).add(file));
    }
  }
  return new Map([...found].map(([id, files]) => [id, [...files].toSorted()]));
}

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
