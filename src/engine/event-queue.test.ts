import { expect, test } from 'vitest';
import { EventQueue } from './event-queue.ts';

/** A queue with a listener that the test holds up, and what the queue has said to its producer. */
function slowQueue(highWater?: number) {
  const received: string[] = [];
  const said: string[] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const queue = new EventQueue<string>({
    listener: (item) => {
      received.push(item);
      const next = Promise.withResolvers<void>();
      pending.push(next);
      return next.promise;
    },
    onPressure: (isFull) => said.push(isFull ? 'pause' : 'go on'),
    onLeft: () => said.push('left'),
    ...(highWater !== undefined && { highWater }),
  });
  return { queue, received, said, next: () => pending.shift() };
}

test('a fast listener receives everything at once', async () => {
  const received: string[] = [];
  const queue = new EventQueue<string>({
    listener: (item) => void received.push(item),
    onPressure: () => expect.unreachable(),
    onLeft: () => expect.unreachable(),
    highWater: 1,
  });
  queue.push('a', 10);
  queue.push('b', 10);
  expect(received).toEqual(['a', 'b']);
  expect(queue.isDelivered).toBe(true);
  await queue.delivered();
});

test('a slow listener receives one item after the other, and slows the producer down', async () => {
  const { queue, received, said, next } = slowQueue(3);
  for (const item of ['a', 'b', 'c']) queue.push(item, 2);
  expect(received).toEqual(['a']);
  expect(said).toEqual(['pause']);
  expect(queue.isDelivered).toBe(false);
  const all = queue.delivered();
  for (const expected of ['a', 'b', 'c']) {
    await expect.poll(() => received.at(-1)).toBe(expected);
    next()?.resolve();
  }
  await all;
  expect(said).toEqual(['pause', 'go on']);
});

test('after a hurry nobody waits, and items above a bound are dropped', async () => {
  const { queue, received, said, next } = slowQueue(3);
  queue.push('a', 1);
  queue.push('b', 5);
  queue.hurry();
  expect(said).toEqual(['pause', 'go on']);
  queue.push('far too much', 9 << 20);
  queue.push('c', 1);
  next()?.resolve();
  await expect.poll(() => received).toEqual(['a', 'b']);
  next()?.resolve();
  await queue.delivered();
  expect(received).toEqual(['a', 'b']);
});

test('a listener that throws, at once or later, receives no more, and its error is passed on', async () => {
  const error = new Error('enough');
  const { queue, received, said, next } = slowQueue(3);
  queue.push('a', 1);
  queue.push('b', 5);
  next()?.reject(error);
  await expect(queue.delivered()).rejects.toBe(error);
  queue.push('c', 1);
  expect(received).toEqual(['a']);
  expect(said).toEqual(['pause', 'go on', 'left']);

  const left: string[] = [];
  const hasty = new EventQueue<string>({
    listener: () => {
      throw error;
    },
    onPressure: () => expect.unreachable(),
    onLeft: () => left.push('left'),
  });
  hasty.push('a', 1);
  hasty.push('b', 1);
  expect(left).toEqual(['left']);
  await expect(hasty.delivered()).rejects.toBe(error);
});
