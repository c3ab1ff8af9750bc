/** The command line as a shell runs it. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';

export const ROOT = path.resolve(import.meta.dirname, '../..');
export const MAIN = path.join(ROOT, 'src/cli/main.ts');
export const ENV = { ...process.env, NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/node') };

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [MAIN, ...args], { env: { ...ENV, ...env } });
}

export async function finish(child: ChildProcessWithoutNullStreams, input = ''): Promise<Finished> {
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

export function vivarium(args: readonly string[], { input = '', env = {} } = {}): Promise<Finished> {
  return finish(start(args, env), input);
}

export async function scratch(): Promise<AsyncDisposable & { path: string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-cli-'));
  return { path: directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}
