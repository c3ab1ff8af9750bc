import { expect, test } from 'vitest';
import { Waiters, within } from './deadline.ts';

const NEVER = new Promise<never>(() => undefined);
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('a promise in time gives its value, and one that takes longer the other', async () => {
  expect(await within(10_000, Promise.resolve(1), 2)).toBe(1);
  expect(await within(1, NEVER, 2)).toBe(2);
  await expect(within(10_000, Promise.reject(new Error('no')), 2)).rejects.toThrow('no');
});

test('no timer stays behind', async () => {
  const before = timers();
  for (let count = 0; count < 100; count += 1) await within(10_000, Promise.resolve(count), null);
  expect(timers()).toBeLessThanOrEqual(before);
});

test('everybody who waits gets the answer, or hears of the end', async () => {
  const waiters = new Waiters<string>();
  const answered = waiters.race(Promise.resolve('answer'));
  const ended = [waiters.race(NEVER), waiters.race(NEVER)];
  expect(await answered).toBe('answer');
  waiters.end('over');
  expect(await Promise.all(ended)).toEqual(['over', 'over']);
});
