import { expect, test } from 'vitest';
import { readLooseObject } from './loose-object.ts';

function read(text: string): Record<string, unknown> | null {
  const members = readLooseObject(text);
  return members && Object.fromEntries(members);
}

test('JSON is read as JSON, with nested values', () => {
  expect(read('{"a": [1, {"b": null}], "c": "\\u00e9\\n"}')).toEqual({ a: [1, { b: null }], c: 'é\n' });
  expect(read('{}')).toEqual({});
});

test.for<[string, Record<string, unknown>]>([
  ['{code: "x"}', { code: 'x' }],
  ["{'code': 'x'}", { code: 'x' }],
  ['{"code": "a\nb"}', { code: 'a\nb' }],
  ['{"code": "x",}', { code: 'x' }],
  ['{"code": "x" , }', { code: 'x' }],
  ["{'a': 'it\\'s', 'b': \"say \\\"hi\\\"\",}", { a: "it's", b: 'say "hi"' }],
  [String.raw`{a: "\t\r\b\f\0\\\x41\u00e9\/\q"}`, { a: '\t\r\b\f\0\\Aé/q' }],
  ['{a: "one \\\ntwo"}', { a: 'one two' }],
  ['{a: -1.5e3, b: true, c: false, d: null}', { a: '-1.5e3', b: 'true', c: 'false', d: 'null' }],
  ['{a:1,a:2}', { a: '2' }],
  ['{"}": "{", x: ","}', { '}': '{', x: ',' }],
])('%j is an object', ([text, members]) => {
  expect(read(text)).toEqual(members);
});

test.for([
  '',
  '{',
  '}',
  'null',
  '12',
  '"code"',
  '{a}',
  '{a: }',
  '{a: b}',
  '{a: [1]}',
  '{a: {}}',
  '{a: 1 b: 2}',
  '{a: 1,, b: 2}',
  '{a: 1} x',
  '{a: 1}}',
  '{1: 2,}',
  '{a: "open}',
  "{'a: 1}",
  '{a-b: 1}',
])('%j is none', (text) => {
  expect(read(text)).toBeNull();
});

test('a member cannot change what the object is', () => {
  expect(readLooseObject('{__proto__: "x", constructor: "y",}')?.get('__proto__')).toBe('x');
  expect(readLooseObject('{"__proto__": {"code": "evil"}}')?.get('code')).toBeUndefined();
});
