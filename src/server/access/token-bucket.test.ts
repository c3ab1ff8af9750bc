import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

test('a burst is let through at once, and then one request each time a token has been refilled', () => {
  let now = 0;
  const bucket = new TokenBucket(10, 3, () => now);
  expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 0]);
  expect(bucket.take()).toBeCloseTo(100);
  now = 50;
  expect(bucket.take()).toBeCloseTo(50);
  now = 100;
  expect(bucket.take()).toBe(0);
  expect(bucket.take()).toBeCloseTo(100);
});

test('what is not used is kept up to the burst and no further', () => {
  let now = 0;
  const bucket = new TokenBucket(1000, 2, () => now);
  now = 1e9;
  expect([bucket.take(), bucket.take()]).toEqual([0, 0]);
  expect(bucket.take()).toBeGreaterThan(0);
});

test('a rate of less than one per second works too', () => {
  let now = 0;
  const bucket = new TokenBucket(0.5, 1, () => now);
  expect(bucket.take()).toBe(0);
  expect(bucket.take()).toBeCloseTo(2000);
  now = 2000;
  expect(bucket.take()).toBe(0);
});
