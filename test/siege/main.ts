/** `npm run siege`: ten minutes of a hostile session beside an honest one. See CONTRIBUTING.md. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseConfig } from '../../src/config.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { Arena } from '../confinement/arena.ts';
import { World } from '../confinement/world.ts';
import { besiege, measurePeace, percentile, type SiegeResult } from './siege.ts';

const MINUTE_MS = 60_000;
const PEACE_MS = 4000;
const CORES = 2;
const MOST_MS = 100;
const LEAST_MEMORY = 0.9;
/** On a machine that others use as well, an honest session is as slow as they make it, and some of that comes in bursts. */
const SHARED_FACTOR = 5;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    cgroups: { type: 'string', default: 'yes' },
    python: { type: 'string' },
    /** Whether other programs use the machine meanwhile: then answers are compared with those in peace. */
    shared: { type: 'string', default: 'no' },
  },
});

process.exitCode = availableParallelism() > CORES ? startOnTwoCores() : await main();

function startOnTwoCores(): number {
  const command = [process.execPath, ...process.execArgv, import.meta.filename, ...process.argv.slice(2)];
  const { status, error } = spawnSync('taskset', ['--cpu-list', `0-${CORES - 1}`, ...command], { stdio: 'inherit' });
  if (error !== undefined) throw error;
  return status ?? 1;
}

async function main(): Promise<number> {
  const { python } = await choosePython(parseConfig(values.python === undefined ? {} : { python: values.python }));
  // Not below /tmp, which every session has one of.
  const directory = mkdtempSync(path.join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'siege-'));
  try {
    return await run(python, directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function run(python: string, directory: string): Promise<number> {
  const dataDir = path.join(directory, 'data');
  mkdirSync(dataDir);
  await using world = await World.build({ python, directory: path.join(directory, 'world'), dataDir });
  const options = { python, dataDir, cacheDir: path.join(dataDir, 'cache'), cgroups: values.cgroups === 'yes' };
  await using arena = await Arena.open(options, world);
  const peaceMs = percentile(await measurePeace(arena, PEACE_MS), 99);
  const mostMs = values.shared === 'yes' ? Math.max(MOST_MS, SHARED_FACTOR * peaceMs) : MOST_MS;
  say(`memory is held by ${arena.isolation.memory.join(', ')}; in peace p99 is ${peaceMs.toFixed(0)} ms`);
  const result = await besiege(arena, world, Number(values.minutes) * MINUTE_MS);
  const problems = judge(result, mostMs);
  for (const problem of problems) say(problem);
  say(`${problems.length === 0 ? 'PASS' : 'FAIL'}: ${describe(result)}`);
  return problems.length === 0 ? 0 : 1;
}

function judge({ answersMs, wrong, escaped, keptMemory }: SiegeResult, mostMs: number): string[] {
  return [
    ...wrong.map((what) => `the honest session was hurt: ${what}`),
    ...[...new Set(escaped)].map((id) => `got through: ${id}`),
    ...(percentile(answersMs, 99) > mostMs ? [`p99 is above ${mostMs.toFixed(0)} ms`] : []),
    ...(keptMemory < LEAST_MEMORY ? ['the machine lost more than a tenth of its memory'] : []),
  ];
}

function describe({ answersMs, attempts, keptMemory }: SiegeResult): string {
  const [p50, p99, most] = [50, 99, 100].map((of) => percentile(answersMs, of).toFixed(0));
  const kept = (100 * keptMemory).toFixed(1);
  return `${attempts} attempts; ${answersMs.length} answers, p50 ${p50} ms, p99 ${p99} ms, most ${most} ms; ${kept} % of memory kept`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
