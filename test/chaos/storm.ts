/** Callers under faults, for a given time; then what the host leaves behind. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHost } from '../../src/host/local/local-host.ts';
import type { Host } from '../../src/host/host.ts';
import { Chance } from '../e2e/engine/chance.ts';
import { openFiles } from '../e2e/engine/processes.ts';
import { MachineFaults } from './faults/machine.ts';
import { ProcessFaults, type Target } from './faults/processes.ts';
import type { ProcessSlots } from './faults/process-slots.ts';
import { Weather } from './faults/weather.ts';
import { findLeftovers } from './leftovers.ts';
import { Life } from './life.ts';
import { answered, Hang, type Report } from './report.ts';

export type MachineMode = 'yes' | 'no' | 'only';

export interface StormOptions {
  readonly seed: number;
  /** Ends the storm. */
  readonly over: AbortSignal;
  readonly sessions: number;
  /** The average time between two faults. */
  readonly faultMs: number;
  /** Whether the machine fails, besides processes or instead of them. */
  readonly machine: MachineMode;
  readonly pauseMs: number;
  readonly python: string;
  /** An empty directory for everything that the storm writes. */
  readonly directory: string;
  readonly hasOwnDisk: boolean;
  /** What this process may run out of; null if it cannot be made to. */
  readonly slots: ProcessSlots | null;
  readonly report: Report;
  readonly onProgress: (weather: Weather) => void;
}

const CLOSE_MS = 30_000;
const PROGRESS_MS = 10_000;
/** Some time passes without faults, so that there are sessions that nothing was done to. */
const STORM_MS = 8000;
const CALM_MS = 4000;
/** One in this many faults is one of the machine: they last longer, and concern everybody. */
const MACHINE_ODDS = 25;
/** Longer than the event loop may stand still: nothing in the host waits for anything but the processor. */
const LONGEST_LAG_MS = 3000;
const LAG_EVERY_MS = 50;

export async function storm(options: StormOptions): Promise<Weather> {
  const { report, directory } = options;
  const dataDir = path.join(directory, 'data');
  const weather = new Weather();
  await warmUp(options, dataDir);
  const descriptors = new Set(openFiles());
  const faults = new ProcessFaults(new Chance(options.seed), weather);
  const host = await openHost(options, dataDir);
  try {
    await live(host, { ...options, weather, faults, dataDir });
  } finally {
    await answered('close the host', CLOSE_MS, () => host.close()).catch((error: unknown) =>
      report.find(error instanceof Hang ? 'hang' : 'lie', `closing the host: ${String(error)}`),
    );
  }
  for (const what of await findLeftovers({ descriptors, dataDir, seen: faults.seen })) report.find('leftover', what);
  return weather;
}

/** So that Node has opened what it opens once. */
async function warmUp(options: StormOptions, dataDir: string): Promise<void> {
  await using host = await openHost(options, dataDir);
  await host.runOnce('print(1)');
}

function openHost({ python }: StormOptions, dataDir: string): Promise<Host> {
  return createHost({ dataDir, python, preload: ['numpy', 'pandas'], poolSize: 1 });
}

interface Scene extends StormOptions {
  readonly weather: Weather;
  readonly faults: ProcessFaults;
  readonly dataDir: string;
}

async function live(host: Host, scene: Scene): Promise<void> {
  const { seed, report, weather, directory, pauseMs, over, onProgress } = scene;
  const shared = path.join(directory, 'shared');
  mkdirSync(shared, { recursive: true });
  writeFileSync(path.join(shared, 'file'), 'shared');
  const lives = Array.from({ length: scene.sessions }, (_, index) => {
    return new Life({ host, report, weather, seed, index, shared, pauseMs });
  });
  const progress = setInterval(() => onProgress(weather), PROGRESS_MS);
  const lag = watchLag(report);
  try {
    await Promise.all([...lives.map((life) => life.live(over)), afflict(scene, lives)]);
  } finally {
    clearInterval(progress);
    clearInterval(lag);
  }
}

async function afflict(scene: Scene, lives: readonly Life[]): Promise<void> {
  const { weather, faults, dataDir, python, hasOwnDisk, slots, faultMs, over } = scene;
  const chance = new Chance(scene.seed ^ 0x5bd1e995);
  const machine = new MachineFaults({ chance, weather, dataDir, python, hasOwnDisk, slots });
  const machineOdds = { no: 0, yes: 1 / MACHINE_ODDS, only: 1 }[scene.machine];
  for (let calmAtMs = performance.now() + STORM_MS; !over.aborted;) {
    await pause(chance.below(2 * faultMs), over);
    if (over.aborted) break;
    if (chance.below(1) < machineOdds) {
      await faults.settle(); // nothing can be found out about processes without descriptors
      await machine.strike();
    } else faults.strike(targetsOf(lives));
    weather.forgetBefore(Math.min(...lives.map(({ subject }) => subject?.openedAtMs ?? performance.now())));
    if (performance.now() < calmAtMs) continue;
    await faults.settle();
    await pause(CALM_MS, over);
    calmAtMs = performance.now() + STORM_MS;
  }
  await faults.settle();
}

/** Shorter if the storm is over before. */
async function pause(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over }).catch(() => undefined); // aborted
}

function targetsOf(lives: readonly Life[]): Target[] {
  return lives.flatMap(({ subject }) =>
    subject ? [{ id: subject.session.id, workspace: subject.session.files.location }] : [],
  );
}

function watchLag(report: Report): NodeJS.Timeout {
  let dueAtMs = performance.now() + LAG_EVERY_MS;
  return setInterval(() => {
    const lagMs = performance.now() - dueAtMs;
    dueAtMs = performance.now() + LAG_EVERY_MS;
    if (lagMs > LONGEST_LAG_MS) report.find('hang', `the event loop stood still for ${Math.round(lagMs)} ms`);
  }, LAG_EVERY_MS);
}
