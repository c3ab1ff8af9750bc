/** What a closed host must not leave behind. */
import { existsSync, globSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { descendants, isRunning, openFiles, type Process } from '../e2e/engine/processes.ts';

const SETTLING_MS = 10_000;

export interface Before {
  /** What was open; see `openFiles`. */
  readonly descriptors: ReadonlySet<string>;
  readonly dataDir: string;
  /** Every process that was seen while the host was open. */
  readonly seen: ReadonlyMap<string, Process>;
}

/** Everything that is still there after a while, in words. */
export async function findLeftovers(before: Before): Promise<string[]> {
  for (const deadline = performance.now() + SETTLING_MS; performance.now() < deadline; await sleep(100)) {
    if (look(before).length === 0) return [];
  }
  return look(before);
}

function look({ descriptors, dataDir, seen }: Before): string[] {
  const running = new Set([...descendants(), ...[...seen.values()].filter(isRunning)].map(({ pid }) => pid));
  const groups = globSync(`/sys/fs/cgroup/**/vivarium-${process.pid}-*`);
  const sessions = list(path.join(dataDir, 'sessions'));
  const files = openFiles();
  const more = files.length > descriptors.size ? files.filter((file) => !descriptors.has(file)) : [];
  return [
    ...[...running].map((pid) => `process ${pid}`),
    ...groups.map((group) => `control group ${group}`),
    ...sessions.map((name) => `directory ${name} of a session`),
    ...list(tmpdir()).map((name) => `${name} in the directory for temporary files`),
    ...more.map((file) => `descriptor ${file}`),
  ];
}

function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
