/** The programs of `examples/seeds`, run as a user runs them: as processes in a directory of their own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

const SEEDS = path.resolve(import.meta.dirname, '../../../examples/seeds');

export interface SeedRun {
  readonly stdout: string;
  readonly stderr: string;
  /** Null if the process was ended by a signal. */
  readonly exitCode: number | null;
}

export function seedProgram(name: string): string {
  return path.join(SEEDS, `${name}.ts`);
}

/** An empty directory for a program to run in. */
export function seedDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'seed-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs one to its end: nothing in it closes anything, and its process must end by itself. */
export async function runSeed(name: string, environment: NodeJS.ProcessEnv): Promise<SeedRun> {
  const child = spawn(process.execPath, [seedProgram(name)], {
    cwd: seedDirectory(),
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, exitCode: child.exitCode };
}
