import type { BigIntStats, Dirent } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { VivariumError } from '../errors.ts';
import { errnoOf, explain } from './errno.ts';
import { HeldDirectory } from './held-directory.ts';
import { decodeName, isDraftName, showName } from './names.ts';
import { isForeignLink } from './open-file.ts';
import type { FoundFile, Listing, ListOptions, Skipped, SkipReason, WalkCaps } from './workspace.ts';

export interface WalkOptions extends ListOptions {
  /** Owner of the session's files; the owner of the directory by default. */
  readonly uid?: number | undefined;
}

export const MAX_DEPTH = 32;
const DEFAULT_CAPS: WalkCaps = { maxEntries: 50_000, maxDepth: MAX_DEPTH, maxMs: 2000 };
/** How long files are still counted when there are too many to look at. */
const COUNT_MS = 200;
const MAX_SKIPPED_KEPT = 100;
/** The unit of `blocks` in `stat`. */
const BLOCK_BYTES = 512;

/** The longest time without a turn for other tasks. */
const SLICE_MS = 8;
const ENTRIES_BETWEEN_CLOCK_READS = 32;

/** What opening a workspace that was removed or replaced fails with. */
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** Lists the files of a workspace from outside. It opens only directories, and follows no link. */
export async function walk(directory: string, { uid, caps, signal }: WalkOptions = {}): Promise<Listing> {
  const walker = new Walker(openRoot(directory), { uid, caps: { ...DEFAULT_CAPS, ...caps }, signal });
  await walker.run();
  return walker.listing();
}

function openRoot(directory: string): HeldDirectory {
  try {
    return HeldDirectory.open(directory);
  } catch (error) {
    if (!GONE.has(errnoOf(error) ?? '')) return explain(error, '.');
    throw new VivariumError('FILE_NOT_FOUND', 'The workspace is gone. Create a new session.', { cause: error });
  }
}

/** A directory, and its subdirectories that are still to be visited. */
interface Branch {
  readonly directory: HeldDirectory;
  readonly prefix: string;
  readonly depth: number;
  readonly pending: string[];
}

class Walker {
  readonly #root: HeldDirectory;
  readonly #owner: number;
  readonly #device: bigint;
  readonly #caps: WalkCaps;
  readonly #signal: AbortSignal | undefined;
  readonly #startedAt = performance.now();
  #sliceStartedAt = this.#startedAt;
  readonly #files: FoundFile[] = [];
  readonly #skipped: Skipped[] = [];
  #skippedCount = 0;
  #entries = 0;
  #blocks = 0;
  #cut: Listing['cut'] = null;
  #unseen = 0;
  #endsAt: number;
  #isOver = false;

  constructor(
    root: HeldDirectory,
    { uid, caps, signal }: { uid: number | undefined; caps: WalkCaps; signal: AbortSignal | undefined },
  ) {
    const stats = root.stat();
    this.#root = root;
    this.#owner = uid ?? Number(stats.uid);
    this.#device = stats.dev;
    this.#caps = caps;
    this.#endsAt = this.#startedAt + caps.maxMs;
    this.#signal = signal;
  }

  /** Depth first, without recursion. A directory is closed once its last child is open, so that a chain of any depth takes two. */
  async run(): Promise<void> {
    const root: Branch = { directory: this.#root, prefix: '', depth: 0, pending: [] };
    const branches = [root];
    try {
      await this.#fill(root);
      for (let branch = branches.at(-1); branch !== undefined && !this.#isOver; branch = branches.at(-1)) {
        const name = branch.pending.pop();
        const child = name === undefined ? null : this.#openChild(branch, name);
        if (branch.pending.length === 0) branches.pop()?.directory[Symbol.dispose]();
        if (child === null) continue;
        branches.push(child);
        await this.#fill(child);
      }
    } finally {
      for (const { directory } of branches) directory[Symbol.dispose]();
    }
  }

  listing(): Listing {
    const allocatedBytes = this.#blocks * BLOCK_BYTES;
    return {
      files: this.#files,
      skipped: this.#skipped,
      skippedCount: this.#skippedCount,
      cut: this.#cut,
      allocatedBytes,
      ...(this.#cut !== null && { unseen: this.#unseen }),
    };
  }

  #openChild({ directory, prefix, depth }: Branch, name: string): Branch | null {
    const path = prefix + name;
    if (depth >= this.#caps.maxDepth) return this.#skip(path, 'depth');
    try {
      const child = directory.child(name);
      if (child.stat().dev === this.#device) {
        return { directory: child, prefix: `${path}/`, depth: depth + 1, pending: [] };
      }
      child[Symbol.dispose]();
      return this.#skip(path, 'mount');
    } catch (error) {
      return this.#skipFailed(path, error);
    }
  }

  async #fill(branch: Branch): Promise<void> {
    try {
      for (const entry of branch.directory.entries()) {
        if (this.#entries === this.#caps.maxEntries) this.#stopLooking();
        this.#entries += 1;
        if (this.#cut === null) this.#add(branch, entry);
        else this.#count(branch, entry);
        if (this.#entries % ENTRIES_BETWEEN_CLOCK_READS === 0) await this.#yieldTurn();
        if (this.#isOver) return;
      }
    } catch (error) {
      this.#signal?.throwIfAborted();
      this.#skipFailed(branch.prefix.slice(0, -1), error);
    }
    await this.#yieldTurn();
  }

  #stopLooking(): void {
    this.#cut ??= 'entries';
    this.#endsAt = Math.min(this.#endsAt, performance.now() + COUNT_MS);
  }

  #count({ pending }: Branch, entry: Dirent<Buffer>): void {
    const name = entry.isDirectory() ? decodeName(entry.name) : null;
    if (name !== null) pending.push(name);
    else this.#unseen += 1;
  }

  #add({ directory, prefix, pending }: Branch, entry: Dirent<Buffer>): void {
    const name = decodeName(entry.name);
    if (name === null) {
      this.#skip(prefix + showName(entry.name), 'name');
    } else if (entry.isDirectory()) {
      pending.push(name);
    } else if (entry.isFile()) {
      if (!isDraftName(name)) this.#addFile(directory, prefix, name);
    } else {
      this.#skip(prefix + name, kindOf(entry));
    }
  }

  #addFile(directory: HeldDirectory, prefix: string, name: string): void {
    const path = prefix + name;
    try {
      const stats = directory.statOf(name);
      this.#blocks += Number(stats.blocks);
      if (stats.isDirectory()) return; // it replaced the file a moment ago
      if (!stats.isFile()) this.#skip(path, kindOf(stats));
      else if (isForeignLink(stats, this.#owner)) this.#skip(path, 'hard-link');
      else this.#files.push(describeFile(path, stats));
    } catch (error) {
      this.#skipFailed(path, error);
    }
  }

  #skip(path: string, reason: SkipReason): null {
    this.#skippedCount += 1;
    if (this.#skipped.length < MAX_SKIPPED_KEPT) this.#skipped.push({ path, reason });
    return null;
  }

  /** An entry that has vanished is left out. A directory that is none any more was swapped for a link. */
  #skipFailed(path: string, error: unknown): null {
    switch (errnoOf(error)) {
      case 'ENOENT':
        return null;
      case 'ELOOP':
      case 'ENOTDIR':
        return this.#skip(path, 'symlink');
      case 'EACCES':
      case 'EPERM':
        return this.#skip(path, 'unreadable');
      default:
        return explain(error, path === '' ? '.' : path);
    }
  }

  async #yieldTurn(): Promise<void> {
    const now = performance.now();
    if (now > this.#endsAt) {
      this.#isOver = true;
      this.#cut ??= 'time';
    }
    if (now - this.#sliceStartedAt < SLICE_MS) return;
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#sliceStartedAt = performance.now();
  }
}

function kindOf(entry: Pick<BigIntStats, 'isSymbolicLink' | 'isFIFO' | 'isSocket'>): SkipReason {
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isFIFO()) return 'fifo';
  return entry.isSocket() ? 'socket' : 'device';
}

/** The facts of a regular file. */
export function describeFile(path: string, stats: BigIntStats): FoundFile {
  const { size, dev, ino, mtimeNs, ctimeNs, blocks, nlink } = stats;
  const allocatedBytes = Number(blocks) * BLOCK_BYTES;
  return {
    path,
    sizeBytes: Number(size),
    dev,
    ino,
    mtimeNs,
    ctimeNs,
    allocatedBytes,
    ...(nlink > 1n && { isLinked: true }),
  };
}
