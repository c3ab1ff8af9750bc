/** Memory of an idle session: its worker, its twins and its pid 1, with the kernel's fair share of what is shared. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCIENCE, expect, openHost, resultOf, type Bench } from '../bench.ts';
import { mean } from '../measure.ts';
import type { Ipykernel } from '../peers/ipykernel.ts';
import { latestZygote, memoryOf, sessionProcesses, type Memory } from '../processes.ts';
import { showMb, showRatios, type Row } from '../report.ts';
import type { Host } from '../../src/host/host.ts';
import type { Session } from '../../src/host/session.ts';

/** Enough to share the zygote's pages as in use, and few enough to be quick. */
const SESSIONS = 20;
const WORKING = 4;
const SETTLE_MS = 500;
const THINK_MS = 40;
const BIRTH_MB = 12;
const WORK_MB = 30;
const ANALYSIS = path.join(import.meta.dirname, '../programs/analysis.py');

/** Memory of a new session, and after so many runs of pandas work. */
export type Weights = ReadonlyMap<number, Memory>;

/** Weighed while no zygote has the same libraries mapped: a kernel pays for them alone. */
export async function weighIpykernel(ipykernel: Ipykernel, isQuick: boolean): Promise<Weights> {
  const cells = await readCells();
  const { pid } = await ipykernel.startKernel(SCIENCE);
  const weights = new Map([[0, memoryOf([pid])]]);
  for (let done = 0; done < lastStage(isQuick); done += 1) {
    await ipykernel.run(cells[done % cells.length] ?? '');
    if (isStage(done + 1)) weights.set(done + 1, memoryOf([pid]));
  }
  return weights;
}

export async function measureMemory({ isQuick, ipykernelProblem }: Bench, peer: Weights | undefined): Promise<Row[]> {
  await using host = await openHost({ poolSize: 0 });
  const zygote = latestZygote();
  const working = await openSessions(host, WORKING);
  const enclosures = new Set(sessionProcesses(zygote).keys());
  await openSessions(host, SESSIONS - WORKING);
  await sleep(SETTLE_MS);
  const weigh = (): Memory =>
    weighAll([...sessionProcesses(zygote)].flatMap(([key, pids]) => (enclosures.has(key) ? [pids] : [])));
  const toRow = (done: number): Row => describe(done, weigh(), peer?.get(done), ipykernelProblem);
  const rows = [toRow(0)];
  const cells = await readCells();
  for (let done = 0; done < lastStage(isQuick); done += 1) {
    await Promise.all(
      working.map(async (session) => resultOf(await session.runCode(cells[done % cells.length] ?? ''))),
    );
    await sleep(THINK_MS);
    if (!isStage(done + 1)) continue;
    await sleep(SETTLE_MS);
    rows.push(toRow(done + 1));
  }
  return rows;
}

async function openSessions(host: Host, count: number): Promise<Session[]> {
  const sessions: Session[] = [];
  while (sessions.length < count) sessions.push(await host.createSession());
  return sessions;
}

/** What one session weighs, of several that did the same. */
function weighAll(sessions: readonly (readonly number[])[]): Memory {
  expect(sessions.length, WORKING, 'sessions that are weighed');
  const weights = sessions.map((pids) => memoryOf(pids));
  return {
    pssBytes: mean(weights.map(({ pssBytes }) => pssBytes)),
    privateBytes: mean(weights.map(({ privateBytes }) => privateBytes)),
  };
}

function describe(done: number, ours: Memory, peer: Memory | undefined, problem: string | undefined): Row {
  const limitMb = done === 0 ? BIRTH_MB : done === 10 ? WORK_MB : undefined;
  const stage = done === 0 ? 'new' : `after ${done} ${done === 1 ? 'run' : 'runs'} of pandas work`;
  return {
    what: `memory per idle session (PSS, worker + twins + pid 1), ${SESSIONS} live, ${stage}`,
    ours: `${showMb(ours.pssBytes)} (${showMb(ours.privateBytes)} private)`,
    ipykernel: peer ? showMb(peer.pssBytes) : problem,
    ratio: showRatios(ours.pssBytes, { ipykernel: peer?.pssBytes }),
    ...(limitMb !== undefined && { hold: `≤ ${limitMb} MB`, held: ours.pssBytes <= limitMb * 2 ** 20 }),
    data: { cells: done, ours, ipykernel: peer },
  };
}

async function readCells(): Promise<string[]> {
  const text = await readFile(ANALYSIS, 'utf8');
  return text.split(/^# %%.*\n/m).filter((cell) => cell !== '');
}

function isStage(done: number): boolean {
  return done === 1 || done === 10 || done === 50;
}

function lastStage(isQuick: boolean): number {
  return isQuick ? 10 : 50;
}
