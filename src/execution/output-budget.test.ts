import { expect, test } from 'vitest';
import { OutputBudget } from './output-budget.ts';

const NOTICE = /\n… (\d+) bytes of output omitted …\n/;

test('what fits is kept as it is', () => {
  const budget = new OutputBudget(10);
  budget.add('12345');
  budget.add('67890');
  expect(budget.text()).toBe('1234567890');
  expect(budget.truncation()).toBeUndefined();
});

test('of more than fits, the head and the tail are kept and the rest is counted', () => {
  const budget = new OutputBudget(10);
  for (const letter of 'abcdefghijklmnopqrstuvwxyz') budget.add(letter);
  expect(budget.text()).toBe('abcde\n… 16 bytes of output omitted …\nvwxyz');
  expect(budget.truncation()).toEqual({ totalBytes: 26, keptBytes: 10 });
});

test('pieces of any size give the same head, tail and numbers, and no character is split', () => {
  const text = 'aż🐍'.repeat(100_000);
  for (const size of [1, 7, 1000, 65_536, 1 << 20]) {
    const budget = new OutputBudget(200_000);
    for (const piece of piecesOf(text, size)) budget.add(piece);
    const [head = '', omitted = '', tail = ''] = budget.text().split(NOTICE);
    expect(text.startsWith(head) && text.endsWith(tail), `pieces of ${size}`).toBe(true);
    expect(100_000 - Buffer.byteLength(head)).toBeLessThan(4);
    expect(100_000 - Buffer.byteLength(tail)).toBeLessThan(4);
    expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + Number(omitted)).toBe(700_000);
  }
});

/** One number after the other, at least 0 and below 1. The same seed gives the same numbers. */
function* numbersFrom(seed: number): Generator<number, never> {
  for (let state = seed; ;) yield (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** What a budget keeps, by the shortest description of it: whole characters from both ends, each at most half of the bytes. */
function modelOf(text: string, maxBytes: number): { text: string; omitted: number } {
  const half = Math.max(1, Math.floor(maxBytes / 2));
  const characters = Array.from(text);
  const head = upTo(half, characters);
  const rest = characters.slice(Array.from(head).length);
  if (Buffer.byteLength(rest.join('')) <= half) return { text, omitted: 0 };
  const tail = Array.from(upTo(half, rest.toReversed())).toReversed().join('');
  const omitted = Buffer.byteLength(text) - Buffer.byteLength(head + tail);
  return { text: `${head}\n… ${omitted} bytes of output omitted …\n${tail}`, omitted };
}

function upTo(maxBytes: number, characters: readonly string[]): string {
  let kept = '';
  for (const character of characters) {
    if (Buffer.byteLength(kept + character) > maxBytes) break;
    kept += character;
  }
  return kept;
}

test('random texts in random pieces are kept as the model says, for every size of the budget', () => {
  const numbers = numbersFrom(7);
  const below = (limit: number): number => Math.floor(numbers.next().value * limit);
  for (let round = 0; round < 500; round += 1) {
    const maxBytes = below(60);
    const pieces = Array.from({ length: below(30) }, () =>
      Array.from({ length: below(8) }, () => ['a', '\n', 'ż', '…', '🐍'][below(5)]).join(''),
    );
    const budget = new OutputBudget(maxBytes);
    pieces.forEach((piece, index) => budget.add(piece, Math.floor(index / 3), index));
    const text = pieces.join('');
    const expected = modelOf(text, maxBytes);
    expect(budget.text(), JSON.stringify({ pieces, maxBytes })).toBe(expected.text);
    const totalBytes = Buffer.byteLength(text);
    const keptBytes = totalBytes - expected.omitted;
    expect(budget.truncation()).toEqual(expected.omitted === 0 ? undefined : { totalBytes, keptBytes });
  }
});

test('each piece that is kept has the order and the time of the text that it began with', () => {
  const budget = new OutputBudget(1000);
  budget.add('a', 1, 100);
  budget.add('b', 1, 101);
  budget.add('c', 3, 102);
  expect(budget.pieces()).toMatchObject([
    { order: 1, timeMs: 100, text: 'ab' },
    { order: 3, timeMs: 102, text: 'c' },
  ]);
});

test('the notice about what was omitted belongs to the first text behind the gap', () => {
  const budget = new OutputBudget(4);
  for (const [order, text] of ['ab', 'cd', 'ef', 'gh'].entries()) budget.add(text, order, 100 + order);
  expect(budget.pieces()).toMatchObject([
    { order: 0, text: 'ab' },
    { order: 3, timeMs: 103, text: '\n… 4 bytes of output omitted …\ngh' },
  ]);
});

test('once the head is full nothing joins it, even if it would still fit', () => {
  const budget = new OutputBudget(8);
  budget.add('abc');
  budget.add('🐍'); // does not fit into the one byte that is left of the head
  budget.add('d');
  expect(budget.text()).toBe('abc\n… 4 bytes of output omitted …\nd');
});

test('text in the budget of a single byte is cut, and asking twice gives the same', () => {
  for (const maxBytes of [0, 1, 2, 3]) {
    const budget = new OutputBudget(maxBytes);
    for (const letter of 'abcd') budget.add(letter);
    expect(budget.text()).toBe('a\n… 2 bytes of output omitted …\nd');
    expect(budget.text()).toBe(budget.text());
    budget.add('e');
    expect(budget.text()).toBe('a\n… 3 bytes of output omitted …\ne');
  }
});

test('what was kept does not grow with what was printed', () => {
  const budget = new OutputBudget(1000);
  for (let line = 0; line < 200_000; line += 1) budget.add(`line ${line}\n`, line);
  const pieces = budget.pieces();
  expect(pieces.length).toBeLessThan(1000);
  expect(Buffer.byteLength(budget.text())).toBeLessThan(1100);
  expect(pieces.at(-1)).toMatchObject({ order: 199_999, text: 'line 199999\n' });
});

/** Pieces of about `size` characters; a surrogate pair stays together, as in what a decoder gives. */
function* piecesOf(text: string, size: number): Generator<string> {
  const characters = Array.from(text);
  for (let start = 0; start < characters.length; start += size) yield characters.slice(start, start + size).join('');
}
