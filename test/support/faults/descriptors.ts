import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync } from 'node:fs';

/** Enough for what a host needs while it works; filling more takes long. */
const LIMIT = 2048;

/** How many descriptors this process has open. */
export function countDescriptors(): number {
  return readdirSync('/proc/self/fd').length - 1; // one is that of the listing
}

/**
 * Takes descriptors until this process can open only `left` more. Disposing gives them back. Load the modules and start
 * the processes that the test needs before.
 */
export function exhaustDescriptors(left = 0): Disposable {
  const usual = setLimit(LIMIT);
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && error.code === 'EMFILE';
    if (!isFull) throw error;
  }
  for (const descriptor of taken.splice(0, left)) closeSync(descriptor);
  return {
    [Symbol.dispose]() {
      if (taken.length === 0) return;
      for (const descriptor of taken.splice(0)) closeSync(descriptor);
      setLimit(usual);
    },
  };
}

/** Sets how many descriptors this process may have, and returns the old limit. */
function setLimit(limit: number): number {
  const ask = (...args: readonly string[]): string =>
    execFileSync('prlimit', ['--pid', String(process.pid), ...args], { encoding: 'utf8' });
  const usual = Number(ask('--nofile', '--output=SOFT', '--noheadings', '--raw'));
  ask(`--nofile=${limit}:`);
  return usual;
}
