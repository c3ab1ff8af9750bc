import { expect, test } from 'vitest';
import { MARK_BYTES, Marks, PREFIX_BYTES } from './marks.ts';

test('a mark is its prefix and its number, in the order of the network', () => {
  const marks = new Marks();
  const bytes = Buffer.from(marks.textOf(0x01_02_03_04), 'hex');
  expect(bytes).toHaveLength(MARK_BYTES);
  expect(bytes.subarray(0, PREFIX_BYTES)).toEqual(marks.prefix);
  expect(bytes.readUInt32BE(PREFIX_BYTES)).toBe(0x01_02_03_04);
});

test('numbers grow by one, and no two workers share a prefix', () => {
  const marks = new Marks();
  expect([marks.next(), marks.next(), marks.next()]).toEqual([1, 2, 3]);
  const prefixes = Array.from({ length: 100 }, () => new Marks().prefix.toString('hex'));
  expect(new Set(prefixes).size).toBe(100);
});

test('no text can hold a mark: it begins with a byte that UTF-8 never has', () => {
  expect(new Marks().prefix[0]).toBe(0xff);
});
