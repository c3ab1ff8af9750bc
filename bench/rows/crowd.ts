/** How cost grows with the number of live sessions: a cold fork behind them, their memory, and whether all answer. */
import { expect, openHost, resultOf, type Bench } from '../bench.ts';
import { forEachOf, mean, series, summariseAll, time, type Timing } from '../measure.ts';
import { availableBytes, latestZygote, memoryOf, sessionProcesses } from '../processes.ts';
import { showMb, showMs, showTiming, type Row } from '../report.ts';
import type { Host } from '../../src/host/host.ts';
import type { Session } from '../../src/host/session.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const COLD_MS = 15;
const FLAT_RATIO = 1.5;
const WANTED_SESSIONS = 1000;
const CONCURRENCY = 8;
const PAUSE_MS = 100;
const SETTLE_MS = 1000;
const WEIGHED_SESSIONS = 30;
/** Of a session, and not that of the pool, so that none of it fits. */
const COLD_MEMORY_MB = 1000;

export async function measureCrowd(bench: Bench): Promise<Row[]> {
  await using host = await openHost({ maxSessions: bench.sessions + 10 });
  const zygote = latestZygote();
  const sessions: Session[] = [];
  const availableBefore = availableBytes();
  const cold = new Map<number, Timing>();
  let openMs = 0;
  for (const level of levels(bench.sessions)) {
    openMs += await time(() => openUpTo(host, sessions, level));
    await sleep(SETTLE_MS);
    cold.set(level, await measureCold(host, bench.isQuick ? 5 : 20));
  }
  const answerMs = await time(() => forEachOf(sessions, CONCURRENCY, answer));
  await sleep(SETTLE_MS);
  const totalBytes = availableBefore - availableBytes();
  const pssBytes = mean(weigh(zygote));
  return [...cold.entries().map(([level, timing]) => coldRow(level, timing, cold.get(1))), crowdRow()];

  function crowdRow(): Row {
    return {
      what: `${sessions.length} idle sessions live, and each answers`,
      ours: `opened in ${showMs(openMs)}, all answered in ${showMs(answerMs)}; ${showMb(totalBytes)} of the machine, ${showMb(pssBytes)} PSS each`,
      hold: `≥ ${WANTED_SESSIONS} on 24 GB`,
      ...(sessions.length >= WANTED_SESSIONS && { held: true }),
      data: { sessions: sessions.length, openMs, answerMs, totalBytes, pssBytes },
    };
  }
}

function levels(top: number): number[] {
  return [...new Set([1, 10, 100, top].filter((level) => level <= top))];
}

async function openUpTo(host: Host, sessions: Session[], level: number): Promise<void> {
  const missing = Array.from({ length: level - sessions.length });
  await forEachOf(missing, CONCURRENCY, async () => void sessions.push(await host.createSession()));
}

async function measureCold(host: Host, count: number): Promise<Timing> {
  const fork = async (): Promise<number> => {
    await using stack = new AsyncDisposableStack();
    return await time(async () => {
      const session = stack.use(await host.createSession({ limits: { memoryMb: COLD_MEMORY_MB } }));
      expect(resultOf(await session.runCode('1 + 1')), '2', 'the first result of a cold fork');
    });
  };
  await series(2, fork, PAUSE_MS);
  return summariseAll(await series(count, fork, PAUSE_MS));
}

async function answer(session: Session): Promise<void> {
  expect(resultOf(await session.runCode('6 * 7')), '42', `session ${session.id}`);
}

/** Some of the sessions stand for all: to weigh a process, the kernel walks all its pages. */
function weigh(zygote: number): number[] {
  const all = [...sessionProcesses(zygote).values()];
  const step = Math.max(1, Math.floor(all.length / WEIGHED_SESSIONS));
  return all.filter((_, index) => index % step === 0).map((pids) => memoryOf(pids).pssBytes);
}

function coldRow(level: number, timing: Timing, alone: Timing | undefined): Row {
  const growth = alone === undefined ? 1 : timing.p50Ms / alone.p50Ms;
  return {
    what: `new isolated session to first result, not from the pool (forked ahead, own limits), ${level} live`,
    ours: showTiming(timing) ?? '',
    ratio: level === 1 ? undefined : `${growth.toFixed(2)} of 1 live`,
    hold: level === 1 ? `p50 ≤ ${COLD_MS} ms` : `p50 ≤ ${COLD_MS} ms, flat (≤ ${FLAT_RATIO} × 1 live)`,
    held: timing.p50Ms <= COLD_MS && growth <= FLAT_RATIO,
    data: { live: level, cold: timing, growth },
  };
}
