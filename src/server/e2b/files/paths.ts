import { posix } from 'node:path';
import { VivariumError } from '../../../errors.ts';
import { showName } from '../../../workspace/names.ts';
import type { SandboxPlace } from '../place/place.ts';

/** Where users of E2B write, and where code and commands begin. */
export const HOME = '/home/user';
export const TEMPORARY = '/tmp';

/** A path in a sandbox, as the directory of this machine that it begins in and the names from there on. */
export interface PlacedPath {
  /** As the sandbox sees it, without `.` and `..`. */
  readonly full: string;
  /** The directory of this machine. */
  readonly root: string;
  readonly names: readonly string[];
}

/** Finds a path as a caller gives it: absolute, with `~`, or relative to the home directory. */
export function placePath(given: string, { home, temporary }: SandboxPlace): PlacedPath {
  const full = toFull(given);
  for (const [target, root] of [
    [HOME, home],
    [TEMPORARY, temporary],
  ] as const) {
    if (full === target) return { full, root, names: [] };
    if (full.startsWith(`${target}/`)) return { full, root, names: full.slice(target.length + 1).split('/') };
  }
  throw new VivariumError(
    'FILE_REFUSED',
    `${showName(Buffer.from(full.slice(0, 300)))} cannot be reached: the file calls of a sandbox see ${HOME} and ${TEMPORARY}. Read other files with a command or with Python.`,
  );
}

/** The directory that a command or a context begins in. */
export function toFull(given: string): string {
  const path = given === '~' || given.startsWith('~/') ? HOME + given.slice(1) : given;
  const full = posix.resolve(HOME, path);
  return full;
}
