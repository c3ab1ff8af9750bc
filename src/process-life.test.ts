import { expect, test } from 'vitest';
import { keepAlive, Task } from './process-life.ts';

/** How many timers keep the process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

test('the process stays alive while work is under way, also if it fails, and however much there is', async () => {
  const before = timers();
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<never>()];
  const kept = [keepAlive(first.promise), keepAlive(second.promise)] as const;
  expect(timers()).toBe(before + 1);
  first.resolve(1);
  expect(await kept[0]).toBe(1);
  expect(timers()).toBe(before + 1);
  second.reject(new Error('as expected'));
  await expect(kept[1]).rejects.toThrow('as expected');
  expect(timers()).toBe(before);
});

test('work that waits for others does not keep the process alive until they are done', async () => {
  const before = timers();
  using task = new Task();
  const others = Promise.withResolvers<void>();
  const waiting = task.leaveToOthers(others.promise);
  expect(timers()).toBe(before);
  others.resolve();
  await waiting;
  expect(timers()).toBe(before + 1);
});

test('work that ends while it waits takes nothing away from other work', async () => {
  const before = timers();
  using other = new Task();
  const others = Promise.withResolvers<void>();
  const abandoned = new Task();
  const waiting = abandoned.leaveToOthers(others.promise);
  abandoned[Symbol.dispose]();
  expect(timers()).toBe(before + 1);
  others.resolve();
  await waiting;
  expect(timers()).toBe(before + 1);
  other[Symbol.dispose]();
  expect(timers()).toBe(before);
});
