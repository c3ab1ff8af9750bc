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
  ] as const)('%s', ([, text, maxChars, shown]) => {
    expect(inLine(text, maxChars)).toBe(shown);
  });

  test('of any length take little time', () => {
    expect(inLine('\u001B['.repeat(5_000_000), 20).length).toBeLessThanOrEqual(20);
  });
});
