import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { posix } from 'node:path';
import { VivariumError } from '../../../errors.ts';
import { DirectoryWorkspace } from '../../../workspace/directory-workspace.ts';
import { errnoOf, explain } from '../../../workspace/errno.ts';
import { HeldDirectory } from '../../../workspace/held-directory.ts';
import { decodeName, isDraftName, isPlainPath } from '../../../workspace/names.ts';
import type { OpenFile } from '../../../workspace/open-file.ts';
import type { FileSource } from '../../../workspace/workspace.ts';
import type { SandboxPlace } from '../place/place.ts';
import { emptyDirectory } from '../place/removal.ts';
import { RpcError } from '../stream/rpc-error.ts';
import { toEntry, type FileEntry } from './entry.ts';
import { placePath, type PlacedPath } from './paths.ts';

const MAX_LISTED = 10_000;
const MAX_DEPTH = 32;

/** How much may be written. */
export interface Room {
  readonly maxBytes: number;
  /** What sets it, for the error message. */
  readonly limit: string;
}

/**
 * The files of a sandbox from outside, while its sessions may be changing them. Every step goes from a held directory to
 * one name in it and follows no link, so that nothing but the sandbox's own directories is reached.
 */
export class SandboxFiles {
  readonly #place: SandboxPlace;

  constructor(place: SandboxPlace) {
    this.#place = place;
  }

  stat(path: string): FileEntry {
    const placed = this.#find(path);
    return attempt(placed, () => {
      const name = placed.names.at(-1);
      using directory = enter(placed.root, placed.names.slice(0, -1));
      return name === undefined ? toEntry(placed.full, directory.stat()) : describe(directory, name, placed.full);
    });
  }

  /** What is in a directory, down to a depth, sorted by path. */
  list(path: string, depth: number): FileEntry[] {
    const placed = this.#find(path);
    const found: FileEntry[] = [];
    attempt(placed, () => {
      using directory = enter(placed.root, placed.names);
      collect(directory, placed.full, Math.min(depth, MAX_DEPTH), found);
    });
    return found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  }

  /** Makes a directory and those on the way to it. */
  makeDirectory(path: string): FileEntry {
    const placed = this.#find(path);
    return attempt(placed, () => {
      let isNew = false;
      using directory = enter(placed.root, placed.names, (from, name) => {
        isNew = makeIfMissing(from, name);
        return from.child(name);
      });
      if (!isNew) throw new RpcError('already_exists', `${placed.full} exists already.`);
      return toEntry(placed.full, directory.stat());
    });
  }

  /** Moves a file or directory, also onto a file that is there, and makes the directories on the way. */
  move(from: string, to: string): FileEntry {
    const [source, target] = [this.#find(from), this.#find(to)];
    const [name, newName] = [nameOf(source), nameOf(target)];
    const origin = attempt(source, () => {
      const directory = enter(source.root, source.names.slice(0, -1));
      directory.statOf(name); // it is there
      return directory;
    });
    using _ = origin;
    return attempt(target, () => {
      using destination = enter(target.root, target.names.slice(0, -1), (parent, step) => {
        makeIfMissing(parent, step);
        return parent.child(step);
      });
      origin.moveTo(name, destination, newName);
      return describe(destination, newName, target.full);
    });
  }

  /** Removes a file, a link, or a directory with all that is in it. At once it is out of the sandbox, and then it goes. */
  async remove(path: string): Promise<void> {
    const placed = this.#find(path);
    const name = nameOf(placed);
    attempt(placed, () => {
      using directory = enter(placed.root, placed.names.slice(0, -1));
      using trash = HeldDirectory.open(this.#place.trash);
      if (directory.statOf(name).isDirectory()) directory.regainChild(name)[Symbol.dispose]();
      directory.moveTo(name, trash, randomBytes(12).toString('hex'));
    });
    await emptyDirectory(this.#place.trash);
  }

  /** Writes a file as a whole, and makes the directories on the way. */
  async write(path: string, source: FileSource, { maxBytes, limit }: Room): Promise<FileEntry> {
    const { root, names } = this.#find(path);
    nameOf({ full: path, root, names });
    await workspaceOf(root).write(names.join('/'), source, { maxBytes, limit });
    return this.stat(path);
  }

  open(path: string): Promise<OpenFile> {
    const { root, names } = this.#find(path);
    return workspaceOf(root).open(names.join('/'));
  }

  /** A directory, held. */
  hold(path: string): { readonly directory: HeldDirectory; readonly full: string } {
    const placed = this.#find(path);
    return { directory: attempt(placed, () => enter(placed.root, placed.names)), full: placed.full };
  }

  #find(path: string): PlacedPath {
    const placed = placePath(path, this.#place);
    if (placed.names.length === 0 || isPlainPath(placed.names.join('/'))) return placed;
    throw new VivariumError('FILE_REFUSED', 'A part of the path is too long or not plain text. Choose another name.');
  }
}

/** The facts about a name in a held directory. */
function describe(directory: HeldDirectory, name: string, full: string): FileEntry {
  const stats = directory.statOf(name);
  return toEntry(full, stats, stats.isSymbolicLink() ? directory.readLink(name).slice(0, 4096) : undefined);
}

/** Names that can be shown, without files that are being uploaded. */
export function shownName({ name }: Dirent<Buffer>): string | null {
  const text = decodeName(name);
  return text === null || isDraftName(text) ? null : text;
}

/** What files are written by belongs to the user of this process: sessions see it as their own. */
function workspaceOf(path: string): DirectoryWorkspace {
  return new DirectoryWorkspace({ path, uid: process.getuid?.() ?? 0 });
}

type StepInto = (from: HeldDirectory, name: string) => HeldDirectory;

/** Goes down to a directory, one held step after the other. */
function enter(
  root: string,
  names: readonly string[],
  step: StepInto = (from, name) => from.child(name),
): HeldDirectory {
  let directory = HeldDirectory.open(root);
  for (const name of names) {
    using left = directory;
    directory = step(left, name);
  }
  return directory;
}

function makeIfMissing(directory: HeldDirectory, name: string): boolean {
  try {
    directory.makeDirectory(name);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function collect(directory: HeldDirectory, full: string, depth: number, found: FileEntry[]): void {
  for (const entry of directory.entries()) {
    const name = shownName(entry);
    if (name === null) continue;
    if (found.length >= MAX_LISTED) throw tooMany(full);
    const path = posix.join(full, name);
    try {
      found.push(describe(directory, name, path));
      if (depth <= 1 || !entry.isDirectory()) continue;
      using inner = directory.child(name);
      collect(inner, path, depth - 1, found);
    } catch (error) {
      if (!GONE.has(errnoOf(error) ?? '')) throw error;
    }
  }
}

/** Removed, replaced or locked in the meantime. */
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES']);

function attempt<T>({ full }: PlacedPath, work: () => T): T {
  try {
    return work();
  } catch (error) {
    return explain(error, full);
  }
}

function nameOf({ full, names }: PlacedPath): string {
  const name = names.at(-1);
  if (name !== undefined) return name;
  throw new VivariumError('FILE_REFUSED', `${full} itself cannot be moved, removed or written. Name something in it.`);
}

function tooMany(full: string): VivariumError {
  return new VivariumError(
    'FILE_TOO_LARGE',
    `${full} has more than ${MAX_LISTED} entries. List a directory in it, or fewer levels.`,
  );
}
