/** What the machine itself says, without an engine: the kernel's walls, the disk, the limits of this process. */
import { readFile, statfs } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, scrubEnvironment } from '../../environment/command.ts';

/** Lies beside `src` as well as beside `dist`: the same depth from both. */
const PYTHON_SIDE = fileURLToPath(new URL('../../python/', import.meta.url));
const ASK =
  'import json, sys; sys.path.insert(0, sys.argv[1]); from confine.probe import probe; print(json.dumps(probe()))';
const TIMEOUT_MS = 20_000;

export interface ProbeAnswer {
  readonly ok: boolean;
  /** What was found, or what is in the way and what to do about it. */
  readonly detail: string;
}

/** Tries each wall in a throw-away process; empty when this Python cannot do that. */
export async function probeWalls(
  python: string,
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<Readonly<Record<string, ProbeAnswer>>> {
  const command = [python, '-I', '-B', '-c', ASK, PYTHON_SIDE];
  const { succeeded, output } = await run(command, { env: scrubEnvironment(env), signal, timeoutMs: TIMEOUT_MS });
  const answers: unknown = succeeded ? JSON.parse(output) : {};
  const entries: [string, unknown][] = Object.entries(answers ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, ProbeAnswer] => isAnswer(entry[1])));
}

function isAnswer(value: unknown): value is ProbeAnswer {
  return typeof value === 'object' && value !== null && 'ok' in value && 'detail' in value;
}

/** Bytes that may still be written where the directory is, or will be. */
export async function freeBytes(directory: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    const parent = path.dirname(directory);
    return parent === directory ? undefined : freeBytes(parent);
  }
}

/** How many files this process may have open. */
export async function openFilesLimit(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => ''); // only Linux has it
  const found = /^Max open files\s+(?<soft>\d+|unlimited)/m.exec(limits)?.groups?.['soft'];
  return found === undefined ? undefined : found === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found);
}
