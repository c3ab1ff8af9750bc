/** Facts about the machine that need no session: what the kernel allows, free disk space, open files. */
import { readFile, statfs } from 'node:fs/promises';
import path from 'node:path';
import { run, scrubEnvironment } from '../../environment/command.ts';

const ASK =
  'import json, sys; sys.path.insert(0, sys.argv[1]); from confine.probe import probe; print(json.dumps(probe()))';
const TIMEOUT_MS = 20_000;

export interface ProbeAnswer {
  readonly ok: boolean;
  /** What was found; if not ok, what is missing and what to do about it. */
  readonly detail: string;
}

/** Tries each wall in a process of its own. Empty if this Python cannot run the probe. */
export async function probeWalls(
  python: string,
  { pythonSide, env, signal }: { pythonSide: string; env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<Readonly<Record<string, ProbeAnswer>>> {
  const command = [python, '-I', '-B', '-c', ASK, pythonSide];
  const { succeeded, output } = await run(command, { env: scrubEnvironment(env), signal, timeoutMs: TIMEOUT_MS });
  const answers: unknown = succeeded ? JSON.parse(output) : {};
  const entries: [string, unknown][] = Object.entries(answers ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, ProbeAnswer] => isAnswer(entry[1])));
}

function isAnswer(value: unknown): value is ProbeAnswer {
  return typeof value === 'object' && value !== null && 'ok' in value && 'detail' in value;
}

/** Free bytes on the disk of a directory, which need not exist yet. */
export async function freeBytes(directory: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    const parent = path.dirname(directory);
    return parent === directory ? undefined : freeBytes(parent);
  }
}

/** How many files this process may open. Undefined where /proc does not say. */
export async function openFilesLimit(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => ''); // only Linux has it
  const found = /^Max open files\s+(?<soft>\d+|unlimited)/m.exec(limits)?.groups?.['soft'];
  return found === undefined ? undefined : found === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found);
}
