import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LineHistory } from './line-history.ts';

async function place(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-history-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return path.join(directory, 'repl-history');
}

test('lines are there in the next session, newest first', async () => {
  const file = await place();
  const history = new LineHistory(file);
  expect(history.load()).toEqual([]);
  for (const line of ['x = 1', 'print("é")', '    indented']) history.add(line);
  expect(new LineHistory(file).load()).toEqual(['    indented', 'print("é")', 'x = 1']);
  expect(readFileSync(file, 'utf8')).toBe('x = 1\nprint("é")\n    indented\n');
});

test('blank lines are not kept', async () => {
  const file = await place();
  const history = new LineHistory(file);
  for (const line of ['', '   ', '\t', 'x']) history.add(line);
  expect(readFileSync(file, 'utf8')).toBe('x\n');
});

test('only the owner can read the file', async () => {
  const file = await place();
  new LineHistory(file).add('password = "secret"');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.for([
  [999, 999, 999],
  [1000, 1000, 1000],
  [1001, 1000, 1001],
  [2000, 1000, 2000],
  [2001, 1000, 1000],
] as const)('of %i lines, %i are offered and %i stay in the file', async ([count, offered, stored]) => {
  const file = await place();
  const lines = Array.from({ length: count }, (_, index) => `line ${index}`);
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  const loaded = new LineHistory(file).load();
  expect([loaded.length, loaded[0], loaded.at(-1)]).toEqual([offered, lines.at(-1), lines.at(-offered)]);
  expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toEqual(lines.slice(-stored));
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('two sessions at once lose no lines of each other', async () => {
  const file = await place();
  const [one, other] = [new LineHistory(file), new LineHistory(file)];
  one.add('a');
  other.add('b');
  one.add('c');
  expect(new LineHistory(file).load()).toEqual(['c', 'b', 'a']);
});

test('a history that cannot be written or read does not end the session', async () => {
  const file = await place();
  mkdirSync(file); // a directory is in the way
  const history = new LineHistory(file);
  expect(history.load()).toEqual([]);
  history.add('x = 1');
  const nowhere = new LineHistory(path.join(file, 'none', 'repl-history'));
  nowhere.add('x = 1');
  expect(nowhere.load()).toEqual([]);
});

test('a file that cannot be shortened is still offered', async () => {
  const file = await place();
  writeFileSync(file, 'x\n'.repeat(2001));
  chmodSync(file, 0o400); // root may write it nevertheless
  expect(new LineHistory(file).load()).toHaveLength(1000);
});
