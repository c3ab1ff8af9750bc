/** Runs a program to its end and reads its output by line. On abort it ends the whole process group. */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { spawnWithRoom } from '../spawn.ts';

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2000;

export interface CommandOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  readonly cwd?: string;
  readonly onLine?: (line: string) => void;
}

export interface CommandResult {
  readonly succeeded: boolean;
  readonly output: string;
  readonly errors: string;
}

/** On abort it rejects with the signal's reason, once no process of the group holds the output any more. */
export async function run(command: readonly string[], options: CommandOptions): Promise<CommandResult> {
  options.signal?.throwIfAborted();
  const [program = '', ...args] = command;
  const child = spawnWithRoom(program, args, {
    env: options.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = collectLines(child.stdout, options.onLine);
  const errors = collectLines(child.stderr, options.onLine);
  const ended = Promise.withResolvers<boolean>();
  child.once('error', (error) => {
    errors.push(error.message);
    ended.resolve(false);
  });
  child.once('close', (exitCode) => ended.resolve(exitCode === 0));
  const release = terminateOn(stopSignal(options), child.pid);
  const succeeded = await ended.promise;
  release();
  options.signal?.throwIfAborted();
  return { succeeded, output: output.join('\n'), errors: errors.join('\n') };
}

/** The first executable file of this name on PATH. */
export async function findProgram(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const directory of pathDirectories(env)) {
    const file = path.join(directory, name);
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

export function pathDirectories(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(path.delimiter).filter((directory) => path.isAbsolute(directory));
}

export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

const KEPT_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TMPDIR|XDG_\w+|NETRC|PYENV_\w+|PIP_\w+|UV_\w+|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|(HTTPS?|ALL|NO)_PROXY)$/i;

/** These would install libraries somewhere else, or override the lock file. */
const MISLEADING_VARIABLES =
  /^(PIP_(USER|TARGET|PREFIX|ROOT|PYTHON|REQUIRE_VIRTUALENV|DRY_RUN|REQUIREMENT|CONSTRAINT|NO_BINARY|EDITABLE)|UV_(PYTHON|SYSTEM_PYTHON|BREAK_SYSTEM_PACKAGES|CONSTRAINT|OVERRIDE|NO_BINARY\w*|PROJECT\w*|WORKING_DIR\w*))$/i;

/** Keeps the variables that installers need: for programs, indexes, proxies and certificates. */
export function scrubEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => KEPT_VARIABLES.test(name) && !MISLEADING_VARIABLES.test(name));
  return Object.fromEntries(kept);
}

/** There is no stream if the program could not be started for lack of descriptors or processes. */
function collectLines(stream: NodeJS.ReadableStream | null | undefined, onLine: CommandOptions['onLine']): string[] {
  const lines: string[] = [];
  if (stream === undefined || stream === null) return lines;
  createInterface({ input: stream }).on('line', (line) => {
    lines.push(line);
    onLine?.(line);
  });
  return lines;
}

function stopSignal({ signal, timeoutMs }: CommandOptions): AbortSignal | undefined {
  if (timeoutMs === undefined) return signal;
  const deadline = AbortSignal.timeout(timeoutMs);
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}

/** Ends the group when the signal fires. Call the returned function once the process has ended. */
function terminateOn(signal: AbortSignal | undefined, pid: number | undefined): () => void {
  let killing: NodeJS.Timeout | undefined;
  const terminate = (): void => {
    killGroup(pid, 'SIGTERM');
    killing = setTimeout(() => killGroup(pid, 'SIGKILL'), GRACE_MS);
  };
  signal?.addEventListener('abort', terminate, { once: true });
  return () => {
    clearTimeout(killing);
    signal?.removeEventListener('abort', terminate);
  };
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is already gone.
  }
}
