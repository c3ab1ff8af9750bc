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

/** One number after the other, at least 0 and below 1. The same seed gives the same numbers. */
function* numbersFrom(seed: number): Generator<number, never> {
  for (let state = seed; ;) yield (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const settle = (): Promise<void> => new Promise(setImmediate);

test('random pushes to a listener of random speed arrive in order, and pressure follows what waits', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const numbers = numbersFrom(seed);
    const below = (limit: number): number => Math.floor(numbers.next().value * limit);
    const highWater = 1 + below(20);
    const { queue, received, said, next } = slowQueue(highWater);
    const sizes: number[] = [];
    const waiting = (): number => sizes.slice(received.length).reduce((sum, size) => sum + size, 0);
    for (let step = 0; step < 60; step += 1) {
      if (below(2) === 0) {
        const size = below(10);
        queue.push(String(sizes.length), size);
        sizes.push(size);
      } else {
        next()?.resolve();
        await settle();
      }
      const now = waiting();
      const allowed = [true, false].filter((full) => (full ? now >= highWater / 2 : now <= highWater));
      expect(allowed, `seed ${seed}, step ${step}`).toContain(queue.isFull);
    }
    for (let pending = next(); pending !== undefined; pending = next()) {
      pending.resolve();
      await settle();
    }
    await queue.delivered();
    expect(received).toEqual(sizes.map((_, index) => String(index)));
    expect(said).toEqual(said.map((_, index) => (index % 2 === 0 ? 'pause' : 'go on')));
    expect(queue.isFull).toBe(false);
  }
});

test('the producer goes on when half of what may wait is left, not before', async () => {
  const { queue, said, next } = slowQueue(10);
  for (const item of ['busy', 'a', 'b', 'c', 'd']) queue.push(item, 4); // 16 wait behind the first
  expect(said).toEqual(['pause']);
  for (const expected of [['pause'], ['pause'], ['pause', 'go on']]) {
    next()?.resolve();
    await settle();
    expect(said).toEqual(expected); // 12, 8, then 4 wait
  }
});

test('what waits may be exactly as much as is allowed', () => {
  const { queue, said } = slowQueue(10);
  queue.push('busy', 100);
  queue.push('a', 10);
  expect(said).toEqual([]);
  queue.push('b', 1);
  expect(said).toEqual(['pause']);
});

test('8 MB may still come after a hurry, counted from it, and then nothing', async () => {
  const { queue, received, said, next } = slowQueue(1);
  queue.push('before', 100 << 20);
  queue.hurry();
  queue.hurry(); // does not give more room
  queue.push('a', 8 << 20);
  queue.push('b', 1);
  queue.push('c', 0);
  for (const _ of [1, 2, 3]) {
    next()?.resolve();
    await settle();
  }
  await queue.delivered();
  expect(received).toEqual(['before', 'a']);
  expect(said).toEqual([]);
});

test('a hurry before the first item never pauses the producer', () => {
  const { queue, said } = slowQueue(1);
  queue.hurry();
  for (let count = 0; count < 100; count += 1) queue.push('x', 1000);
  expect(said).toEqual([]);
  expect(queue.isFull).toBe(false);
});

test('a listener that turns slow and fast again gets each item once', async () => {
  const received: number[] = [];
  const queue = new EventQueue<number>({
    listener: (item) => {
      received.push(item);
      return item % 3 === 0 ? settle() : undefined;
    },
    onPressure: () => undefined,
    onLeft: () => expect.unreachable(),
  });
  for (let item = 0; item < 20; item += 1) queue.push(item, 1);
  await queue.delivered();
  queue.push(20, 1);
  await queue.delivered();
  expect(received).toEqual(Array.from({ length: 21 }, (_, index) => index));
});

test('items that are pushed while the last one is delivered are waited for', async () => {
  const received: string[] = [];
  const queue: EventQueue<string> = new EventQueue<string>({
    listener: async (item) => {
      await settle();
      received.push(item);
      if (item === 'a') queue.push('b', 1);
      if (item === 'b') queue.push('c', 1);
    },
    onPressure: () => undefined,
    onLeft: () => expect.unreachable(),
  });
  queue.push('a', 1);
  await queue.delivered();
  expect(received).toEqual(['a', 'b', 'c']);
});

test('a listener that leaves in the middle of much is told so once, and what waited is gone', async () => {
  const { queue, received, said, next } = slowQueue(3);
  for (const item of ['a', 'b', 'c', 'd']) queue.push(item, 5);
  next()?.resolve();
  await settle();
  next()?.reject(new Error('enough'));
  await expect(queue.delivered()).rejects.toThrow('enough');
  await expect(queue.delivered()).rejects.toThrow('enough');
  expect(received).toEqual(['a', 'b']);
  expect(said.filter((word) => word === 'left')).toHaveLength(1);
  expect(said.at(-2)).toBe('go on');
  expect(queue.isDelivered).toBe(false);
});

test('items that nobody has received yet can be taken back, up to a certain one', async () => {
  const { queue, received, said, next } = slowQueue(10);
  for (const item of ['given', 'x1', 'keep1', 'mark', 'x2', 'keep2', 'x3']) queue.push(item, 3);
  expect(said).toEqual(['pause']);
  queue.retract(
    (item) => item.startsWith('x'),
    (item) => item === 'mark',
  );
  expect(said).toEqual(['pause']);
  queue.retract(
    (item) => item.startsWith('x'),
    () => false,
  );
  queue.retract(
    (item) => item.startsWith('keep2'),
    () => false,
  );
  expect(said).toEqual(['pause', 'go on']);
  const all = queue.delivered();
  for (const expected of ['given', 'keep1']) {
    await expect.poll(() => received.at(-1)).toBe(expected);
    next()?.resolve();
  }
  await all;
  expect(received).toEqual(['given', 'keep1']);
});
