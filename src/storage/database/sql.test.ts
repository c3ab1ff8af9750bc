import { expect, test } from 'vitest';
import { literal, sql, where } from './sql.ts';

const NUMBERED = (position: number): string => `$${position}`;

test('values never become part of the text', () => {
  const statement = sql`SELECT * FROM ${literal('things')} WHERE name = ${"'; DROP TABLE things"} AND size > ${3}`;
  expect(statement.render(NUMBERED)).toBe('SELECT * FROM things WHERE name = $1 AND size > $2');
  expect(statement.render(() => '?')).toBe('SELECT * FROM things WHERE name = ? AND size > ?');
  expect(statement.values).toEqual(["'; DROP TABLE things", 3]);
});

test('pieces keep their values in order', () => {
  const inner = sql`${1} + ${literal('x')} + ${2}`;
  const statement = sql`${0}, ${inner}, ${inner}, ${null}`;
  expect(statement.render(NUMBERED)).toBe('$1, $2 + x + $3, $4 + x + $5, $6');
  expect(statement.values).toEqual([0, 1, 2, 1, 2, null]);
});

test('conditions are joined, and those that are absent left out', () => {
  const condition = where([undefined, sql`a = ${1}`, undefined, sql`b = ${2}`]);
  expect(condition.render(NUMBERED)).toBe(' WHERE a = $1 AND b = $2');
  expect(condition.values).toEqual([1, 2]);
  expect(where([undefined]).render(NUMBERED)).toBe('');
});
