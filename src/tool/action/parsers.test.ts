import { expect, test } from 'vitest';
import type { ActionDescription } from './contract.ts';
import { BaseParser, JsonParser, ParseError, TupleParser } from './parsers.ts';

const ADD: ActionDescription = {
  name: 'Add',
  description: 'Adds.',
  parameters: [
    { name: 'a', type: 'NUMBER', description: 'one' },
    { name: 'b', type: 'NUMBER', description: 'other' },
    { name: 'note', type: 'STRING', description: 'why' },
  ],
  required: ['a', 'b'],
};
const TOOLKIT: ActionDescription = {
  ...ADD,
  api_list: [
    { ...ADD, name: 'add' },
    { name: 'stop', description: '', parameters: [], required: [] },
  ],
};

test('L-45 the base parser takes the whole input as the first argument', () => {
  expect(new BaseParser(ADD).parseInputs('anything {')).toEqual({ a: 'anything {' });
  expect(new BaseParser(TOOLKIT).parseInputs('x', 'stop')).toEqual({});
  expect(new BaseParser(TOOLKIT).parseInputs('x', 'add')).toEqual({ a: 'x' });
});

test.for<[string, unknown]>([
  ['an object', { a: 1, b: 2 }],
  ['JSON', '{"a": 1, "b": 2}'],
  ['JSON with space around it', '\n {"a": 1, "b": 2} '],
  ['JSON in a fence', '```json\n{"a": 1, "b": 2}\n```'],
  ['JSON in a fence with space around it', '  ```json\n{\n"a": 1,\n"b": 2\n}\n```\n '],
  ['JSON before a closing fence alone', '{"a": 1, "b": 2}\n```'],
])('L-45 the JSON parser reads %s', ([, inputs]) => {
  expect(new JsonParser(ADD).parseInputs(inputs)).toEqual({ a: 1, b: 2 });
});

test('optional arguments may be left out, and arguments keep their types', () => {
  expect(new JsonParser(ADD).parseInputs('{"a": [1], "b": null, "note": "x"}')).toEqual({ a: [1], b: null, note: 'x' });
  expect(new JsonParser(TOOLKIT).parseInputs('{}', 'stop')).toEqual({});
});

test.for<[unknown, string]>([
  ['{"a": 1', 'invalid json format: {"a": 1'],
  ['[1, 2]', 'invalid json format: [1, 2]'],
  ['null', 'invalid json format: null'],
  ['5', 'invalid json format: 5'],
  ['```json\nnope\n```', 'invalid json format: nope'],
  [undefined, 'invalid json format: undefined'],
  [['a'], 'invalid json format: a'],
  ['{"a": 1, "b": 2, "d": 4, "c": 3}', "unknown arguments: {'c', 'd'}"],
  ['{"note": "x"}', "missing required arguments: {'a', 'b'}"],
  [{ b: 2 }, "missing required arguments: {'a'}"],
  [{ x: 1 }, "unknown arguments: {'x'}"],
])('L-45 the JSON parser refuses %j', ([inputs, message]) => {
  expect(() => new JsonParser(ADD).parseInputs(inputs)).toThrow(new ParseError(message));
});

test.for<[unknown, object]>([
  ['(1, 2)', { a: 1, b: 2 }],
  ["(1, 2, 'why')", { a: 1, b: 2, note: 'why' }],
  ['1, 2', { a: 1, b: 2 }],
  [[1, 2], { a: 1, b: 2 }],
  [[1, { deep: true }, null], { a: 1, b: { deep: true }, note: null }],
])('L-45 the tuple parser reads %j in order', ([inputs, args]) => {
  expect(new TupleParser(ADD).parseInputs(inputs)).toEqual(args);
});

test.for<[unknown, string]>([
  ['1', 'invalid tuple format: 1'],
  ['(1, x)', 'invalid tuple format: (1, x)'],
  [null, 'invalid tuple format: null'],
  [{ a: 1 }, 'invalid tuple format: [object Object]'],
  ['(1,)', 'API takes 2 required positional arguments but 1 were given'],
  [[], 'API takes 2 required positional arguments but 0 were given'],
  ['(1, 2, 3, 4)', 'API takes 3 positional arguments but 4 were given'],
])('L-45 the tuple parser refuses %j', ([inputs, message]) => {
  expect(() => new TupleParser(ADD).parseInputs(inputs)).toThrow(new ParseError(message));
});

test('L-45 each parser tells models how to write arguments, and the base parser has no rule', () => {
  expect(new BaseParser(ADD).parameterDescription).toBe('');
  expect(new JsonParser(ADD).parameterDescription).toContain('JSON format {key: value}');
  expect(new TupleParser(ADD).parameterDescription).toContain('tuple format like (arg1, arg2, arg3)');
});

test.for<[unknown, string]>([
  ['text', 'text'],
  ['', ''],
  [{ a: [1] }, '{"a":[1]}'],
  [null, 'null'],
  [undefined, 'None'],
  [3.5, '3.5'],
])('the result %j of a function becomes one text item', ([output, content]) => {
  expect(new BaseParser(ADD).parseOutputs(output)).toEqual([{ type: 'text', content }]);
});

test('a description that requires unknown parameters is refused when the parser is made', () => {
  const broken = { ...ADD, required: ['z', 'a', 'y'] };
  expect(() => new BaseParser(broken)).toThrow(new TypeError("unknown parameters for function \"Add\": {'y', 'z'}"));
  const list = [
    { ...ADD, name: 'ok' },
    { ...broken, name: 'bad' },
  ];
  expect(() => new JsonParser({ ...ADD, api_list: list })).toThrow(/for function "bad"/);
});
