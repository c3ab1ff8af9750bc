/** Text for models and terminals, compared with plain models of what it should be. */
import { expect, test } from 'vitest';
import { escapeAnsi } from '../../src/text/clean-text.ts';
import { TerminalText } from '../../src/text/terminal-text.ts';
import { makeVisible, visibleJson } from '../../src/text/visible.ts';
import { generate, Generator, judgeInPython } from '../support/generated.ts';

const ESC = '\u001b';
/** Everything that begins, continues, ends or breaks a sequence. */
const PARTS = [
  ESC,
  '[',
  ']',
  'P',
  'X',
  '^',
  '_',
  '\\',
  '\u0007',
  '\u0018',
  '\u001a',
  '\u0090',
  '\u0098',
  '\u009b',
  '\u009c',
  '\u009d',
  '\u009f',
  '0',
  ';',
  '?',
  ' ',
  '(',
  'm',
  'a',
  'é',
  '😀',
  '\n',
  '\r',
  '\b',
];

/** ECMA-48 as one regular expression. It may take quadratic time, which the real code must not. */
// oxlint-disable-next-line no-control-regex
const BREAKS = '\\x1b\\x18\\x1a\\x90\\x98\\x9b-\\x9f';
const SEQUENCE = new RegExp(
  [
    `\\x1b\\[[0-?]*[ -/]*[@-~]?`,
    `(?:\\x1b\\]|\\x9d)[^${BREAKS}\\x07]*(?:\\x07|\\x9c|\\x1b\\\\)`,
    `(?:\\x1b[PX^_]|[\\x90\\x98\\x9e\\x9f])[^${BREAKS}]*(?:\\x9c|\\x1b\\\\)`,
    `\\x1b[PX\\]^_][^${BREAKS}\\n]*`,
    `\\x1b[ -/]*[0-~]?`,
    `\\x9b[0-?]+[@-~]`,
  ].join('|'),
  'g',
);

test('sequences are removed as a plain model of the standard removes them', () => {
  for (const text of generate(20_000, 1, (generator) => generator.text(PARTS, 14))) {
    expect(escapeAnsi(text), JSON.stringify(text)).toBe(text.replaceAll(SEQUENCE, ''));
  }
});

test('final lines have as many lines as the text, and neither carriage returns nor backspaces', () => {
  for (const text of generate(5000, 2, (generator) =>
    generator.text(['a', 'b ', '\n', '\r', '\r\n', '\b', '😀'], 12),
  )) {
    const shown = escapeAnsi(text, { finalLines: true });
    expect(shown, JSON.stringify(text)).not.toMatch(/[\r\b]/);
    expect(shown.split('\n').length).toBe(text.split('\n').length);
    expect(escapeAnsi(shown, { finalLines: true })).toBe(shown);
  }
});

test('a terminal shows the same text however it arrives', () => {
  const generator = new Generator(3);
  for (let round = 0; round < 5000; round += 1) {
    const text = generator.text([...PARTS, `${ESC}[1;31m`, `${ESC}[0m`, `${ESC}[38:5:1m`], 12);
    const [whole, inPieces] = [new TerminalText(), new TerminalText()];
    const pieces = generator.pieces(text, 4);
    const expected = whole.add(text) + whole.end();
    expect(pieces.map((piece) => inPieces.add(piece)).join('') + inPieces.end(), JSON.stringify(pieces)).toBe(expected);
  }
});

test('a terminal gets no control characters but white space and styles, and no style outlives the text', () => {
  for (const text of generate(5000, 4, (generator) => generator.text([...PARTS, `${ESC}[7m`, `${ESC}[m`], 12))) {
    const terminal = new TerminalText();
    const shown = terminal.add(text) + terminal.end();
    const styles = [...shown.matchAll(new RegExp(`${ESC}\\[([\\d;:]*)m`, 'g'))].map(([, style = '']) => style);
    const rest = shown.replaceAll(new RegExp(`${ESC}\\[[\\d;:]*m`, 'g'), '');
    // oxlint-disable-next-line no-control-regex
    expect(rest, JSON.stringify(text)).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/);
    expect(styles.at(-1) ?? '', JSON.stringify(text)).toMatch(/^0*$/);
  }
});

test('the characters that are made visible are those that Python calls control, format, private or surrogate', () => {
  const categories = judgeInPython<string>(
    'import unicodedata\ndef judge(code): return unicodedata.category(chr(code))',
    Array.from({ length: 0x30000 }, (_, code) => code),
  );
  const hidden = new Set(['Cc', 'Cf', 'Zl', 'Zp', 'Co', 'Cs']);
  const wrong = categories.flatMap((category, code) => {
    if (category === 'Cn' || code === 0x09 || code === 0x0a) return []; // not assigned in this Python; tab and new line
    const character = String.fromCodePoint(code);
    const expected = hidden.has(category) ? `\\u{${code.toString(16)}}` : character;
    return makeVisible(character) === expected ? [] : [`U+${code.toString(16)} ${category}`];
  });
  expect(wrong).toEqual([]);
});

test('visible JSON means the same to another reader', () => {
  const parts = ['a', '"', '\\', '\n', '\u0000', '\u001b', '\u202e', '\u{e0041}', '\ue000', '\u2028', '😀', 'é'];
  const values = generate(300, 5, (generator) => ({
    [generator.text(parts, 6)]: generator.list(3, () => generator.text(parts, 8)),
  }));
  const texts = values.map((value, index) => visibleJson(value, index % 3));
  const read = judgeInPython<unknown>('def judge(text): return json.loads(text)', texts);
  expect(read).toEqual(values);
  expect(texts.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/u);
});
