import { expect, test } from 'vitest';
import { TerminalText } from './terminal-text.ts';

const ESC = '\u001B';

function shown(...pieces: readonly string[]): string {
  const text = new TerminalText();
  return pieces.map((piece) => text.add(piece)).join('') + text.end();
}

test('colours, tabs, new lines and carriage returns pass', () => {
  const text = `${ESC}[1;31mred${ESC}[0m ${ESC}[38:2:1:2:3mtrue${ESC}[m\r\n\t50 %\r100 %`;
  expect(shown(text)).toBe(text);
  expect(shown('naïve 🧬 \u200D')).toBe('naïve 🧬 \u200D');
});

test.for([
  ['clears the screen', `${ESC}[2J`, '\\u{1b}[2J'],
  ['sets the title', `${ESC}]0;owned\u0007`, '\\u{1b}]0;owned\\u{7}'],
  ['writes the clipboard', `${ESC}]52;c;eA==${ESC}\\`, '\\u{1b}]52;c;eA==\\u{1b}\\'],
  ['asks the terminal', `${ESC}[6n${ESC}c`, '\\u{1b}[6n\\u{1b}c'],
  ['uses the controls of eight bits', '\u009B2J\u0090q\u009C', '\\u{9b}2J\\u{90}q\\u{9c}'],
  ['goes back over what was shown', 'a\b\u007F\u0000', 'a\\u{8}\\u{7f}\\u{0}'],
  ['turns the writing direction', 'a\u202Eb\u2066c\u200F', 'a\\u{202e}b\\u{2066}c\\u{200f}'],
  ['separates lines', 'a\u2028b\u2029', 'a\\u{2028}b\\u{2029}'],
  ['has private parameters', `${ESC}[?25m${ESC}[>4;1m`, '\\u{1b}[?25m\\u{1b}[>4;1m'],
  ['is longer than any real one', `${ESC}[${'1;'.repeat(60)}m`, `\\u{1b}[${'1;'.repeat(60)}m`],
])('a sequence that %s is shown as text, however it is split', ([, text = '', visible]) => {
  expect(shown(text)).toBe(visible);
  expect(shown(...text.split(''))).toBe(visible);
});

test('characters that only a model can see are shown', () => {
  expect(shown('a\u{E0041}b')).toBe('a\\u{e0041}b');
});

test('a sequence may come in pieces, and styles are reset at the end', () => {
  expect(shown('a', ESC, '[3', '1m', 'b')).toBe(`a${ESC}[31mb${ESC}[0m`);
  expect(shown(`${ESC}[8m`, 'hidden')).toBe(`${ESC}[8mhidden${ESC}[0m`);
  expect(shown('ends with ', ESC)).toBe('ends with \\u{1b}');
});

test('only the beginning of a possible sequence is held back', () => {
  const text = new TerminalText();
  expect(text.add(`prompt${ESC}[`)).toBe('prompt');
  expect(text.add('1'.repeat(200))).toBe(`\\u{1b}[${'1'.repeat(200)}`);
});
