import { execFile } from 'node:child_process';
import { readdir, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const GROUP_ATTEMPTS = 20;

/** Removes a tree that a session has made: closed directories and very deep ones included. Links are not followed. */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch {
    // A directory without permissions or a path too long for one call: the system's tools walk step by step.
    await run('chmod', ['-R', 'u+rwx', directory]).catch(() => undefined); // rm says what matters
    await run('rm', ['-rf', '--one-file-system', directory]);
  }
}

/** Removes what engines left behind whose process was killed: their directories are named after its pid. */
export async function removeStale(directory: string, prefix: string): Promise<void> {
  const names = await readdir(directory).catch(() => []); // none yet
  const stale = names.filter(
    (name) => name.startsWith(prefix) && !isRunning(Number.parseInt(name.slice(prefix.length), 10)),
  );
  // What belongs to another user is that user's to remove.
  await Promise.allSettled(stale.map((name) => removeTree(path.join(directory, name))));
}

/** Removes the control groups of a zygote that was killed before it could do so. */
export async function removeGroups(directories: readonly string[], prefix: string): Promise<void> {
  for (const directory of directories) {
    const names = await readdir(directory).catch(() => []); // the whole hierarchy may be gone
    const left = names.filter((name) => name.startsWith(`vivarium-${prefix}`));
    await Promise.all(left.map((name) => removeGroup(path.join(directory, name))));
  }
}

/** Removes the control groups of engines whose process was killed; one that is still in use cannot be removed. */
export async function removeStaleGroups(directories: readonly string[]): Promise<void> {
  for (const directory of directories) {
    const names = await readdir(directory).catch(() => []); // the whole hierarchy may be gone
    const stale = names.filter((name) => {
      const pid = /^vivarium-(\d+)-/.exec(name)?.[1];
      return pid !== undefined && !isRunning(Number(pid));
    });
    await Promise.allSettled(stale.map((name) => rmdir(path.join(directory, name))));
  }
}

/** A group can be removed once its last process has left, which the kernel does in its own time. */
async function removeGroup(directory: string): Promise<void> {
  for (let attempt = 0; attempt < GROUP_ATTEMPTS; attempt += 1) {
    try {
      await rmdir(directory);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      await sleep(5 * (attempt + 1));
    }
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid)) return true; // not named by us: not ours to remove
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
