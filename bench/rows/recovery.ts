/** How long a session is away when its process was lost: from the last sign of life to the next result with its state. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, resultOf, type Bench } from '../bench.ts';
import { series, summariseAll } from '../measure.ts';
import { showTiming, type Row } from '../report.ts';
import type { Session } from '../../src/host/session.ts';

const HOLD_MS = 25;
const SETTLE_MS = 150;
const TIMEOUT_MS = 100;
const GRACE_MS = 50;

// A session reads the same monotonic clock as the host, which is how both ends of the wait can be told.
const CRASH = `
import os, time
print(time.monotonic_ns(), flush=True)
os.kill(os.getpid(), 9)
`;

/** Says when it lived last, in a file of the workspace. */
const STUBBORN = `
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
file = os.open("alive", os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(file, b"%020d" % time.monotonic_ns(), 0)
`;

export async function measureRecovery({ host, isQuick }: Bench): Promise<Row[]> {
  await using session = await host.createSession({ limits: { graceMs: GRACE_MS } });
  resultOf(await session.runCode('x = 41'));
  const count = isQuick ? 5 : 20;
  return [
    await measureLoss('crash → next result with state', count, () => crash(session)),
    await measureLoss('uninterruptible timeout → next result with state', count, () => overrun(session)),
  ];
}

async function measureLoss(what: string, count: number, lose: () => Promise<number>): Promise<Row> {
  const lost = async (): Promise<number> => {
    await sleep(SETTLE_MS); // a twin is made when a session is left alone for a moment
    return await lose();
  };
  await lost();
  const ours = summariseAll(await series(count, lost));
  return {
    what: `${what}, after the kill`,
    ours: showTiming(ours) ?? '',
    ipykernel: 'state lost',
    python: 'state lost',
    hold: `≤ ${HOLD_MS} ms`,
    held: ours.p50Ms <= HOLD_MS,
    data: { ours },
  };
}

async function crash(session: Session): Promise<number> {
  const { outcome, state, logs } = await session.runCode(CRASH);
  expect(outcome.status, 'crashed', 'a crash');
  expect(state.status, 'restored', 'the state after a crash');
  const backAt = await nextResult(session);
  return msBetween(logs.stdout, backAt);
}

async function overrun(session: Session): Promise<number> {
  const { outcome, state } = await session.runCode(STUBBORN, { timeoutMs: TIMEOUT_MS });
  expect(outcome.status, 'timed-out', 'a loop that ignores its interrupt');
  expect(state.status, 'restored', 'the state after a timeout');
  const backAt = await nextResult(session);
  return msBetween(await readFile(path.join((await session.info()).workspace, 'alive'), 'utf8'), backAt);
}

async function nextResult(session: Session): Promise<bigint> {
  expect(resultOf(await session.runCode('x + 1')), '42', 'the state');
  return process.hrtime.bigint();
}

function msBetween(aliveAtNs: string, backAtNs: bigint): number {
  return Number(backAtNs - BigInt(aliveAtNs.trim())) / 1e6;
}
