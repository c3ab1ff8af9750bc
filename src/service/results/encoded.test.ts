import { expect, test } from 'vitest';
import type { Json } from '../../execution/execution.ts';
import { membersOf, truncatedPaths, withPlainDates } from './encoded.ts';

test('a plain object is its own members', () => {
  expect(membersOf({ a: 1, b: null })).toEqual({ members: { a: 1, b: null } });
});

test('a dictionary with a key _type comes as pairs', () => {
  const encoded = {
    _type: 'dict',
    items: [
      ['_type', 'beam'],
      ['x', 1],
    ],
  };
  expect(membersOf(encoded)).toEqual({ members: { _type: 'beam', x: 1 } });
});

test.for<[Json, RegExp]>([
  [[1, 2], /a list/],
  ['text', /a string/],
  [7, /a number/],
  [{ _type: 'dict', items: [[1, 'one']] }, /keys that are not text/],
  [{ _type: 'set', items: [1] }, /a set/],
  [{ _type: 3 }, /unknown type/],
  [{ _type: 'truncated', type: 'dict' }, /too large to return/],
])('%j is not a dictionary by name', ([value, problem]) => {
  expect(membersOf(value)).toEqual({ problem: expect.stringMatching(problem) as string });
});

test('dates become plain text at any depth, and nothing else changes', () => {
  const date = { _type: 'date', value: '2024-07-01' };
  const decimal = { _type: 'decimal', value: '1.50' };
  expect(withPlainDates({ date, list: [date, { deep: date }], decimal, text: 'x' })).toEqual({
    date: '2024-07-01',
    list: ['2024-07-01', { deep: '2024-07-01' }],
    decimal,
    text: 'x',
  });
});

test('truncated values are named by their path', () => {
  const cut = { _type: 'truncated', type: 'list' };
  expect(truncatedPaths({ rows: cut, 'a b': [1, cut], fine: { inner: [cut] } })).toEqual([
    'results["rows"]',
    'results["a b"][1]',
    'results["fine"]["inner"][0]',
  ]);
  expect(truncatedPaths({ rows: [1, 2] })).toEqual([]);
});

test('the list of truncated values is bounded', () => {
  const cut = { _type: 'truncated', type: 'str' };
  expect(truncatedPaths(Array.from({ length: 500 }, () => cut))).toHaveLength(20);
});
