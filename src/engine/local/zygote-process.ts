import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ZYGOTE_FILE } from '../python-files.ts';

const KEPT_BYTES = 8192;
const LAST_WORDS_MS = 100;

/** A zygote that waits for its configuration: it can be started before anybody knows it. */
export interface ZygoteProcess {
  readonly python: string;
  readonly cacheDir: string;
  readonly child: ChildProcess;
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
  return { python, cacheDir, child, ended: hearOut(child) };
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
