import { expect, test } from 'vitest';
import { ProtocolViolation } from './hostile-json.ts';
import {
  amount,
  fields,
  fieldsAnd,
  flag,
  integer,
  json,
  listOf,
  matching,
  oneOf,
  orNull,
  pair,
  text,
  texts,
  usually,
} from './shape.ts';
import type { Shape } from './shape.ts';

test.for<[what: string, shape: Shape<unknown>, right: readonly unknown[], wrong: readonly unknown[]]>([
  ['a text', text(2), ['', 'ab'], ['abc', 1, null, undefined, ['a']]],
  ['a pattern', matching(/^a+$/), ['a'], ['b', 1, undefined]],
  ['a word', oneOf('a', 'b'), ['a', 'b'], ['c', '', 0, undefined, 'constructor']],
  ['a flag', flag, [true, false], [0, 'true', null, undefined]],
  ['an integer', integer(1, 3), [1, 3], [0, 4, 1.5, '1', Number.NaN, Number.POSITIVE_INFINITY, null]],
  ['an integer without bounds', integer(), [0, 2 ** 53 - 1], [-1, 2 ** 53, 1e300]],
  ['an amount', amount, [0, 1.5, 2 ** 60], [-1, Number.NaN, Number.POSITIVE_INFINITY, '1', null]],
  ['anything', json, [null, 0, [[]], {}], [undefined]],
  ['null too', orNull(flag), [null, true], [undefined, 0]],
  ['a list', listOf(flag, 2), [[], [true, false]], [[true, true, true], [1], {}, 'ab', null]],
  ['a pair', pair(text(), integer()), [['a', 1]], [['a'], ['a', 1, 2], [1, 'a'], {}]],
  ['texts by name', texts(2, 1), [{}, { ab: '' }], [{ abc: '' }, { a: '', b: '' }, { a: 1 }, [], null]],
  [
    'fields',
    fieldsAnd({ a: flag }, { b: flag }),
    [{ a: true }, { a: true, b: false }],
    [{}, { a: 1 }, { a: true, b: 1 }, [], null],
  ],
])('%s is recognised', ([, shape, right, wrong]) => {
  for (const value of right) expect(shape(value, 'it')).toEqual(value);
  for (const value of wrong) expect(() => shape(value, 'it'), JSON.stringify(value)).toThrow(ProtocolViolation);
});

test('a field that is left out has its usual value, and others are dropped', () => {
  const shape = fields({ a: usually(flag, () => true) });
  expect(shape({ c: 1 }, 'it')).toEqual({ a: true });
});

test('what an object inherits is no field of it, and its own __proto__ is nothing special', () => {
  const shape = fields({ a: flag });
  expect(() => shape(Object.create({ a: true }), 'it')).toThrow('a wrong it.a');
  expect(() => shape(JSON.parse('{"__proto__":{"a":true}}'), 'it')).toThrow('a wrong it.a');
  expect(Object.keys(texts(20, 5)(JSON.parse('{"__proto__":"x"}'), 'it'))).toEqual(['__proto__']);
});

test('a list that is too long is refused before anything in it is looked at', () => {
  const never: Shape<never> = () => expect.unreachable();
  expect(() => listOf(never, 2)([0, 0, 0], 'list')).toThrow('a wrong list');
});
