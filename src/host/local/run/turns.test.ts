import { getEventListeners } from 'node:events';
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

test('with a queue of 0, a call is still served when nothing runs', async () => {
  const turns = new Turns('s', 0);
  (await turns.take())[Symbol.dispose]();
  using turn = await turns.take();
  await expect(turns.take()).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  expect(turn).toBeDefined();
});

test('a call that asks not to wait is refused while something runs', async () => {
  const turns = new Turns('s', 10);
  using turn = await turns.take({ whenBusy: 'refuse' });
  await expect(turns.take({ whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  expect(turn).toBeDefined();
});

test('an abort gives up the place in the queue, and no other call loses its place', async () => {
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

test('closing fails the calls that wait, that come later, and that were just given their turn', async () => {
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

test('ending a turn twice does not end the turn of another call', async () => {
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

test('listeners do not gather on a signal that is used for many calls', async () => {
  const turns = new Turns('s', 10);
  const { signal } = new AbortController();
  const first = await turns.take({ signal });
  const second = turns.take({ signal });
  const third = turns.take({ signal });
  expect(getEventListeners(signal, 'abort')).toHaveLength(2);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an abort that comes when the turn was passed already does not lose the turn', async () => {
  const turns = new Turns('s', 10);
  const controller = new AbortController();
  const first = await turns.take();
  const second = turns.take({ signal: controller.signal });
  const third = turns.take();
  first[Symbol.dispose]();
  controller.abort(new Error('too late'));
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  expect([turns.isTaken, turns.waiting]).toEqual([false, 0]);
});

test('nobody who comes while the turn is passed on gets in first', async () => {
  const turns = new Turns('s', 10);
  const order: string[] = [];
  const first = await turns.take();
  const waiting = turns.take().then((turn) => (order.push('waited'), turn));
  first[Symbol.dispose]();
  const late = turns.take().then((turn) => (order.push('came late'), turn));
  await expect(turns.take({ whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  (await waiting)[Symbol.dispose]();
  (await late)[Symbol.dispose]();
  expect(order).toEqual(['waited', 'came late']);
});

test('the time without turns begins when the last turn ends', async () => {
  const turns = new Turns('s', 10);
  const before = performance.now();
  const first = await turns.take();
  const second = turns.take();
  first[Symbol.dispose]();
  const turn = await second;
  const passedOn = performance.now();
  turn[Symbol.dispose]();
  expect(turns.freeSinceMs).toBeGreaterThanOrEqual(passedOn);
  expect(turns.freeSinceMs).toBeGreaterThan(before);
});

test('closing twice keeps the first reason, and the turn that is taken may still end', async () => {
  const first = new VivariumError('SESSION_CLOSED', 'first');
  const turns = new Turns('s', 10);
  const turn = await turns.take();
  const waiting = turns.take();
  turns.close(first);
  turns.close(new VivariumError('SESSION_CLOSED', 'second'));
  await expect(waiting).rejects.toBe(first);
  turn[Symbol.dispose]();
  await expect(turns.take()).rejects.toBe(first);
  expect([turns.isTaken, turns.waiting]).toEqual([false, 0]);
});

test('an aborted signal comes before everything else, also before a full queue and a closed session', async () => {
  const turns = new Turns('s', 0);
  using turn = await turns.take();
  const signal = AbortSignal.abort(new Error('gone'));
  await expect(turns.take({ signal })).rejects.toThrow('gone');
  turns.close(new VivariumError('SESSION_CLOSED', 'closed'));
  await expect(turns.take({ signal })).rejects.toThrow('gone');
  expect(turn).toBeDefined();
});

test('a place that an abort gave up can be taken by another call', async () => {
  const turns = new Turns('s', 1);
  using turn = await turns.take();
  const controller = new AbortController();
  const given = turns.take({ signal: controller.signal });
  await expect(turns.take()).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  controller.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  const next = turns.take();
  turn[Symbol.dispose]();
  (await next)[Symbol.dispose]();
});

test('the errors name the session and what to do', async () => {
  const turns = new Turns('my-session', 0);
  using turn = await turns.take();
  await expect(turns.take({ whenBusy: 'refuse' })).rejects.toThrow(/^Session my-session .*`whenBusy: "queue"`/s);
  await expect(turns.take()).rejects.toThrow(/^Session my-session .*0 calls.*another session/s);
  expect(turn).toBeDefined();
});
