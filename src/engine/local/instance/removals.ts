import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { opendir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** So many entries are removed by this process. For more, a process of its own is far faster. */
const FEW_ENTRIES = 200;
/** Step by step, so that no path is too long; a directory without permissions gets them first. */
const REMOVE_SCRIPT = `rm -rf --one-file-system -- "$1" 2>/dev/null || { chmod -R u+rwx -- "$1"; exec rm -rf --one-file-system -- "$1"; }`;

/** Removes a tree that a session made, even one with locked or very deep directories. Links are not followed. */
export async function removeTree(directory: string, onProcess?: (child: ChildProcess) => void): Promise<void> {
  try {
    if (await hasFewEntries(directory)) return await rm(directory, { recursive: true, force: true });
  } catch {
    // A directory without permissions, or a path too long for one call: the system's tools can deal with both.
  }
  const child = spawn('sh', ['-c', REMOVE_SCRIPT, 'sh', directory], { detached: true, stdio: 'ignore' });
  onProcess?.(child);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`Files of a session could not be removed: rm has failed for ${directory}.`);
}

/** Removes directories in the background: whoever closes a session need not wait until its files are deleted. */
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

  /** Removes a directory. Whoever asks again while that goes on waits for the same removal. */
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

async function hasFewEntries(directory: string): Promise<boolean> {
  let left = FEW_ENTRIES;
  const pending = [directory];
  for (const each of pending) {
    for await (const entry of await opendir(each)) {
      left -= 1;
      if (left < 0) return false;
      if (entry.isDirectory()) pending.push(path.join(each, entry.name));
    }
  }
  return true;
}
