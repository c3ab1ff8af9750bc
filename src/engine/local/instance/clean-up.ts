import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { occupancyOf } from './lease.ts';
import { removeTree } from './removals.ts';

const GROUP_ATTEMPTS = 60; // nine seconds: on a busy machine processes take long to end
/** An engine that is starting has its socket by then. */
const UNMARKED_MS = 60_000;

/** Where engines that are killed leave something behind. */
interface LeftoverDirectories {
  readonly directory: string;
  /** Exactly the names that we give. Anything else is not ours. */
  readonly names: RegExp;
  /** Listens in each of them while its engine lives. */
  readonly socket: string;
  /** Whether everything in them is ours; otherwise only the socket is. */
  readonly isOwn: boolean;
  /** Removes a tree. */
  readonly remove?: (directory: string) => Promise<void>;
}

/** Removes what killed engines left behind. */
export async function removeAbandoned(leftovers: LeftoverDirectories): Promise<void> {
  const names = await readdir(leftovers.directory).catch(() => []); // none yet
  const own = names.filter((name) => leftovers.names.test(name)).map((name) => path.join(leftovers.directory, name));
  await Promise.allSettled(own.map((directory) => removeIfAbandoned(directory, leftovers))); // the next start tries again
}

async function removeIfAbandoned(directory: string, { socket, isOwn, remove }: LeftoverDirectories): Promise<void> {
  const occupancy = await occupancyOf(directory, socket);
  if (occupancy === 'abandoned') {
    if (isOwn) await removeContents(directory, socket, remove);
    else if ((await readdir(directory)).length > 1) return;
    await unlink(path.join(directory, socket));
    await rmdir(directory);
  } else if (occupancy === 'unmarked') {
    const { mtimeMs } = await lstat(directory);
    if (Date.now() - mtimeMs > UNMARKED_MS) await rmdir(directory); // only if it is empty
  }
}

/** Empties a directory but for the socket, by which the next engine knows it as ours if this one is killed meanwhile. */
export async function removeContents(
  directory: string,
  socket: string,
  remove: (directory: string) => Promise<void> = removeTree,
): Promise<void> {
  const names = await readdir(directory);
  await Promise.all(names.filter((name) => name !== socket).map((name) => remove(path.join(directory, name))));
}

/** Removes the control groups of a zygote that was killed before it could do so. */
export async function removeGroups(directories: readonly string[], prefix: string): Promise<void> {
  for (const directory of directories) {
    const names = (await untilDone(() => readdir(directory))) ?? []; // the whole hierarchy may be gone
    const left = names.filter((name) => name.startsWith(`vivarium-${prefix}`));
    await Promise.all(left.map((name) => removeGroup(path.join(directory, name))));
  }
}

/** Removes the control groups of killed engines. One that is still in use cannot be removed. */
export async function removeStaleGroups(
  directories: readonly string[],
  isOccupied: (instance: string) => Promise<boolean>,
): Promise<void> {
  for (const directory of directories) {
    const names = await readdir(directory).catch(() => []); // the whole hierarchy may be gone
    const removals = names.map(async (name) => {
      const [, instance, pid] =
        /^vivarium-((\d+)-[0-9a-f]{8})\./.exec(name) ?? /^vivarium-(probe)-(\d+)$/.exec(name) ?? [];
      if (instance === undefined || isRunning(Number(pid)) || (await isOccupied(instance))) return;
      await rmdir(path.join(directory, name));
    });
    await Promise.allSettled(removals);
  }
}

/** A group can be removed once its last process has left it, which takes the kernel a moment. */
async function removeGroup(directory: string): Promise<void> {
  await untilDone(() => rmdir(directory));
}

/** Tries again while the machine lacks something or a process is still there. Undefined if the directory is gone. */
async function untilDone<T>(work: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 0; attempt < GROUP_ATTEMPTS; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      await sleep(5 * (attempt + 1));
    }
  }
  return undefined;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
