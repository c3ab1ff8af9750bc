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

/** Pieces of about `size` characters; a surrogate pair stays together, as in what a decoder gives. */
function* piecesOf(text: string, size: number): Generator<string> {
  const characters = Array.from(text);
  for (let start = 0; start < characters.length; start += size) yield characters.slice(start, start + size).join('');
}
