/** The environments that set-up builds: what they are built from, how a complete one is known, what is swept away. */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable } from './command.ts';
import { isContents, readJson, writeJson, type Contents, type Environment, type Places } from './environment.ts';
import { BASE_ORDER } from './find.ts';
import type { Inventory } from './inventory.ts';

/** The pinned libraries for one minor version of Python. */
export interface Lock {
  readonly file: string;
  readonly hash: string;
  readonly packageCount: number;
  /** Where the environment built from it belongs. */
  readonly directory: string;
}

export const LOCKS_DIR = fileURLToPath(new URL('../../python/locks/', import.meta.url));
export const BUILDING_PREFIX = '.building-';

/** Stands in a complete environment, and only there: it is written last. */
interface Marker extends Contents {
  readonly lock: string;
}

export async function readLock(minor: string, locksDir: string, places: Places): Promise<Lock> {
  const file = path.join(locksDir, `${minor}.txt`);
  const content = await readFile(file, 'utf8');
  const hash = createHash('sha256').update(content).digest('hex');
  return {
    file,
    hash,
    packageCount: content.match(/^[\w.-]+==/gm)?.length ?? 0,
    directory: path.join(places.environments, `python-${minor}-${hash.slice(0, 12)}`),
  };
}

/** A complete environment built from a lock of today. Starts no process, takes a few milliseconds. */
export async function findComplete(locksDir: string, places: Places): Promise<Environment | undefined> {
  for (const minor of BASE_ORDER) {
    const lock = await readLock(minor, locksDir, places);
    const marker = readJson(markerOf(lock), isMarker);
    const python = pythonIn(lock.directory);
    if (marker?.lock === lock.hash && (await isExecutable(python))) {
      const { version, libraries, missing } = marker;
      return { python, version, source: 'managed', libraries, missing, cacheDir: places.cacheDir };
    }
  }
  return undefined;
}

export async function markComplete(lock: Lock, { version, libraries, missing }: Inventory): Promise<void> {
  const marker: Marker = { lock: lock.hash, version, libraries, missing };
  await writeJson(markerOf(lock), marker);
}

/** Removes builds that nobody finishes and environments of former locks. Only for who holds the claim. */
export async function sweep(places: Places, keep: readonly string[]): Promise<void> {
  const names = await readdir(places.environments);
  const stale = names.filter((name) => name.startsWith(BUILDING_PREFIX) || name.startsWith('python-'));
  const doomed = stale
    .map((name) => path.join(places.environments, name))
    .filter((directory) => !keep.includes(directory));
  await Promise.all(doomed.map((directory) => removeTree(directory)));
}

/** An installer whose owner was killed may still be writing for a moment, hence the retries. */
export async function removeTree(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

export function pythonIn(directory: string): string {
  return path.join(directory, 'bin', 'python');
}

function markerOf(lock: Lock): string {
  return path.join(lock.directory, 'complete.json');
}

function isMarker(value: unknown): value is Marker {
  return isContents(value) && 'lock' in value && typeof value.lock === 'string';
}
