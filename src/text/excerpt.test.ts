import { expect, test } from 'vitest';
import { joinLines, listSome, shorten, shortenEnd } from './excerpt.ts';

test('a shortened text says how many characters are missing', () => {
  expect(shorten('0123456789', 10)).toBe('0123456789');
  expect(shorten('0123456789', 5)).toBe('01\n… 6 characters omitted …\n89');
  expect(shorten('0123456789', 0)).toBe('\n… 10 characters omitted …\n');
  expect(shortenEnd('0123456789', 10)).toBe('0123456789');
  expect(shortenEnd('0123456789', 4)).toBe('0123… (6 more characters)');
});

test('a long list names the first items and counts the rest', () => {
  expect(listSome(['a', 'b'], 2)).toBe('a, b');
  expect(listSome(['a', 'b', 'c'], 2)).toBe('a, b, and 1 more');
});

test('each joined part begins on a line of its own', () => {
  expect(joinLines(['a', '', 'b\n', 'c'])).toBe('a\nb\nc');
  expect(joinLines(['a\n'])).toBe('a\n');
});

test.for([1, 2, 3, 9, 10, 11, 98, 99])('at a limit of %i the parts and the count add up to the whole', (limit) => {
  const text = Array.from({ length: 100 }, (_, index) => String.fromCharCode(0x100 + index)).join('');
  const shortened = shorten(text, limit);
  const [, head = '', omitted, tail = ''] = /^(.*)\n… (\d+) characters omitted …\n(.*)$/u.exec(shortened) ?? [];
  expect(head.length + Number(omitted) + tail.length).toBe(text.length);
  expect(head.length).toBe(tail.length);
  expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
  expect(head.length + tail.length).toBeLessThanOrEqual(limit);
});

test('neither cut splits a character into halves', () => {
  for (let limit = 0; limit < 12; limit += 1) {
    expect(shorten('😀'.repeat(6), limit).isWellFormed(), `shorten to ${limit}`).toBe(true);
    expect(shortenEnd('😀'.repeat(6), limit).isWellFormed(), `shortenEnd to ${limit}`).toBe(true);
  }
  expect(shortenEnd('a😀b', 2)).toBe('a… (3 more characters)');
  expect(shorten('a😀bc😀d', 4)).toBe('a\n… 6 characters omitted …\nd');
});

test('an empty list is an empty text, and no name may be shown at all', () => {
  expect(listSome([], 5)).toBe('');
  expect(listSome(['a', 'b'], 1)).toBe('a, and 1 more');
  expect(joinLines([])).toBe('');
  expect(joinLines(['', ''])).toBe('');
  expect(joinLines(['a\n\n', 'b'])).toBe('a\n\nb');
});
