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
