/** Only a few workers make their twins at the same time. A run that waits for its turn can be stopped, and waits briefly. */
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';
import { workerOf } from './processes.ts';

let laboratory: Laboratory;
let waiting: Subject;

beforeAll(async () => {
  laboratory = await Laboratory.start({ twinDelayMs: 60_000 });
});
beforeEach(async () => {
  waiting = await laboratory.open();
  await waiting.run('kept = 41');
});
afterAll(() => laboratory.close());

const stops: Record<string, (aborted: AbortController) => void | Promise<void>> = {
  interrupt: () => waiting.session.interrupt(),
  abort: (aborted) => aborted.abort(),
};

test.for(Object.keys(stops))('code that is stopped while it waits is never sent: %s', async (kind) => {
  await using _ = await holdAllTurns();
  const aborted = new AbortController();
  const running = waiting.run('kept = 0', { signal: aborted.signal });
  await setImmediate();
  await stops[kind]?.(aborted);
  const { outcome, state, durationMs } = await running;
  expect({ outcome, durationMs }).toEqual({ outcome: { status: 'cancelled' }, durationMs: 0 });
  expect(state).toMatchObject({ status: 'preserved', reason: 'the run was stopped before it changed anything' });
  expect(await waiting.evaluate('kept')).toBe('41'); // this run, too, waits for a twin to be made
});

test('code whose signal was aborted before is never sent', async () => {
  const { outcome } = await waiting.run('kept = 0', { signal: AbortSignal.abort() });
  expect(outcome.status).toBe('cancelled');
  expect(await waiting.evaluate('kept')).toBe('41');
});

test('a worker that stands still holds up the others for a moment only, and its own run goes on when it can', async () => {
  await using held = await holdAllTurns();
  const startedAt = performance.now();
  const { outcome } = await waiting.run('kept += 1');
  expect(outcome.status).toBe('succeeded');
  expect(performance.now() - startedAt).toBeLessThan(5000);
  expect(await waiting.evaluate('kept')).toBe('42');
  await held[Symbol.asyncDispose]();
  for (const holder of held.holders) expect(await holder.evaluate('x')).toBe('2');
});

/** Every turn is taken by a worker that stands still before it has made its twin, until this is disposed of. */
async function holdAllTurns(): Promise<AsyncDisposable & { readonly holders: readonly Subject[] }> {
  const holders = await Promise.all(Array.from({ length: availableParallelism() }, () => laboratory.open()));
  for (const holder of holders) await holder.run('x = 1');
  for (const holder of holders) process.kill(workerOf(holder).pid, 'SIGSTOP');
  const held = Promise.all(holders.map((holder) => holder.run('x += 1')));
  return {
    holders,
    async [Symbol.asyncDispose]() {
      for (const holder of holders) process.kill(workerOf(holder).pid, 'SIGCONT');
      await held;
    },
  };
}
