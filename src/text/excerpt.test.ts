import { expect, test } from 'vitest';
import { joinLines, listSome, shorten, shortenEnd } from './excerpt.ts';

test('a long text keeps its head and tail, or its head alone, and says how much is missing', () => {
  expect(shorten('0123456789', 10)).toBe('0123456789');
  expect(shorten('0123456789', 5)).toBe('01\n… 6 characters omitted …\n89');
  expect(shorten('0123456789', 0)).toBe('\n… 10 characters omitted …\n');
  expect(shortenEnd('0123456789', 10)).toBe('0123456789');
  expect(shortenEnd('0123456789', 4)).toBe('0123… (6 more characters)');
});

test('a long list names the first and counts the others', () => {
  expect(listSome(['a', 'b'], 2)).toBe('a, b');
  expect(listSome(['a', 'b', 'c'], 2)).toBe('a, b, and 1 more');
});

test('parts are joined so that each begins a line', () => {
  expect(joinLines(['a', '', 'b\n', 'c'])).toBe('a\nb\nc');
  expect(joinLines(['a\n'])).toBe('a\n');
});
