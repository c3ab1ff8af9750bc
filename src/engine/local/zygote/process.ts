import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ZYGOTE_FILE } from '../../python-files.ts';
import { encodeFrame } from '../frames.ts';

const CONTROL_FD = 3;
const KEPT_BYTES = 8192;
const LAST_WORDS_MS = 100;

/** A zygote that waits for its configuration: it can be started before anybody knows it. */
export interface ZygoteProcess {
  readonly python: string;
  readonly cacheDir: string;
  readonly child: ChildProcess;
  readonly control: Socket;
  /** Its end, with its last words. Listened for from the start: it may come before anybody asks. */
  readonly ended: Promise<string>;
}

/** Starts the Python of a zygote. The environment is empty but for what Python needs; the rest comes over a descriptor. */
export function spawnZygote(python: string, cacheDir: string): ZygoteProcess {
  const child = spawn(python, ['-I', '-X', `pycache_prefix=${cacheDir}/pycache`, ZYGOTE_FILE], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    detached: true, // a Ctrl-C at the terminal is the host's to handle
  });
  const control = child.stdio[CONTROL_FD] as Socket;
  control.on('error', () => control.destroy()); // its end says more
  return { python, cacheDir, child, control, ended: hearOut(child) };
}

/** What a zygote is to be. */
export interface ZygoteConfig {
  readonly level: string;
  readonly instance: string;
  readonly sessions: string;
  readonly socket: string;
  readonly cache: string;
  readonly cgroups: boolean;
  readonly preload: readonly string[];
  readonly ahead: number;
  readonly tmpBytes: number;
  readonly twinDelayMs: number;
}

export function configureZygote({ control }: ZygoteProcess, config: ZygoteConfig): void {
  control.write(encodeFrame(config));
}

async function hearOut(child: ChildProcess): Promise<string> {
  let words = '';
  const silent = Promise.withResolvers<void>();
  child.stderr?.on('data', (chunk: Buffer) => (words = (words + chunk.toString('utf8')).slice(-KEPT_BYTES)));
  child.stderr?.once('close', () => silent.resolve());
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', ({ message }) => {
      words += message;
      resolve();
    });
  });
  // What it wrote last may still be on its way; a process that it left behind could keep it open for ever.
  await Promise.race([silent.promise, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
  child.stderr?.destroy();
  return words.trim();
}
