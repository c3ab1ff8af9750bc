/** Runs a program in a process of its own, and finds out how it ended and what it left. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, globSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { dataPathsIn } from '../../../src/environment/environment.ts';
import { descendants, isRunning, type Process } from '../engine/processes.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const LOOK_MS = 20;
/** The kernel takes a moment to remove the last process and its control group. */
const SETTLING_MS = 3000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From when the program printed `end` until its process had ended. */
  readonly lingeredMs: number;
  /** Processes, directories and control groups that are still there. */
  readonly leftovers: readonly string[];
  /** Where the program ran, with `data` for the data directory. */
  readonly directory: string;
}

/** The program may import `vivarium`, `vivarium/tools` and so on. Its last line prints `end`. */
export async function runProgram(
  code: string,
  { env = {}, prepare }: { env?: Readonly<Record<string, string>>; prepare?: (directory: string) => void } = {},
): Promise<Ended> {
  const directory = await makeDirectory();
  prepare?.(directory);
  const child = spawn(process.execPath, ['--input-type=module', '-e', withPaths(code)], {
    cwd: path.join(directory, 'work'),
    env: { ...process.env, VIVARIUM_HOME: path.join(directory, 'data'), TMPDIR: path.join(directory, 'tmp'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(() => performance.now());
  let endedAt = 0;
  child.stdout.on('data', (chunk) => {
    if (/^end$/m.test(String(chunk))) endedAt = performance.now();
  });
  const seen = new Map<string, Process>();
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  while (child.exitCode === null && child.signalCode === null) {
    for (const one of descendants(child.pid)) seen.set(`${one.pid} ${one.startedAt}`, one);
    await sleep(LOOK_MS);
  }
  const lingeredMs = (await ended) - endedAt;
  const [stdout, stderr] = await output;
  const leftovers = await findLeftovers(directory, child.pid ?? 0, [...seen.values()]);
  return { code: child.exitCode, stdout, stderr, lingeredMs, leftovers, directory };
}

/** A data directory that knows the Python environment, a directory for temporary files, and one to work in. */
async function makeDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(path.join(tmpdir(), 'viv-exit-')));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const name of ['data', 'tmp', 'work']) mkdirSync(path.join(directory, name));
  const { record } = dataPathsIn(defaultDataDir(process.env));
  if (existsSync(record)) copyFileSync(record, dataPathsIn(path.join(directory, 'data')).record);
  return directory;
}

function withPaths(code: string): string {
  return code.replaceAll(/'vivarium(?:\/(\w+))?'/g, (_, part = 'index') => `'${ROOT}/src/${part}.ts'`);
}

async function findLeftovers(directory: string, pid: number, seen: readonly Process[]): Promise<string[]> {
  const look = (): string[] => [
    ...seen.filter(isRunning).map((one) => `process ${one.pid} (${one.name})`),
    ...globSync(`/sys/fs/cgroup/**/vivarium-${pid}-*`),
    ...list(path.join(directory, 'data', 'sessions')),
    ...list(path.join(directory, 'tmp')),
  ];
  const deadline = performance.now() + SETTLING_MS;
  while (look().length > 0 && performance.now() < deadline) await sleep(LOOK_MS);
  return look();
}

function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
