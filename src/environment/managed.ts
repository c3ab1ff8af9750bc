/** The environments that set-up builds: their lock files, the marker of a complete one, and the removal of old ones. */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { VivariumError } from '../errors.ts';
import { isExecutable } from './command.ts';
import {
  isPythonContents,
  readJson,
  writeJson,
  type PythonContents,
  type Environment,
  type DataPaths,
} from './environment.ts';
import { BASE_ORDER } from './find.ts';
import type { PythonInventory } from './inventory.ts';
import { missingFrom, type LibrarySet } from './library-sets.ts';

/** The pinned libraries of one set for one minor version of Python. */
export interface Lock {
  readonly set: LibrarySet;
  readonly file: string;
  readonly hash: string;
  readonly packageCount: number;
  /** The directory of the environment that is built from it. */
  readonly directory: string;
}

export const LOCKS_DIR = fileURLToPath(new URL('../../python/locks/', import.meta.url));
export const BUILDING_PREFIX = '.building-';

/** A file in every complete environment. It is written last. */
interface CompletionMarker extends PythonContents {
  readonly lock: string;
}

/** Where locks are, and which set is meant. */
export interface LockChoice {
  readonly locksDir: string;
  readonly set: LibrarySet;
}

export async function readLock(minor: string, { locksDir, set }: LockChoice, paths: DataPaths): Promise<Lock> {
  const file = path.join(locksDir, set, `${minor}.txt`);
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw brokenLock(file, `cannot be read (${error.code ?? error.message})`, error);
  });
  const hash = createHash('sha256').update(content).digest('hex');
  const packageCount = content.match(/^[\w.-]+==/gm)?.length ?? 0;
  if (packageCount === 0) throw brokenLock(file, 'names no library');
  return {
    set,
    file,
    hash,
    packageCount,
    directory: path.join(paths.environments, `python-${minor}-${hash.slice(0, 12)}`),
  };
}

/** A complete environment that was built from a current lock. Starts no process, takes a few milliseconds. */
export async function findComplete(choice: LockChoice, paths: DataPaths): Promise<Environment | undefined> {
  for (const minor of BASE_ORDER) {
    const lock = await readLock(minor, choice, paths);
    const marker = readJson(markerOf(lock), isMarker);
    const python = pythonIn(lock.directory);
    if (marker?.lock === lock.hash && (await isExecutable(python))) {
      const { version, libraries, missing } = marker;
      return { set: lock.set, python, version, source: 'managed', libraries, missing, cacheDir: paths.cacheDir };
    }
  }
  return undefined;
}

export async function markComplete(lock: Lock, { version, libraries }: PythonInventory): Promise<void> {
  const missing = missingFrom(lock.set, libraries);
  const marker: CompletionMarker = { lock: lock.hash, version, libraries, missing };
  await writeJson(markerOf(lock), marker);
}

/** Removes unfinished builds and environments of earlier locks. The caller must hold the claim. */
export async function sweep(paths: DataPaths, keep: readonly string[]): Promise<void> {
  const names = await readdir(paths.environments);
  const stale = names.filter((name) => name.startsWith(BUILDING_PREFIX) || name.startsWith('python-'));
  const doomed = stale
    .map((name) => path.join(paths.environments, name))
    .filter((directory) => !keep.includes(directory));
  await Promise.all(doomed.map((directory) => removeTree(directory)));
}

/** Retries, because an installer whose parent was killed may still write for a moment. */
export async function removeTree(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

export function pythonIn(directory: string): string {
  return path.join(directory, 'bin', 'python');
}

/** Locks are part of this package. One that is missing is not treated as absent: another Python would be chosen in silence. */
function brokenLock(file: string, problem: string, cause?: Error): VivariumError {
  return new VivariumError(
    'SETUP_FAILED',
    `The list of libraries ${file} ${problem}. It is part of this package; install vivarium again, or make the file readable.`,
    { cause },
  );
}

function markerOf(lock: Lock): string {
  return path.join(lock.directory, 'complete.json');
}

function isMarker(value: unknown): value is CompletionMarker {
  return isPythonContents(value) && 'lock' in value && typeof value.lock === 'string';
}
