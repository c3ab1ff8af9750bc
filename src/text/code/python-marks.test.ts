import { expect, test } from 'vitest';
import { bareMatch, mayBePython } from './python-marks.ts';

/** Where the first `@` is that is not in a string or comment; -1 if there is none. */
function bareAt(text: string): number {
  return bareMatch(text, /@/g)?.index ?? -1;
}

test.for([
  ['plain text', 'a @', 2],
  ['a comment', '# @\n@', 4],
  ['a comment at the end', 'x # @', -1],
  ['a short string', '"@" @', 4],
  ['the other quote within a string', '"\'@" @', 5],
  ['an escaped quote', '"\\"@" @', 6],
  ['an escaped backslash before the end', '"\\\\" @', 5],
  ['a long string over lines', '"""\n@"\n""" @', 11],
  ['a long string of the other kind', "'''@\"\"\"''' @", 11],
  ['a long string that is never closed', '"""\n@', -1],
  ['an escaped quote in a long string', '"""\\"""@""" @', 12],
  ['a quote that is never closed on its line', '"@\n@', 1],
  ['an apostrophe after a word', "it's @ it's", 5],
  ['a number before an apostrophe', "9's @'", 4],
  ['a quote after a long word', "character's @ '", 12],
  ['an escaped quote outside of strings', '\\" @ "', 3],
] as const)('a mark is found outside of strings and comments: %s', ([, text, index]) => {
  expect(bareAt(text)).toBe(index);
});

test.for(['f', 'b', 'r', 'u', 'rb', 'Rb', 'fR', 't', 'BR'])('the prefix %s begins a string', (prefix) => {
  expect(bareAt(`${prefix}'@'`)).toBe(-1);
});

test.for(['return', 'in', 'not', 'print', 'yield', 'lambda', 'else'])('a string may follow %s at once', (word) => {
  expect(bareAt(`${word}'@'`)).toBe(-1);
});

test.for(['s', 'fx', 'rr', 'returns', 'x_f'])('no string begins right after %s', (word) => {
  expect(bareAt(`${word}'@'`)).toBe(word.length + 1);
});

test('a pattern that also matches within strings is found at its first bare match', () => {
  expect(bareMatch('"<a>" <b>', /<(\w)>/g)?.[1]).toBe('b');
  expect(bareMatch('"<a>" <b', /<(\w)>/g)).toBeNull();
});

test.for([
  ['x = 1', true],
  ['s = "`"', true],
  ['`x`', false],
  ['~~~', false],
  ['  ~~~~ ', false],
  ['~~~\r\n', false],
  ['~~~x', true],
  ['x = ~~~1', true],
  ['"""\n~~~\n"""', true],
] as const)('%j may be Python: %s', ([text, expected]) => {
  expect(mayBePython(text)).toBe(expected);
});
