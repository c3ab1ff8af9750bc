/** Many sessions that run short code again and again: the others are served in time all the same. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';

const SESSIONS = 20;
const LIMIT_MS = 200;
/** Far above what it takes on a machine that does nothing else. Without priorities it was 18 s and more. */
const LATE_MS = 4000;
const TIMES = 5;

let laboratory: Laboratory;
let victim: Subject;
const busy: Subject[] = [];
const stop = new AbortController();
let work: Promise<void[]>;

beforeAll(async () => {
  laboratory = await Laboratory.start();
  victim = await laboratory.open();
  await victim.run('kept = 41');
  for (let count = 0; count < SESSIONS; count += 1) busy.push(await laboratory.open());
  work = Promise.all(
    busy.map(async (subject) => {
      while (!stop.signal.aborted) await subject.run('x = 1');
    }),
  );
}, 60_000);
afterAll(async () => {
  stop.abort();
  await work;
  await laboratory.close();
});

test('an endless loop is interrupted soon after its limit, and keeps its state', async () => {
  for (let times = 0; times < TIMES; times += 1) {
    const startedAt = performance.now();
    const { outcome, state } = await victim.run('while True: pass', { timeoutMs: LIMIT_MS });
    expect(performance.now() - startedAt - LIMIT_MS).toBeLessThan(LATE_MS);
    expect({ outcome, state }).toMatchObject({ outcome: { status: 'timed-out' }, state: { status: 'preserved' } });
  }
  expect(await victim.evaluate('kept + 1')).toBe('42');
}, 60_000);

test('sessions open and close', async () => {
  for (let times = 0; times < TIMES; times += 1) {
    const startedAt = performance.now();
    await using subject = await laboratory.open();
    expect(await subject.evaluate('1 + 1')).toBe('2');
    expect(performance.now() - startedAt).toBeLessThan(LATE_MS);
  }
}, 60_000);

test('memory is limited', async () => {
  await using subject = await laboratory.open({ memoryMb: 64 });
  const { outcome } = await subject.run(
    'import mmap\nheld = [mmap.mmap(-1, 1 << 20) for _ in range(400)]\nfor one in held: one[:] = b"x" * (1 << 20)\nimport time; time.sleep(30)',
  );
  expect(outcome.status).toBe('out-of-memory');
}, 60_000);
