import { readFileSync } from 'node:fs';

const PERIOD_MS = 5;

/**
 * How late the timers of this process are at most while `work` goes on, in milliseconds. Time in which the machine had no
 * processor for this process does not count.
 */
export async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let due = performance.now() + PERIOD_MS;
  let waited = waitedForProcessorMs();
  const tick = (): void => {
    const [now, waitedNow] = [performance.now(), waitedForProcessorMs()];
    longest = Math.max(longest, now - due - (waitedNow - waited));
    due = now + PERIOD_MS;
    waited = waitedNow;
  };
  const timer = setInterval(tick, PERIOD_MS);
  try {
    await work();
    tick();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

/** Of the main thread, since it began. */
function waitedForProcessorMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
}
