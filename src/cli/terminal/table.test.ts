import { expect, test } from 'vitest';
import { alignColumns } from './table.ts';

test('columns are as wide as their widest cell', () => {
  expect(
    alignColumns([
      ['x', 'int', '41'],
      ['prices', 'list', '[1]'],
    ]),
  ).toBe('x       int   41\nprices  list  [1]');
});

test('no line ends in spaces, and all begin with the indent', () => {
  expect(
    alignColumns(
      [
        ['a', ''],
        ['long', 'b'],
      ],
      '  ',
    ),
  ).toBe('  a\n  long  b');
});

test('rows may be of different lengths', () => {
  expect(alignColumns([['a'], ['bb', 'c', 'd'], []])).toBe('a\nbb  c  d\n');
});

test('no rows are no text', () => {
  expect(alignColumns([])).toBe('');
});
