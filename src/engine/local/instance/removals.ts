import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rename, rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { HeldDirectory } from '../../../workspace/held-directory.ts';

/** So many entries are removed by this process. For more, a process of its own is far faster. */
const FEW_ENTRIES = 200;
/** It goes from directory to directory by descriptors, so no path is too long, and no link is followed. */
const REMOVE = 'rm -rf --one-file-system -- "$1"';
/** A signal that only twins are sent must not end it. */
const IGNORE_SIGUSR1 = "trap '' USR1";
/** A directory without permissions gets them first. Root needs none, and must change nothing but what it removes. */
const REMOVE_LOCKED = `${REMOVE} 2>/dev/null || { chmod -R u+rwx -- "$1"; exec ${REMOVE}; }`;

/** Removes a tree that a session made, even one with locked or very deep directories. Links are not followed. */
export async function removeTree(directory: string, onProcess?: (child: ChildProcess) => void): Promise<void> {
  try {
    if (await removeFew(directory)) return;
  } catch {
    // A directory without permissions, or a path too long for one call: the system's tools can deal with both.
  }
  const script = process.getuid?.() === 0 ? REMOVE : REMOVE_LOCKED;
  const child = spawn('sh', ['-c', `${IGNORE_SIGUSR1}; ${script}`, 'sh', directory], {
    detached: true,
    stdio: 'ignore',
  });
  onProcess?.(child);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`Files of a session could not be removed: rm has failed for ${directory}.`);
}

/** Removes directories in the background, so that closing a session does not wait until its files are deleted. */
export class Removals {
  readonly #running = new Map<string, Promise<void>>();
  readonly #processes = new Set<ChildProcess>();
  #count = 0;

  /** Moves a directory aside at once, and removes it some time later. What fails is left for the end of the instance. */
  async begin(directory: string): Promise<void> {
    this.#count += 1;
    const aside = `${directory}.removed-${this.#count}`;
    try {
      await rename(directory, aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return; // somebody else has removed it
    }
    this.remove(aside).catch(() => undefined);
  }

  /** Removes a directory. Further calls wait for the removal that is already running. */
  remove(directory: string): Promise<void> {
    const running = this.#running.get(directory);
    if (running !== undefined) return running;
    const removal = removeTree(directory, (child) => {
      this.#processes.add(child);
      child.once('exit', () => this.#processes.delete(child));
    }).finally(() => this.#running.delete(directory));
    this.#running.set(directory, removal);
    return removal;
  }

  /** Waits so long for something that removes. After that the processes that still do go on without this one. */
  async wait(removal: Promise<unknown>, ms: number): Promise<boolean> {
    const timer = new AbortController();
    const isDone = await Promise.race([removal.then(() => true), sleep(ms, false, { signal: timer.signal })]);
    timer.abort();
    if (isDone) return true;
    removal.catch(() => undefined); // nobody is left to hear of it; the next start tries again
    for (const child of this.#processes) child.unref();
    return false;
  }
}

/** Removes a tree of few entries, by held directories: processes of its session may still be changing it. */
async function removeFew(directory: string): Promise<boolean> {
  using top = HeldDirectory.open(directory);
  if (!(await removeEntries(top, { entries: FEW_ENTRIES }))) return false;
  await rmdir(directory);
  return true;
}

/** False if there are more entries than are left to be removed here. */
async function removeEntries(directory: HeldDirectory, left: { entries: number }): Promise<boolean> {
  const found: { name: string; isDirectory: boolean }[] = [];
  for (const entry of directory.entries()) {
    left.entries -= 1;
    if (left.entries < 0) return false;
    found.push({ name: entry.name.toString('utf8'), isDirectory: entry.isDirectory() });
  }
  for (const { name, isDirectory } of found) {
    if (!isDirectory) await directory.unlink(name);
    else {
      using inner = directory.child(name);
      if (!(await removeEntries(inner, left))) return false;
      directory.removeDirectory(name);
    }
  }
  return true;
}
