import { expect, test } from 'vitest';
import { LOOSE, parseCounted, parseJson, ProtocolViolation } from './hostile-json.ts';

const parse = (text: string): unknown => parseJson(Buffer.from(text));
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.for([
  'null',
  '0',
  '"text"',
  '[1,[2,{"a":[]}]]',
  '{"ä":"🐍"}',
  ' [ 1 , 2 ] ',
  String.raw`"[[[[ \" ]]]] {{{{ \\"`,
  String.raw`{"a\"b[":"\\\"{"}`,
])('%s is parsed as JSON.parse does', (text) => {
  expect(parse(text)).toEqual(JSON.parse(text));
});

test('64 levels are allowed, one more is not', () => {
  expect(parse(nested(64))).toBeInstanceOf(Array);
  expect(() => parse(nested(65))).toThrow(new ProtocolViolation('JSON nested deeper than 64'));
  expect(() => parse('{"a":'.repeat(65) + '1' + '}'.repeat(65))).toThrow(ProtocolViolation);
});

test('depth is counted by what is open, not by how many brackets there are', () => {
  const wide = `[${Array.from({ length: 10_000 }, () => '[{}]').join(',')}]`;
  expect(parse(wide)).toHaveLength(10_000);
});

test('brackets in strings do not count, however the string is escaped', () => {
  const brackets = '['.repeat(1000);
  for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `\n${brackets}"\\"`]) {
    expect(parse(JSON.stringify([text]))).toEqual([text]);
  }
});

test('a string that seems to end does not hide the depth behind it', () => {
  const deep = nested(100);
  for (const text of [`["\\"",${deep}]`, `["\\\\",${deep}]`, `["",${deep}]`, `{"\\\\\\"":${deep}}`]) {
    expect(() => parse(text)).toThrow('nested deeper');
  }
});

test.for(['', '{', '[1,]', "{'a':1}", 'NaN', '"\u0001"', '[1] [2]', ']'.repeat(100), '\u0000'])(
  '%j is text that is not JSON',
  (text) => {
    expect(() => parse(text)).toThrow(new ProtocolViolation('text that is not JSON'));
  },
);

test('a megabyte of open brackets is refused without being parsed', () => {
  const text = '['.repeat(1 << 20);
  const before = process.cpuUsage();
  expect(() => parse(text)).toThrow('nested deeper');
  expect(process.cpuUsage(before).user).toBeLessThan(100_000);
});

test('bytes that are no text are replaced inside strings and refused elsewhere', () => {
  expect(parseJson(Buffer.from([0x22, 0xff, 0x22]))).toBe('\ufffd');
  expect(() => parseJson(Buffer.from([0xff]))).toThrow(ProtocolViolation);
});

test.for([
  ['lists', (count: number) => '[],'.repeat(count), 2],
  ['numbers', (count: number) => '0,'.repeat(count), 1],
  ['texts', (count: number) => '"",'.repeat(count), 2],
  ['keys', (count: number) => `{${'"a":0,'.repeat(count)}"b":0},`, 4],
] as const)('so many %s are allowed, and more are not', ([, make, each]) => {
  const most = Math.floor(150_000 / each) - 5;
  expect(parse(`[${make(most)}0]`)).toBeInstanceOf(Array);
  expect(() => parse(`[${make(most + 10)}0]`)).toThrow(new ProtocolViolation('JSON of too many values'));
  expect(parseJson(Buffer.from(`[${make(most + 10)}0]`), LOOSE)).toBeInstanceOf(Array);
});

test('marks within strings cost nothing', () => {
  const text = '[{:,'.repeat(200_000);
  expect(parseCounted(Buffer.from(JSON.stringify([text])))).toEqual({ json: [text], cost: 2 });
});
