/** Many clients at the same time: errors, how long they wait, and whether the server grows. */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import path from 'node:path';
import type { Bench } from '../bench.ts';
import { mean } from '../measure.ts';
import { residentBytes } from '../processes.ts';
import { showMb, showMs, type Row } from '../report.ts';
import type { LoadOrder, LoadReport, LoadResult } from './load-generator.ts';
import { startOwn } from './server-process.ts';

const GENERATOR = path.join(import.meta.dirname, 'load-generator.ts');
const CLIENTS = 200;
const RUNS_PER_SECOND = 500;
const SECONDS = { quick: 10, full: 60 };
/** Until code is compiled and what the server keeps for a while is there. */
const WARM_UP_SECONDS = { quick: 5, full: 40 };
const FLAT_RATIO = 1.1;
/** Of the runs per second that were wanted; the last ones end after their time. */
const PACE_RATIO = 0.98;
const SAMPLE_MS = 100;
/** What is not collected yet goes up and down; the mean of the samples of so many seconds does not. */
const AVERAGED_SECONDS = 5;

export async function measureLoad(bench: Bench): Promise<Row[]> {
  const pace = bench.isQuick ? 'quick' : 'full';
  await using server = await startOwn(bench, CLIENTS);
  const { url, keys, pid } = server;
  const order = {
    url,
    keys,
    runsPerSecond: RUNS_PER_SECOND,
    warmUpSeconds: WARM_UP_SECONDS[pace],
    seconds: SECONDS[pace],
  };
  const { result, samples } = await generate(order, pid);
  const averaged = (AVERAGED_SECONDS * 1000) / SAMPLE_MS;
  const startBytes = mean(samples.slice(0, averaged));
  const endBytes = mean(samples.slice(-averaged));
  const { errors, problem, timing, runsPerSecond } = result;
  const growth = endBytes / startBytes;
  return [
    {
      what: `${CLIENTS} clients with a session each, ${RUNS_PER_SECOND} runs of \`n + 1\` per second over HTTP for ${order.seconds} s`,
      ours:
        `${errors} errors${problem === undefined ? '' : ` (${problem})`}, p50 ${showMs(timing.p50Ms)}, p99 ${showMs(timing.p99Ms)}, ` +
        `${runsPerSecond.toFixed(0)} runs/s; server ${showMb(startBytes)} → ${showMb(endBytes)}`,
      hold: `0 errors, no run left behind; memory flat (≤ ${FLAT_RATIO} ×)`,
      held: errors === 0 && runsPerSecond >= PACE_RATIO * RUNS_PER_SECOND && growth <= FLAT_RATIO,
      data: { ...result, startBytes, endBytes, growth, order: { ...order, keys: keys.length }, samples },
    },
  ];
}

/** Has another process do it; the memory of the server meanwhile. */
async function generate(order: LoadOrder, pid: number): Promise<{ result: LoadResult; samples: number[] }> {
  const child = fork(GENERATOR, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const samples: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  try {
    child.send(order);
    for await (const [message] of on(child, 'message', { close: ['exit'] })) {
      const report = message as LoadReport;
      if (report.type === 'ended') return { result: report, samples };
      timer = setInterval(() => samples.push(residentBytes(pid).now), SAMPLE_MS);
    }
    throw new Error('the process with the clients has ended');
  } finally {
    clearInterval(timer);
    child.kill('SIGKILL');
  }
}
