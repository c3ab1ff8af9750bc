import { describe, expect, test } from 'vitest';
import { TextFrame } from './text-frame.ts';

const ESC = '\u001B';

describe('A framed text', () => {
  test.for([
    ['one line', 'one', '│ one\n'],
    ['a line break at the end', 'one\n', '│ one\n'],
    ['two line breaks at the end', 'one\n\n', '│ one\n│ \n'],
    ['an empty line', 'one\n\ntwo\n', '│ one\n│ \n│ two\n'],
    ['nothing', '', '│ \n'],
    ['a tab', '\tx', '│     x\n'],
    ['an escape sequence', `${ESC}[2Jx`, '│ \\u{1b}[2Jx\n'],
    ['a carriage return', 'safe\rerror: evil', '│ safe\\u{d}error: evil\n'],
    ['other line breaks', 'a\u2028b\u0085c\vd\fe', '│ a\\u{2028}b\\u{85}c\\u{b}d\\u{c}e\n'],
    ['text from right to left', 'a\u202Eb\u2066c', '│ a\\u{202e}b\\u{2066}c\n'],
    ['invisible characters', 'a\u200Bb\uFEFFc\u00ADd', '│ a\\u{200b}b\\u{feff}c\\u{ad}d\n'],
    ['half a character', 'a\uD800b', '│ a\\u{d800}b\n'],
    ['a frame of its own', '│ x\nerror: y', '│ │ x\n│ error: y\n'],
  ] as const)('shows %s', ([, text, framed]) => {
    expect(TextFrame.around(text, undefined)).toBe(framed);
  });

  test.for([
    [20, 20],
    [80, 80],
    [5, 20], // a narrower terminal is not believed
    [0, 20],
  ])('in a terminal of %i columns has lines of at most %i', ([columns, width]) => {
    const text = `${'x'.repeat(500)} error: it looks like ours\n${'表'.repeat(100)}\n${'é'.repeat(100)}`;
    const framed = TextFrame.around(text, columns);
    for (const line of framed.trimEnd().split('\n')) {
      expect(line).toMatch(/^[│┆] /u);
      const wide = line.slice(2).replaceAll(/[ -~]/gu, '').length; // two columns each
      expect(line.length + wide).toBeLessThanOrEqual(width ?? 0);
    }
    expect(framed.replaceAll('\n┆ ', '').replaceAll(/^│ /gmu, '')).toBe(`${text}\n`);
  });

  test('breaks a line exactly where the terminal would', () => {
    const fits = 'x'.repeat(17);
    expect(TextFrame.around(fits, 20)).toBe(`│ ${fits}\n`);
    expect(TextFrame.around(`${fits}y`, 20)).toBe(`│ ${fits}\n┆ y\n`);
    expect(TextFrame.around(`${'x'.repeat(16)}表`, 20)).toBe(`│ ${'x'.repeat(16)}\n┆ 表\n`);
  });
});

describe('Output that arrives in pieces', () => {
  test('comes through at once, without what controls a terminal', () => {
    const frame = new TextFrame(undefined);
    expect(frame.add('.')).toBe('│ .');
    expect(frame.add('.\nred: \u001B[3')).toBe('.\n');
    expect(frame.add('1mred\u001B[0m\r\n10%\r20%')).toBe('│ red: red\n');
    expect(frame.add('\r30%\n')).toBe('│ 30%\n');
    expect(frame.add('end \u202E')).toBe('│ end \\u{202e}');
    expect(frame.end()).toBe('\n');
    expect(frame.end()).toBe('');
  });

  test('is the same however it is cut', () => {
    const text = `one\n${ESC}[31mtwo${ESC}[0m\n\nthree ${ESC}]0;title\u0007 four\nlast`;
    const whole = new TextFrame(40);
    const expected = whole.add(text) + whole.end();
    for (let size = 1; size < 8; size += 1) {
      const frame = new TextFrame(40);
      let framed = '';
      for (let at = 0; at < text.length; at += size) framed += frame.add(text.slice(at, at + size));
      expect(framed + frame.end()).toBe(expected);
    }
  });

  test('that never ends its line is shown in the end, without half a sequence', () => {
    const frame = new TextFrame(undefined);
    expect(frame.add(`\rhalf${ESC}[31`)).toBe('');
    expect(frame.end()).toBe('│ half\n');
  });

  test('is not held back without bound', () => {
    const frame = new TextFrame(undefined);
    expect(frame.add(`\r${'x'.repeat(16_382)}`)).toBe('');
    expect(frame.add('x')).toMatch(/^│ x+/u);
    expect(frame.add('more')).toBe('more');
  });

  test('keeps its place when a line is broken between two pieces', () => {
    const frame = new TextFrame(20);
    expect(frame.add('x'.repeat(10)) + frame.add('y'.repeat(10))).toBe(`│ ${'x'.repeat(10)}${'y'.repeat(7)}\n┆ yyy`);
  });

  test('that is nothing prints nothing', () => {
    const frame = new TextFrame(80);
    expect([frame.add(''), frame.end()]).toEqual(['', '']);
  });
});
