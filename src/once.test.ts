import { expect, test } from 'vitest';
import { Once } from './once.ts';

test('callers at the same time share one opening, with the arguments of the first', async () => {
  const opened: string[] = [];
  const once = new Once(async (name: string) => {
    opened.push(name);
    return Promise.resolve(name);
  });
  expect(once.isStarted).toBe(false);
  expect(await Promise.all([once.get('a'), once.get('b')])).toEqual(['a', 'a']);
  expect(await once.get('c')).toBe('a');
  expect(opened).toEqual(['a']);
  expect([once.isStarted, once.value]).toEqual([true, 'a']);
});

test('a failure reaches everybody who waits for it, and the next call tries again', async () => {
  let attempts = 0;
  const once = new Once(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('not yet');
    return Promise.resolve(attempts);
  });
  const both = await Promise.allSettled([once.get(), once.get()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([once.isStarted, once.value, attempts]).toEqual([false, undefined, 1]);
  expect(await once.get()).toBe(2);
});

test('settled waits for an opening, and has nothing where there is none or it failed', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const once = new Once(() => promise);
  expect(await once.settled()).toBeUndefined();
  void once.get();
  const settled = once.settled();
  resolve(7);
  expect(await settled).toBe(7);
  const failing = new Once<number>(() => Promise.reject(new Error('no')));
  const got = failing.get().catch(() => 'rejected');
  expect([await failing.settled(), await got]).toEqual([undefined, 'rejected']);
});

test('after forget, the next call opens it again and a late result of the first opening does not count', async () => {
  const openings: PromiseWithResolvers<string>[] = [];
  const once = new Once(() => {
    const opening = Promise.withResolvers<string>();
    openings.push(opening);
    return opening.promise;
  });
  const first = once.get();
  once.forget();
  const second = once.get();
  openings[0]?.resolve('first');
  expect(await first).toBe('first');
  expect(once.value).toBeUndefined();
  openings[1]?.resolve('second');
  expect([await second, once.value]).toEqual(['second', 'second']);
});
