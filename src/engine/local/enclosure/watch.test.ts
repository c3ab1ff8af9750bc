import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Limits } from '../../../config.ts';
import type { SurveyOrder } from '../zygote/surveyor.ts';
import { LONG_RUN_MS, Watch } from './watch.ts';

const LIMITS = Limits.parse({ cpuMs: 700, workspaceMb: 3, rollbackMb: 2, timeoutMs: 9000 });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A watch, the orders that it has given, and the number of runs that it called long. */
function startWatch() {
  const orders: SurveyOrder[] = [];
  const target = { worker: 7, dormant: [8, 9], limits: LIMITS };
  const watch = new Watch(
    (order) => orders.push(order),
    () => target,
  );
  const long: string[] = [];
  return {
    watch,
    orders,
    long,
    ops: () => orders.map(({ op }) => op),
    begin: (name: string) => watch.beginRun(9000, () => long.push(name)),
  };
}

test('a short run is not watched', () => {
  const { watch, long, ops, begin } = startWatch();
  begin('short');
  vi.advanceTimersByTime(LONG_RUN_MS - 1);
  watch.endRun();
  vi.advanceTimersByTime(1000);
  expect([ops(), long]).toEqual([[], []]);
});

test('a long run is watched until it ends', () => {
  const { watch, long, orders, begin } = startWatch();
  begin('long');
  vi.advanceTimersByTime(LONG_RUN_MS);
  expect(long).toEqual(['long']);
  const diskBytes = 5 * 2 ** 20;
  const fields = {
    order: 1,
    worker: 7,
    dormant: [8, 9],
    memoryBytes: LIMITS.memoryMb * 2 ** 20,
    cpuMs: 700,
    diskBytes,
    isStopping: false,
    toleratesFound: false,
  };
  expect(orders).toEqual([{ op: 'watch', ...fields, busyMs: null, wallMs: 9000 - LONG_RUN_MS + 5000 }]);
  watch.endRun();
  watch.endRun();
  expect(orders.slice(1)).toEqual([{ op: 'unwatch' }]);
});

test('a run that is told to end has little more time, and between runs there is no limit of wall time', () => {
  const { watch, orders, begin } = startWatch();
  begin('long');
  watch.hasten();
  expect(orders).toEqual([]);
  vi.advanceTimersByTime(LONG_RUN_MS);
  watch.hasten();
  watch.endRun();
  watch.rest(false);
  vi.advanceTimersByTime(100);
  expect(orders.map(({ wallMs }) => wallMs)).toEqual([13_950, 20_000 + LIMITS.graceMs, undefined, null]);
});

test('one clock serves a burst of runs, and each is long by its own time', () => {
  const { watch, long, ops, begin } = startWatch();
  begin('first');
  vi.advanceTimersByTime(LONG_RUN_MS - 10);
  watch.endRun();
  begin('second');
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(10); // the clock of the first run
  expect(ops()).toEqual([]);
  vi.advanceTimersByTime(LONG_RUN_MS - 11);
  expect(long).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(long).toEqual(['second']);
});

test('a clock that finds no run stops, and the next run starts it again', () => {
  const { watch, long, begin } = startWatch();
  begin('first');
  watch.endRun();
  vi.advanceTimersByTime(LONG_RUN_MS);
  expect(vi.getTimerCount()).toBe(0);
  begin('second');
  vi.advanceTimersByTime(LONG_RUN_MS);
  expect(long).toEqual(['second']);
});

test('between runs a session is watched from 100 ms after the last one, once', () => {
  const { watch, orders } = startWatch();
  watch.rest(false);
  vi.advanceTimersByTime(99);
  watch.rest(false);
  expect([orders, watch.isResting]).toEqual([[], false]);
  vi.advanceTimersByTime(1);
  expect(orders).toMatchObject([{ op: 'rest', worker: 7, busyMs: 9000, toleratesFound: false }]);
  expect(watch.isResting).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(orders).toHaveLength(1);
});

test('that the disk was measured after any run of a burst is said once', () => {
  const { watch, orders } = startWatch();
  watch.rest(true);
  watch.rest(false);
  vi.advanceTimersByTime(100);
  watch.rest(false);
  vi.advanceTimersByTime(100);
  expect(orders).toMatchObject([{ toleratesFound: true }, { toleratesFound: false }]);
});

test('once a run was ended for its files, the session is measured right after each run', () => {
  const { watch, orders } = startWatch();
  watch.onOverfilled();
  watch.rest(false);
  watch.rest(false);
  expect(orders).toMatchObject([
    { op: 'rest', toleratesFound: true },
    { op: 'rest', toleratesFound: true },
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a long run that follows another at once is not held to what nobody has measured', () => {
  const { watch, orders, begin } = startWatch();
  watch.rest(false);
  begin('right after');
  vi.advanceTimersByTime(LONG_RUN_MS);
  watch.endRun();
  watch.rest(false);
  vi.advanceTimersByTime(100);
  begin('later');
  vi.advanceTimersByTime(LONG_RUN_MS);
  expect(orders.filter(({ op }) => op === 'watch')).toMatchObject([
    { toleratesFound: true },
    { toleratesFound: false },
  ]);
});

test('a long run ends the rest, also one that is about to begin', () => {
  const { watch, ops, begin } = startWatch();
  watch.rest(false);
  vi.advanceTimersByTime(60);
  begin('long');
  vi.advanceTimersByTime(LONG_RUN_MS);
  expect(ops()).toEqual(['rest', 'watch']);
  expect(watch.isResting).toBe(false);
  watch.rest(false);
  begin('longer');
  vi.advanceTimersByTime(1000);
  expect(ops()).toEqual(['rest', 'watch', 'watch']);
});

test('a new twin is told while the session rests, and is no reason to begin', () => {
  const { watch, ops } = startWatch();
  watch.renew();
  vi.advanceTimersByTime(200);
  expect(ops()).toEqual([]);
  watch.rest(false);
  vi.advanceTimersByTime(100);
  watch.renew();
  vi.advanceTimersByTime(100);
  expect(ops()).toEqual(['rest', 'rest']);
});

test('a watch that has ended leaves no timer', () => {
  const { watch } = startWatch();
  watch.rest(false);
  watch.end();
  watch.end();
  expect(vi.getTimerCount()).toBe(0);
});

test('an excess that was seen before the run began is looked at again, and counts the second time', () => {
  const { watch, orders, ops, begin } = startWatch();
  watch.rest(false);
  vi.advanceTimersByTime(100);
  const early = orders[0]?.['order'] as number;
  expect(watch.confirm(early)).toBe(true);
  begin('run');
  expect(watch.confirm(early)).toBe(false);
  expect(ops()).toEqual(['rest', 'watch']);
  expect(watch.confirm(orders[1]?.['order'] as number)).toBe(true);
  vi.advanceTimersByTime(LONG_RUN_MS);
  expect(ops()).toEqual(['rest', 'watch']); // once is enough
  expect(watch.confirm(early)).toBe(true);
});

test('an excess of a run that has ended since is looked at again', () => {
  const { watch, orders, ops, begin } = startWatch();
  begin('long');
  vi.advanceTimersByTime(LONG_RUN_MS);
  watch.endRun();
  watch.endRun();
  expect(watch.confirm(orders[0]?.['order'] as number)).toBe(false);
  vi.advanceTimersByTime(100);
  expect(ops()).toEqual(['watch', 'unwatch', 'rest']);
  expect(watch.confirm(orders[2]?.['order'] as number)).toBe(true);
});
