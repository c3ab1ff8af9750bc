import { expect, test } from 'vitest';
import { Feed } from './feed.ts';

test('items come in order, and those before the end are still read', async () => {
  const feed = new Feed<number>();
  void feed.push(1);
  void feed.push(2);
  feed.end();
  expect(await Array.fromAsync(feed)).toEqual([1, 2]);
});

test('a writer can wait until the reader asks for more', async () => {
  const feed = new Feed<number>();
  const reader = feed[Symbol.asyncIterator]();
  let isTaken = false;
  const taken = feed.push(1).then(() => (isTaken = true));
  expect((await reader.next()).value).toBe(1);
  expect(isTaken).toBe(false);
  const next = reader.next();
  await taken;
  void feed.push(2);
  expect((await next).value).toBe(2);
});

test('nobody waits for a reader that has left', async () => {
  const feed = new Feed<number>();
  const pushed = [feed.push(1), feed.push(2)];
  for await (const _ of feed) break;
  expect(await Promise.all([...pushed, feed.push(3)])).toHaveLength(3);
});
