import { expect, test } from 'vitest';
import type { Artifact } from '../../../artifact/artifact.ts';
import { RunLateCopies } from './late-copies.ts';

test('waiting ends when all copies are made, and without copies at once', async () => {
  const copies = new RunLateCopies();
  await copies.settled();
  const [one, other] = [Promise.withResolvers<Artifact>(), Promise.withResolvers<Artifact>()];
  copies.add([
    { id: '1', done: one.promise },
    { id: '2', done: other.promise },
  ]);
  let isSettled = false;
  const waiting = copies.settled().then(() => (isSettled = true));
  one.resolve({} as Artifact);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isSettled).toBe(false);
  other.resolve({} as Artifact);
  await waiting;
  expect(copies.losses).toEqual([]);
});

test('an abort ends the waiting with its reason, and the copies are still made', async () => {
  const copies = new RunLateCopies();
  const { promise, resolve } = Promise.withResolvers<Artifact>();
  copies.add([{ id: '1', done: promise }]);
  const controller = new AbortController();
  const waiting = copies.settled(controller.signal);
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(copies.settled(controller.signal)).rejects.toThrow('enough');
  resolve({} as Artifact);
  await copies.settled();
  await copies.settled(controller.signal); // there is nothing to wait for
});

test('a copy that failed does not fail the waiting, and is remembered until it is told', async () => {
  const copies = new RunLateCopies();
  const failed = (name: string): Promise<never> =>
    Promise.reject(new Error(`The copy of "${name}" could not be made. No room.`));
  copies.add([
    { id: '1', done: failed('a') },
    { id: '2', done: failed('b') },
  ]);
  await copies.settled();
  const [first = ''] = copies.losses;
  expect(first).toBe('of an earlier run: The copy of "a" could not be made. No room');
  copies.onTold(first);
  expect(copies.losses).toEqual(['of an earlier run: The copy of "b" could not be made. No room']);
});
