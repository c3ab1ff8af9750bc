import { expect, test } from 'vitest';
import { VivariumError } from '../../../errors.ts';
import { Turns } from './turns.ts';

test('turns are given one at a time, in the order they were asked for', async () => {
  const turns = new Turns('s', 10);
  const order: number[] = [];
  const visit = async (number: number): Promise<void> => {
    using turn = await turns.take();
    expect(turns.isTaken).toBe(true);
    await Promise.resolve(turn);
    order.push(number);
  };
  await Promise.all([1, 2, 3, 4].map((number) => visit(number)));
  expect(order).toEqual([1, 2, 3, 4]);
  expect(turns.isTaken).toBe(false);
});

test('a full queue says how long it is and what to do', async () => {
  const turns = new Turns('s', 1);
  using turn = await turns.take();
  const second = turns.take();
  await expect(turns.take()).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  await expect(turns.take()).rejects.toThrow(/1 calls? .*maxQueue.*raise `maxQueue`/s);
  expect(turns.waiting).toBe(1);
  turn[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  expect(turns.isTaken).toBe(false);
});

test('a queue of none still serves who comes when nothing runs', async () => {
  const turns = new Turns('s', 0);
  (await turns.take())[Symbol.dispose]();
  using turn = await turns.take();
  await expect(turns.take()).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  expect(turn).toBeDefined();
});

test('who asks not to wait is refused', async () => {
  const turns = new Turns('s', 10);
  using turn = await turns.take({ whenBusy: 'refuse' });
  await expect(turns.take({ whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  expect(turn).toBeDefined();
});

test('an abort gives up the place in the queue, and nobody else loses theirs', async () => {
  const turns = new Turns('s', 2);
  const first = await turns.take();
  const controller = new AbortController();
  const second = turns.take({ signal: controller.signal });
  const third = turns.take();
  controller.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  expect(turns.waiting).toBe(1);
  first[Symbol.dispose]();
  using turn = await third;
  expect(turn).toBeDefined();
  await expect(turns.take({ signal: controller.signal })).rejects.toThrow('enough');
});

test('closing fails those who wait, those who come, and who was just called', async () => {
  const closed = new VivariumError('SESSION_CLOSED', 'closed');
  const turns = new Turns('s', 2);
  const first = await turns.take();
  const called = turns.take();
  const waiting = turns.take();
  first[Symbol.dispose]();
  turns.close(closed);
  await expect(called).rejects.toBe(closed);
  await expect(waiting).rejects.toBe(closed);
  await expect(turns.take()).rejects.toBe(closed);
});

test('ending a turn twice ends nobody else’s', async () => {
  const turns = new Turns('s', 2);
  const first = await turns.take();
  const second = turns.take();
  const third = turns.take();
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await second;
  expect(turns.waiting).toBe(1);
  (await second)[Symbol.dispose]();
  await third;
});
