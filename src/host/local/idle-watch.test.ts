import { expect, onTestFinished, test, vi } from 'vitest';
import { IdleWatch } from './idle-watch.ts';

test('use postpones the end, and a wait may be longer than one timer can be', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const idleMs = 3 * 2 ** 31;
  const onIdle = vi.fn<(idleMs: number) => void>();
  let lastUsed = 0;
  const start = Date.now();
  const watch = new IdleWatch({ idleMs, idleForMs: () => Date.now() - start - lastUsed, onIdle });
  vi.advanceTimersByTime(idleMs - 1);
  lastUsed = 1000;
  vi.advanceTimersByTime(1000);
  expect(onIdle).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onIdle).toHaveBeenCalledExactlyOnceWith(idleMs);
  watch.stop();
});

/** A watch on a clock that the test moves, and the moments at which it found the session idle. */
function watched(idleMs: number | null): {
  watch: IdleWatch;
  use: () => void;
  isBusy: (busy: boolean) => void;
  ends: number[];
} {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const start = Date.now();
  const ends: number[] = [];
  let usedAt = start;
  let busy = false;
  const watch = new IdleWatch({
    idleMs,
    idleForMs: () => (busy ? 0 : Date.now() - usedAt),
    onIdle: () => ends.push(Date.now() - start),
  });
  return {
    watch,
    ends,
    use: () => (usedAt = Date.now()),
    isBusy: (now) => {
      busy = now;
      usedAt = Date.now();
    },
  };
}

test('a session is idle exactly when its time is over, and is told once', () => {
  const { ends } = watched(1000);
  vi.advanceTimersByTime(999);
  expect(ends).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(ends).toEqual([1000]);
});

test('each use restarts the idle time', () => {
  const { ends, use } = watched(1000);
  for (let n = 0; n < 5; n += 1) {
    vi.advanceTimersByTime(900);
    use();
  }
  expect(ends).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(ends).toEqual([5500]);
});

test('a session that is busy for many times its idle time is not idle', () => {
  const { ends, isBusy } = watched(100);
  isBusy(true);
  vi.advanceTimersByTime(5050);
  expect(ends).toEqual([]);
  isBusy(false);
  vi.advanceTimersByTime(10_000);
  expect(ends).toHaveLength(1);
  expect(ends[0]).toBeGreaterThanOrEqual(5150);
  expect(ends[0]).toBeLessThanOrEqual(5200);
});

test('a watch that is stopped tells nothing, and may be stopped again', () => {
  const { watch, ends } = watched(100);
  watch.stop();
  watch.stop();
  vi.advanceTimersByTime(10_000);
  expect(ends).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('without an idle time there is no timer', () => {
  const { watch, ends } = watched(null);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(2 ** 31);
  expect(ends).toEqual([]);
  watch.stop();
});

test.for<[remainingMs: number, looks: number]>([
  [0.001, 11],
  [1.5, 6],
])('with %f ms left the next look comes after whole milliseconds, not too early', ([remainingMs, expected]) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const looks: number[] = [];
  const watch = new IdleWatch({
    idleMs: 100,
    idleForMs: () => (looks.push(Date.now()), 100 - remainingMs),
    onIdle: () => {},
  });
  vi.advanceTimersByTime(110);
  expect(looks).toHaveLength(expected);
  watch.stop();
});
