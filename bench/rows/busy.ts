/** Many sessions at work: whether the limits of one still hold on time, and how long opening another one takes. */
import { openHost, resultOf, type Bench } from '../bench.ts';
import { time } from '../measure.ts';
import { showMs, type Row } from '../report.ts';
import type { Host } from '../../src/host/host.ts';
import type { Session } from '../../src/host/session.ts';

const SESSIONS = { quick: 20, full: 80 };
const SECONDS = { quick: 5, full: 30 };
const LIMIT_MS = 200;
const LATE_MS = 250;
const OPEN_MS = 2000;
/** Of a session, and not that of the pool, so that none of it fits. */
const COLD_MEMORY_MB = 1000;

export async function measureBusy(bench: Bench): Promise<Row[]> {
  const size = bench.isQuick ? 'quick' : 'full';
  await using host = await openHost({ maxSessions: SESSIONS[size] + 10 });
  const sessions: Session[] = [];
  for (let count = 0; count < SESSIONS[size]; count += 1) sessions.push(await host.createSession());
  const stop = new AbortController();
  let runs = 0;
  const work = sessions.map(async (session) => {
    for (; !stop.signal.aborted; runs += 1) resultOf(await session.runCode('x = 1'));
  });
  const until = performance.now() + 1000 * SECONDS[size];
  const [{ late, waited }, opened] = await Promise.all([measureInterrupts(host, until), measureOpenings(host, until)]);
  stop.abort();
  await Promise.all(work);
  const perSecond = Math.round(runs / SECONDS[size]);
  const among = `${SESSIONS[size]} sessions that run \`x = 1\` again and again`;
  return [
    row(`${among}: an endless loop is interrupted this long after its limit`, late, LATE_MS, perSecond),
    row(`${among}: that loop had waited this long for its turn to begin`, waited, undefined, perSecond),
    row(`${among}: another session opens and answers`, opened, OPEN_MS, perSecond),
  ];
}

/** The time limit of a run begins when its code is sent, which may be after others have made their twins. */
async function measureInterrupts(host: Host, until: number): Promise<{ late: number[]; waited: number[] }> {
  await using session = await host.createSession();
  const late: number[] = [];
  const waited: number[] = [];
  while (performance.now() < until) {
    const startedAt = performance.now();
    const { durationMs } = await session.runCode('while True: pass', { timeoutMs: LIMIT_MS });
    late.push(durationMs - LIMIT_MS);
    waited.push(performance.now() - startedAt - durationMs);
  }
  return { late, waited };
}

async function measureOpenings(host: Host, until: number): Promise<number[]> {
  const durations: number[] = [];
  while (performance.now() < until) {
    await using stack = new AsyncDisposableStack();
    durations.push(
      await time(async () => {
        const session = stack.use(await host.createSession({ limits: { memoryMb: COLD_MEMORY_MB } }));
        resultOf(await session.runCode('1 + 1'));
      }),
    );
  }
  return durations;
}

function row(what: string, durations: readonly number[], mostMs: number | undefined, runsPerSecond: number): Row {
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const [p50Ms, p99Ms] = [at(0.5), at(0.99)];
  return {
    what,
    ours: `${showMs(p50Ms)}, p99 ${showMs(p99Ms)}, with ${runsPerSecond} runs a second`,
    ...(mostMs !== undefined && { hold: `p99 ≤ ${mostMs} ms`, held: p99Ms <= mostMs }),
    data: { p50Ms, p99Ms, count: sorted.length, runsPerSecond },
  };
}
