/** Attempts without walls: a plain Python process in a throw-away directory, as this user. */
import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { programOf, type Attempt } from './attempts.ts';
import { broken, contained, escaped, wordOf, type Finding } from './verdict.ts';
import { countMarked, findMarked, type World } from './world.ts';

const PATIENCE_MS = 20_000;

export interface PlainOptions {
  readonly python: string;
  readonly directory: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly outputBytes: number;
}

/** Tries an attempt without walls. What it leaves behind is taken away. */
export async function tryPlain(attempt: Attempt, world: World, options: PlainOptions): Promise<Finding> {
  const directory = path.join(options.directory, 'plain');
  await mkdir(directory, { recursive: true });
  const host = await world.describe({ ...options.facts, workspaceInside: directory });
  const file = path.join(options.directory, 'attempt.py');
  await writeFile(file, programOf(attempt, host));
  const { output, problems } = await run(
    options.python,
    file,
    directory,
    attempt.judge === 'leftover' ? 500 : PATIENCE_MS,
  );
  try {
    return await judge(attempt, { world, host, output, problems, outputBytes: options.outputBytes });
  } finally {
    for (const pid of findMarked(host.mark)) process.kill(pid, 'SIGKILL');
    await rm(directory, { recursive: true, force: true });
  }
}

interface Evidence {
  readonly world: World;
  readonly host: { readonly mark: string; readonly freePort: number };
  readonly output: string;
  readonly problems: string;
  readonly outputBytes: number;
}

async function judge(attempt: Attempt, { world, host, output, problems, outputBytes }: Evidence): Promise<Finding> {
  switch (attempt.judge) {
    case 'canary':
      return (await world.isIntact()) ? contained() : escaped('planted files were changed');
    case 'listener':
      return (await world.canConnect(host.freePort)) ? escaped('the host could connect') : contained();
    case 'signalled':
      return (await world.wasSignalled()) ? escaped('another process was signalled') : contained();
    case 'close':
    case 'leftover':
      return (await countMarked(host.mark, (count) => count > 0)) > 0 ? escaped('a process is left') : contained();
    case 'output':
      return output.length > 2 * outputBytes ? escaped(`${output.length} bytes were kept`) : contained();
    case 'word':
    case 'fresh':
    case 'removed':
    case 'randomness':
    case 'survival':
    case 'unprotected':
    case 'prototype':
    case 'memory':
    case 'crash':
    case 'told':
    case 'stall':
    case 'nested':
    case 'mounted':
    case 'link':
      return wordOf(output) ?? broken(`no verdict: ${problems.slice(-500)}`);
  }
}

async function run(
  python: string,
  file: string,
  cwd: string,
  timeoutMs: number,
): Promise<{ output: string; problems: string }> {
  const child = spawn(python, ['-I', '-B', file], {
    cwd,
    env: process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const collected = { output: '', problems: '' };
  child.stdout.on('data', (chunk) => (collected.output += String(chunk)));
  child.stderr.on('data', (chunk) => (collected.problems += String(chunk)));
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  return collected;
}
