import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ZYGOTE_FILE } from '../../python-files.ts';
import { encodeFrame } from '../protocol/frames.ts';

const CONTROL_FD = 3;
const SURVEYOR_FD = 4;
const KEPT_BYTES = 8192;
const STDERR_TIMEOUT_MS = 100;

/** A zygote that waits for its configuration. It can be started before the configuration is known. */
export interface ZygoteProcess {
  readonly python: string;
  readonly cacheDir: string;
  readonly child: ChildProcess;
  readonly control: Socket;
  /** Leads to the surveyor that the zygote forks. */
  readonly surveyor: Socket;
  /** Resolves to the end of its stderr when it has ended, which may be before anybody asks. */
  readonly ended: Promise<string>;
}

/** Starts the Python of a zygote. Its environment holds only what Python needs; its configuration comes over a descriptor. */
export function spawnZygote(python: string, cacheDir: string): ZygoteProcess {
  const child = spawn(python, ['-I', '-X', `pycache_prefix=${cacheDir}/pycache`, ZYGOTE_FILE], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: true, // Ctrl-C at the terminal is for this process to handle
  });
  const control = child.stdio[CONTROL_FD] as Socket;
  const surveyor = child.stdio[SURVEYOR_FD] as Socket;
  for (const socket of [control, surveyor]) socket.on('error', () => socket.destroy()); // its exit says more
  return { python, cacheDir, child, control, surveyor, ended: collectStderr(child) };
}

/** What a zygote is configured with. */
export interface ZygoteConfig {
  readonly level: string;
  readonly instance: string;
  readonly sessions: string;
  readonly socket: string;
  readonly cache: string;
  readonly cgroups: boolean;
  readonly preload: readonly string[];
  readonly ahead: number;
  readonly twinDelayMs: number;
}

export function configureZygote({ control }: ZygoteProcess, config: ZygoteConfig): void {
  control.write(encodeFrame(config));
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
