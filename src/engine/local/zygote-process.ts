import { spawn, type ChildProcess } from 'node:child_process';
import { ZYGOTE_FILE } from '../python-files.ts';

/** A zygote that waits for its configuration: it can be started before anybody knows it. */
export interface ZygoteProcess {
  readonly python: string;
  readonly cacheDir: string;
  readonly child: ChildProcess;
}

/** Starts the Python of a zygote. The environment is empty but for what Python needs; the rest comes over a descriptor. */
export function spawnZygote(python: string, cacheDir: string): ZygoteProcess {
  const child = spawn(python, ['-I', '-X', `pycache_prefix=${cacheDir}/pycache`, ZYGOTE_FILE], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    detached: true, // a Ctrl-C at the terminal is the host's to handle
  });
  return { python, cacheDir, child };
}
