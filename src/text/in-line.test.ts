import { describe, expect, test } from 'vitest';
import { inLine } from './in-line.ts';

describe('Words in a line of ours', () => {
  test.for([
    ['line breaks and sequences go', 'a\nerror: b\u001B[1m\r\u009B2J', 100, 'a error: b'],
    ['spaces are joined and trimmed', '  a \t\n\n b  ', 100, 'a b'],
    ['what fits stays whole', 'x'.repeat(10), 10, 'x'.repeat(10)],
    ['what does not fit is shortened', 'x'.repeat(11), 10, `${'x'.repeat(9)}…`],
    ['the writing direction stays', 'a\u202Eb', 100, 'a\\u{202e}b'],
    ['nothing is nothing', ' \n ', 100, ''],
    ['separators of lines in Unicode go, other controls are shown', 'a\u2028b\u0085c', 100, 'a b\\u{85}c'],
    ['characters that cannot be seen are shown', 'd\u200Be\u{E0041}f', 100, 'd\\u{200b}e\\u{e0041}f'],
    ['no character is cut in two', '\u{1F600}'.repeat(10), 2, '\uFFFD…'],
    ['300 characters are enough', 'x'.repeat(301), undefined, `${'x'.repeat(299)}…`],
  ] as const)('%s', ([, text, maxChars, shown]) => {
    expect(inLine(text, maxChars)).toBe(shown);
  });

  test('of any length take little time', () => {
    expect(inLine('\u001B['.repeat(5_000_000), 20).length).toBeLessThanOrEqual(20);
  });
});
