import { expect, test } from 'vitest';
import { EventQueue } from './event-queue.ts';

/** A queue whose listener hears an item when it is let, and what the queue has said to its producer. */
function slowQueue(highWater?: number) {
  const heard: string[] = [];
  const said: string[] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const queue = new EventQueue<string>({
    hear: (item) => {
      heard.push(item);
      const next = Promise.withResolvers<void>();
      pending.push(next);
      return next.promise;
    },
    onPressure: (isFull) => said.push(isFull ? 'pause' : 'go on'),
    onLeft: () => said.push('left'),
    ...(highWater !== undefined && { highWater }),
  });
  return { queue, heard, said, next: () => pending.shift() };
}

test('a listener that takes no time hears everything at once', async () => {
  const heard: string[] = [];
  const queue = new EventQueue<string>({
    hear: (item) => void heard.push(item),
    onPressure: () => expect.unreachable(),
    onLeft: () => expect.unreachable(),
    highWater: 1,
  });
  queue.push('a', 10);
  queue.push('b', 10);
  expect(heard).toEqual(['a', 'b']);
  expect(queue.isHeard).toBe(true);
  await queue.heard();
});

test('a listener that takes its time hears one after the other, and slows the producer down', async () => {
  const { queue, heard, said, next } = slowQueue(3);
  for (const item of ['a', 'b', 'c']) queue.push(item, 2);
  expect(heard).toEqual(['a']);
  expect(said).toEqual(['pause']);
  expect(queue.isHeard).toBe(false);
  const all = queue.heard();
  for (const expected of ['a', 'b', 'c']) {
    await expect.poll(() => heard.at(-1)).toBe(expected);
    next()?.resolve();
  }
  await all;
  expect(said).toEqual(['pause', 'go on']);
});

test('who is hurried waits no more, and what is above a bound is not kept', async () => {
  const { queue, heard, said, next } = slowQueue(3);
  queue.push('a', 1);
  queue.push('b', 5);
  queue.hurry();
  expect(said).toEqual(['pause', 'go on']);
  queue.push('far too much', 9 << 20);
  queue.push('c', 1);
  next()?.resolve();
  await expect.poll(() => heard).toEqual(['a', 'b']);
  next()?.resolve();
  await queue.heard();
  expect(heard).toEqual(['a', 'b']);
});

test('a listener that throws, at once or later, is told no more, and its error is told', async () => {
  const error = new Error('enough');
  const { queue, heard, said, next } = slowQueue(3);
  queue.push('a', 1);
  queue.push('b', 5);
  next()?.reject(error);
  await expect(queue.heard()).rejects.toBe(error);
  queue.push('c', 1);
  expect(heard).toEqual(['a']);
  expect(said).toEqual(['pause', 'go on', 'left']);

  const left: string[] = [];
  const hasty = new EventQueue<string>({
    hear: () => {
      throw error;
    },
    onPressure: () => expect.unreachable(),
    onLeft: () => left.push('left'),
  });
  hasty.push('a', 1);
  hasty.push('b', 1);
  expect(left).toEqual(['left']);
  await expect(hasty.heard()).rejects.toBe(error);
});
