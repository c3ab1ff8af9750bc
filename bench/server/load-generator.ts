/** A process with many clients. Each has a key and a session, and together they run code at a steady rate. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../src/host/session.ts';
import { connect } from '../../src/remote/connect.ts';
import { resultOf } from '../bench.ts';
import { forEachOf, summariseAll, type Timing } from '../measure.ts';

/** What its parent sends first. */
export interface LoadOrder {
  readonly url: string;
  /** One for each client. */
  readonly keys: readonly string[];
  readonly runsPerSecond: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** What it answers: first that the load has begun, then how it went. */
export type LoadReport = { readonly type: 'begun' } | ({ readonly type: 'ended' } & LoadResult);

export interface LoadResult {
  readonly runs: number;
  readonly errors: number;
  /** The first of them. */
  readonly problem: string | undefined;
  /** From when a run was due, so that a late start counts. */
  readonly timing: Timing;
  readonly runsPerSecond: number;
}

const OPENING_AT_ONCE = 4;

process.once('message', (order) => void main(order as LoadOrder));

async function main({ url, keys, runsPerSecond, warmUpSeconds, seconds }: LoadOrder): Promise<void> {
  const sessions: Session[] = [];
  await forEachOf(keys, OPENING_AT_ONCE, async (key) => {
    sessions.push(await (await connect(url, { key })).createSession());
  });
  await load(sessions, runsPerSecond, warmUpSeconds);
  report({ type: 'begun' });
  report({ type: 'ended', ...(await load(sessions, runsPerSecond, seconds)) });
  process.disconnect();
}

/** Runs are begun when they are due. A client whose last run has not ended is late with the next. */
async function load(sessions: readonly Session[], runsPerSecond: number, seconds: number): Promise<LoadResult> {
  const durations: number[] = [];
  const problems: string[] = [];
  const lastOf: Promise<void>[] = sessions.map(() => Promise.resolve());
  const startedAt = performance.now();
  const total = runsPerSecond * seconds;
  for (let number = 0; number < total; number += 1) {
    const dueAt = startedAt + (number * 1000) / runsPerSecond;
    const earlyMs = dueAt - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    const client = number % sessions.length;
    lastOf[client] = lastOf[client]?.then(() => run(number, dueAt)) ?? Promise.resolve();
  }
  await Promise.all(lastOf);
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  return {
    runs: total,
    errors: problems.length,
    problem: problems[0],
    timing: summariseAll(durations),
    runsPerSecond: total / elapsedSeconds,
  };

  async function run(number: number, dueAt: number): Promise<void> {
    try {
      const session = sessions[number % sessions.length];
      const result = session && resultOf(await session.runCode(`${number} + 1`));
      if (result !== String(number + 1)) throw new Error(`${number} + 1 is ${result}`);
      durations.push(performance.now() - dueAt);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
}

function report(message: LoadReport): void {
  process.send?.(message);
}
