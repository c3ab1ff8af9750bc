import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnWithRoom } from '../../../spawn.ts';

/** The first descriptor after those that every process has. */
const FIRST_CHANNEL = 3;
const KEPT_BYTES = 8192;
const STDERR_TIMEOUT_MS = 100;

/** A trusted Python process of ours, and the sockets that lead to it. */
export interface PythonProcess {
  readonly child: ChildProcess;
  readonly channels: readonly Socket[];
  /** Resolves to the end of its stderr when it has ended, which may be before anybody asks. */
  readonly ended: Promise<string>;
}

/** What to start, and the number of sockets to it: descriptors 3, 4 and so on. */
export interface PythonStart {
  readonly python: string;
  readonly cacheDir: string;
  readonly file: string;
  readonly channels: number;
}

/** Starts one of our Python processes. Its environment holds only what Python needs; all else comes over its channels. */
export function spawnPython({ python, cacheDir, file, channels: count }: PythonStart): PythonProcess {
  const pipes = Array.from({ length: count }, () => 'pipe' as const);
  const child = spawnWithRoom(python, ['-I', '-X', `pycache_prefix=${cacheDir}/pycache`, file], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', ...pipes],
    detached: true, // Ctrl-C at the terminal is for this process to handle
  });
  const ended = collectStderr(child);
  const channels = pipes.map((_, index) => socketOf(child, FIRST_CHANNEL + index));
  for (const handle of [child, child.stderr as Socket | null, ...channels]) handle?.unref(); // see src/process-life.ts
  return { child, channels, ended };
}

/** A closed one where the machine had no descriptor or process left to start it: then the child has none at all. */
function socketOf(child: ChildProcess, fd: number): Socket {
  const stdio = child.stdio as ChildProcess['stdio'] | undefined;
  const socket = (stdio?.[fd] ?? new Socket().destroy()) as Socket;
  return socket.on('error', () => socket.destroy()); // its exit says more
}

async function collectStderr(child: ChildProcess): Promise<string> {
  let text = '';
  const closed = Promise.withResolvers<void>();
  child.stderr?.on('data', (chunk: Buffer) => (text = (text + chunk.toString('utf8')).slice(-KEPT_BYTES)));
  child.stderr?.once('close', () => closed.resolve());
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', ({ message }) => {
      text += message;
      resolve();
    });
  });
  // The last of it may still be on its way, but a process that was left behind could keep the pipe open for ever.
  await Promise.race([closed.promise, sleep(STDERR_TIMEOUT_MS, undefined, { ref: false })]);
  child.stderr?.destroy();
  return text.trim();
}
