/** Memory of an idle session: its worker, its twins and its pid 1, with the kernel's fair share of what is shared. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCIENCE, expect, openInterpreter, resultOf, type Bench } from '../bench.ts';
import { mean } from '../measure.ts';
import type { Ipykernel } from '../peers/ipykernel.ts';
import { memoryOf, sessionProcesses, zygotes, type Memory } from '../processes.ts';
import { showMb, showRatios, type Row } from '../report.ts';
import type { Session } from '../../src/session/session.ts';

/** Enough to share the zygote's pages as in use, and few enough to be quick. */
const SESSIONS = 20;
const WORKING = 4;
const SETTLE_MS = 500;
const THINK_MS = 40;
const BIRTH_MB = 12;
const WORK_MB = 30;
const ANALYSIS = path.join(import.meta.dirname, '../programs/analysis.py');

/** Memory at birth, and after so many cells of work. */
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

export async function measureMemory(bench: Bench, peer: Weights | undefined): Promise<Row[]> {
  const known = zygotes();
  await using interpreter = await openInterpreter({ poolSize: 0 });
  const zygote = zygotes().find((pid) => !known.includes(pid)) ?? 0;
  const working: Session[] = [];
  for (let index = 0; index < SESSIONS; index += 1) {
    if (index === SESSIONS - WORKING) await sleep(SETTLE_MS);
    const session = await interpreter.createSession();
    if (index < WORKING) working.push(session);
  }
  await sleep(SETTLE_MS);
  const enclosures = sessionProcesses(zygote);
  expect(enclosures.length, SESSIONS, 'sessions with processes');
  const rows = [row(0, weigh(enclosures), peer?.get(0))];
  const cells = await readCells();
  const busy = await findBusy(zygote, working);
  for (let done = 0; done < lastStage(bench.isQuick); done += 1) {
    await Promise.all(working.map(async (session) => resultOf(await session.runCode(cells[done % cells.length] ?? ''))));
    await sleep(THINK_MS);
    if (!isStage(done + 1)) continue;
    await sleep(SETTLE_MS);
    const now = sessionProcesses(zygote).filter((pids) => pids.some((pid) => busy.has(pid)));
    rows.push(row(done + 1, weigh(now), peer?.get(done + 1)));
  }
  return rows;
}
