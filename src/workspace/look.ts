import { setImmediate as nextTurn } from 'node:timers/promises';
import { errnoOf } from './errno.ts';
import { HeldDirectory } from './held-directory.ts';
import { isDraftName, isPlainPath } from './names.ts';
import { isForeignLink } from './open-file.ts';
import { describeFile, MAX_DEPTH } from './walk.ts';
import type { SeenFile } from './workspace.ts';

/** The longest time without a turn for other tasks. */
const SLICE_MS = 8;

interface LookOptions {
  readonly uid: number;
  /** Called for each path right after the look at it; null if a listing would not have it as a file. */
  readonly visit: (path: string, file: SeenFile | null) => void;
}

/** Looks at single paths of a hostile directory as `walk` would: by held directories, without following links. */
export async function lookAt(root: string, paths: Iterable<string>, { uid, visit }: LookOptions): Promise<void> {
  using directory = HeldDirectory.open(root);
  using folders = new Folders(directory);
  let sliceStartedAt = performance.now();
  for (const path of [...paths].toSorted()) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const folder = isListed(path, name) ? folders.enter(path.slice(0, -name.length - 1)) : null;
    visit(path, folder === null ? null : describe(folder, { path, name, uid }));
    if (performance.now() - sliceStartedAt < SLICE_MS) continue;
    await nextTurn();
    sliceStartedAt = performance.now();
  }
}

/** Keeps the last directory open, because paths come sorted. */
class Folders implements Disposable {
  readonly #root: HeldDirectory;
  readonly #device: bigint;
  #path = '';
  #open: HeldDirectory | null = null;

  constructor(root: HeldDirectory) {
    this.#root = root;
    this.#device = root.stat().dev;
  }

  /** Null if there is no such directory, or one that `walk` would not enter. */
  enter(path: string): HeldDirectory | null {
    if (path === '') return this.#root;
    if (path === this.#path && this.#open !== null) return this.#open;
    this[Symbol.dispose]();
    this.#path = path;
    return (this.#open = this.#descend(path.split('/')));
  }

  #descend(steps: readonly string[]): HeldDirectory | null {
    let directory: HeldDirectory | null = null;
    try {
      for (const step of steps) {
        using left: HeldDirectory | null = directory;
        const inner: HeldDirectory = (left ?? this.#root).child(step);
        directory = inner;
        if (inner.stat().dev === this.#device) continue;
        inner[Symbol.dispose]();
        return null;
      }
      return directory;
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#open?.[Symbol.dispose]();
    this.#open = null;
  }
}

function isListed(path: string, name: string): boolean {
  return path.split('/').length <= MAX_DEPTH + 1 && isPlainPath(path) && !isDraftName(name);
}

function describe(
  folder: HeldDirectory,
  { path, name, uid }: { readonly path: string; readonly name: string; readonly uid: number },
): SeenFile | null {
  try {
    const stats = folder.statOf(name);
    if (!stats.isFile() || isForeignLink(stats, uid)) return null;
    return { ...describeFile(path, stats), bornNs: stats.birthtimeNs };
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Gone, replaced by something else, or locked, as a listing leaves them out too. */
function isGone(error: unknown): boolean {
  const code = errnoOf(error);
  return code !== undefined && ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENAMETOOLONG'].includes(code);
}
