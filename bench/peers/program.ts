/** A program that is started again for each run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Program {
  readonly command: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

export interface ProgramRun {
  readonly ms: number;
  readonly outputBytes: number;
}

/** From before it is spawned until it has ended and all its output was read; what fails is an error. */
export async function runProgram({ command, env = plainEnvironment(), cwd = '/' }: Program): Promise<ProgramRun> {
  const [file = '', ...args] = command;
  const startedAt = performance.now();
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let outputBytes = 0;
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (outputBytes += chunk.length));
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString('utf8')).slice(-1000)));
  await once(child, 'close');
  const ms = performance.now() - startedAt;
  if (child.exitCode !== 0)
    throw new Error(`${command.join(' ')} ended with ${child.exitCode ?? child.signalCode}: ${errors.trim()}`);
  return { ms, outputBytes };
}

function plainEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: process.env['HOME'], LANG: 'C.UTF-8' };
}
