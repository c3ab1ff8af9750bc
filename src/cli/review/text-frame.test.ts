import { expect, test } from 'vitest';
import { TextFrame, inLine } from './text-frame.ts';

test('every line is marked, also those that a terminal would break', () => {
  expect(TextFrame.around('one\n\ntwo\n', undefined)).toBe('│ one\n│ \n│ two\n');
  const broken = TextFrame.around(`${'x'.repeat(17)}error: it is ours\n表表表表表表表表表表`, 20);
  for (const line of broken.trimEnd().split('\n')) expect(line).toMatch(/^[│┆] .{1,17}$/u);
  expect(broken.replaceAll(/\n┆ /g, '')).toBe(`│ ${'x'.repeat(17)}error: it is ours\n│ 表表表表表表表表表表\n`);
});

test('output comes through in pieces, without what controls a terminal', () => {
  const frame = new TextFrame(undefined);
  expect(frame.add('.')).toBe('│ .');
  expect(frame.add('.\nred: \u001B[3')).toBe('.\n');
  expect(frame.add('1mred\u001B[0m\r\n10%\r20%')).toBe('│ red: red\n');
  expect(frame.add('\r30%\n')).toBe('│ 30%\n');
  expect(frame.add('end \u202E')).toBe('│ end \\u{202e}');
  expect(frame.end()).toBe('\n');
  expect(frame.end()).toBe('');
});

test('words in a line of ours stay one line', () => {
  expect(inLine('a\nerror: b\u001B[1m\r\u009B2J', 100)).toBe('a error: b');
  expect(inLine('x'.repeat(50), 10)).toBe(`${'x'.repeat(9)}…`);
});
