import { expect, test } from 'vitest';
import { CLOSED, describeDuration, Endings, evictedAfter } from './endings.ts';

test('the last endings are remembered, older ones forgotten', () => {
  const endings = new Endings(2);
  for (const id of ['a', 'b', 'c']) endings.add({ id, key: `id:${id}` }, evictedAfter(60_000));
  expect(endings.of('a')).toBeUndefined();
  expect(endings.of('c')?.what).toBe('was evicted after 1 minute without use');
  endings.forget('c');
  expect(endings.of('c')).toBeUndefined();
});

test('the loss of a key is reported once, and a session that was closed on purpose is no loss', () => {
  const endings = new Endings();
  endings.add({ id: 'a', key: 'client:a' }, evictedAfter(5));
  endings.add({ id: 'b', key: 'client:b' }, CLOSED);
  expect(endings.takeLoss('client:a')?.what).toContain('5 ms');
  expect(endings.takeLoss('client:a')).toBeUndefined();
  expect(endings.takeLoss('client:b')).toBeUndefined();
});

test('durations use the largest unit that gives a whole number', () => {
  expect([3_600_000, 20_000, 1000, 1500].map(describeDuration)).toEqual([
    '60 minutes',
    '20 seconds',
    '1 second',
    '1500 ms',
  ]);
});
