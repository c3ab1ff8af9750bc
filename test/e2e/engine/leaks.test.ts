/** What stays in the memory of the host after each call: nothing. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';

/** What a call may leave, which is noise of the heap. The leaks that this test is for were 500 bytes and more. */
const MOST_BYTES = 150;
const CALLS = 400;
const ROUNDS = 4;

let laboratory: Laboratory;
let collectGarbage: () => void;
beforeAll(async () => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
  laboratory = await Laboratory.start({ limits: { graceMs: 100 } });
});
afterAll(() => laboratory?.close());

async function usedBytes(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

/** The least of several rounds: a leak shows in each of them, and what the engine of Node compiles on the way does not. */
async function bytesPerCall(call: () => Promise<unknown>, calls: number): Promise<number> {
  let [before, least] = [await usedBytes(), Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let count = 0; count < calls; count += 1) await call();
    const after = await usedBytes();
    least = Math.min(least, (after - before) / calls);
    before = after;
  }
  return least;
}

const CALLS_OF: readonly (readonly [name: string, calls: number, call: (subject: Subject) => Promise<unknown>])[] = [
  ['a run', CALLS, (subject) => subject.run('1 + 1')],
  ['a run that raises', CALLS, (subject) => subject.run('1 / 0')],
  ['an inspection', CALLS, (subject) => subject.session.inspect()],
  ['a run that is cancelled', 50, (subject) => subject.run('while True: pass', { signal: AbortSignal.timeout(1) })],
  ['a run that crashes', 25, (subject) => subject.run('import os; os._exit(1)')],
  ['a run with a signal of the caller', CALLS, (subject) => subject.run('1 + 1', { signal: CALLER })],
];
const CALLER = new AbortController().signal;

test.for(CALLS_OF)('%s leaves nothing in the memory of the host', { timeout: 120_000 }, async ([, calls, call]) => {
  await using subject = await laboratory.open();
  await subject.run('x = 1');
  const most = calls === CALLS ? MOST_BYTES : 2000; // of few calls the noise weighs more
  expect(await bytesPerCall(() => call(subject), calls)).toBeLessThan(most);
});
