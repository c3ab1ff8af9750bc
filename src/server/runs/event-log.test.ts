import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished, test, expect } from 'vitest';
import { EventLog } from './event-log.ts';

const KIB = 1024;
const forever = new AbortController().signal;

function makeLog(): { log: EventLog; directory: string } {
  const directory = mkdtempSync(path.join(tmpdir(), 'viv-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  let files = 0;
  const log = new EventLog(() => path.join(directory, `events-${(files += 1)}`));
  onTestFinished(() => log[Symbol.dispose]());
  return { log, directory };
}

/** The numbers of all events that a reader gets. */
async function numbersFrom(frames: AsyncIterable<string>): Promise<number[]> {
  let text = '';
  for await (const frame of frames) text += frame;
  return Array.from(text.matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id));
}

function big(sizeBytes: number): string {
  return JSON.stringify('x'.repeat(sizeBytes - 2));
}

test('a reader gets the events so far and those to come, with numbers from 1', async () => {
  const { log } = makeLog();
  void log.append('output', '"a"');
  const reading = Array.fromAsync(log.read(0, forever));
  void log.append('done', '"b"');
  log.end();
  expect((await reading).join('')).toBe('id: 1\nevent: output\ndata: "a"\n\nid: 2\nevent: done\ndata: "b"\n\n');
});

test('a reader that comes back gets what it has not seen', async () => {
  const { log } = makeLog();
  for (const text of ['1', '2', '3']) void log.append('output', text);
  log.end();
  expect(await numbersFrom(log.read(2, forever))).toEqual([3]);
  expect(await numbersFrom(log.read(3, forever))).toEqual([]);
  expect(await numbersFrom(log.read(99, forever))).toEqual([]);
});

test('without readers nothing waits', () => {
  const { log } = makeLog();
  for (let index = 0; index < 30; index += 1) expect(log.append('output', big(64 * KIB))).toBeUndefined();
});

test('a writer waits for the only reader, and for the faster of two', async () => {
  const { log } = makeLog();
  const slow = log.read(0, forever);
  void log.append('output', '1');
  await slow.next();
  let waiting: Promise<void> | undefined;
  while (waiting === undefined) waiting = log.append('output', big(64 * KIB));
  let isOver = false;
  void waiting.then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);

  const fast = log.read(0, forever);
  for (let index = 0; index < 4; index += 1) await fast.next();
  await waiting;
  await fast.return();
  await slow.return();
});

test('a reader that leaves holds nobody up', async () => {
  const { log } = makeLog();
  const leaving = new AbortController();
  const reader = log.read(0, leaving.signal);
  void log.append('output', '1');
  await reader.next();
  let waiting: Promise<void> | undefined;
  while (waiting === undefined) waiting = log.append('output', big(64 * KIB));
  leaving.abort();
  await waiting;
  expect(log.hasReaders).toBe(false);
});

test('a reader that leaves while it waits gets nothing more', async () => {
  const { log } = makeLog();
  const leaving = new AbortController();
  const reading = Array.fromAsync(log.read(0, leaving.signal));
  leaving.abort();
  expect(await reading).toEqual([]);
});

test('what is too much for the memory is in a file without a name, and is read from there', async () => {
  const { log, directory } = makeLog();
  for (let index = 0; index < 40; index += 1) void log.append('output', big(64 * KIB));
  log.end();
  expect(log.memoryBytes).toBeLessThanOrEqual(1 << 20);
  expect(readdirSync(directory)).toEqual([]);
  expect(await numbersFrom(log.read(0, forever))).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
});

test('texts in the file come back as they were', async () => {
  const { log } = makeLog();
  for (let index = 0; index < 18; index += 1) void log.append('output', big(64 * KIB));
  void log.append('output', '"größe 😀"');
  log.end();
  expect((await Array.fromAsync(log.read(18, forever))).join('')).toContain('data: "größe 😀"\n');
});

test('of what the file has no room for, the end is kept, and a gap in the numbers tells', async () => {
  const { log } = makeLog();
  for (let index = 0; index < 140; index += 1) void log.append('output', big(512 * KIB));
  void log.append('done', '{}');
  log.end();
  expect(log.memoryBytes).toBeLessThan(3 << 20);
  const numbers = await numbersFrom(log.read(0, forever));
  expect(numbers.slice(0, 3)).toEqual([1, 2, 3]);
  expect(numbers.at(-1)).toBe(141);
  expect(numbers.length).toBeLessThan(141);
});

test('a reader that keeps up gets everything, however much it is', async () => {
  const { log } = makeLog();
  const reading = numbersFrom(log.read(0, forever));
  for (let index = 0; index < 160; index += 1) await log.append('output', big(512 * KIB));
  log.end();
  expect(await reading).toEqual(Array.from({ length: 160 }, (_, index) => index + 1));
});

test('a disk that cannot be written costs events, not the program', async () => {
  const log = new EventLog(() => '/does/not/exist/events');
  for (let index = 0; index < 60; index += 1) void log.append('output', big(64 * KIB));
  log.end();
  expect(existsSync('/does/not/exist')).toBe(false);
  const numbers = await numbersFrom(log.read(0, forever));
  expect(numbers.at(0)).toBe(1);
  expect(numbers.at(-1)).toBe(60);
});
