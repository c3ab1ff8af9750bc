import type { FSWatcher } from 'node:fs';
import { errnoOf } from '../../../workspace/errno.ts';
import type { HeldDirectory } from '../../../workspace/held-directory.ts';
import { shownName } from './sandbox-files.ts';

const MAX_ENTRIES = 5000;
const MAX_DIRECTORIES = 256;
const MAX_DEPTH = 16;
/** Changes that come together are looked at together. */
const PAUSE_MS = 20;
/** Where the kernel tells nothing, because it has no room for another watch. */
const POLL_MS = 500;
/** Looking takes at most this part of the time. */
const SHARE = 10;

/** Something that happened in a directory, as E2B's SDKs read it. */
export interface FileEvent {
  /** Relative to the directory. */
  readonly name: string;
  readonly type: `EVENT_TYPE_${'CREATE' | 'WRITE' | 'REMOVE' | 'RENAME' | 'CHMOD'}`;
}

interface Mark {
  readonly ino: bigint;
  readonly isFile: boolean;
  readonly sizeBytes: bigint;
  readonly mtimeNs: bigint;
  readonly mode: bigint;
}
export type FileMarks = ReadonlyMap<string, Mark>;

interface WatchOptions {
  readonly isRecursive: boolean;
  readonly onEvents: (events: readonly FileEvent[]) => void;
}

/**
 * Watches a directory of a sandbox. The kernel tells that something has happened in it, and comparing it with what was
 * there before tells what. Directories are held and links are not followed, so that nothing else is looked at.
 */
export class DirectoryWatch implements Disposable {
  readonly #directory: HeldDirectory;
  readonly #options: WatchOptions;
  readonly #watchers = new Map<bigint, FSWatcher>();
  #marks: FileMarks;
  #timer: NodeJS.Timeout | undefined;
  #notBefore = 0;
  #isOver = false;

  /** Owns the directory from here on. */
  constructor(directory: HeldDirectory, options: WatchOptions) {
    this.#directory = directory;
    this.#options = options;
    this.#marks = this.#scan();
  }

  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#directory[Symbol.dispose]();
  }

  #onChange(pauseMs: number): void {
    if (this.#isOver || this.#timer !== undefined) return;
    const delayMs = Math.max(pauseMs, this.#notBefore - performance.now());
    this.#timer = setTimeout(() => this.#compare(), delayMs).unref();
  }

  #compare(): void {
    this.#timer = undefined;
    const startedAt = performance.now();
    const before = this.#marks;
    this.#marks = this.#scan();
    this.#notBefore = performance.now() + SHARE * (performance.now() - startedAt);
    const events = compareMarks(before, this.#marks);
    if (events.length > 0) this.#options.onEvents(events);
  }

  #scan(): FileMarks {
    const marks = new Map<string, Mark>();
    const seen = new Set<bigint>();
    this.#scanDirectory(this.#directory, '', { marks, seen, depth: 0 });
    for (const [ino, watcher] of this.#watchers) {
      if (seen.has(ino)) continue;
      watcher.close();
      this.#watchers.delete(ino);
    }
    return marks;
  }

  #scanDirectory(
    directory: HeldDirectory,
    prefix: string,
    { marks, seen, depth }: { marks: Map<string, Mark>; seen: Set<bigint>; depth: number },
  ): void {
    this.#watch(directory, seen); // before the look, so that no change is missed
    for (const entry of directory.entries()) {
      const name = shownName(entry);
      if (name === null || marks.size >= MAX_ENTRIES) continue;
      try {
        const stats = directory.statOf(name);
        const { ino, size, mtimeNs, mode } = stats;
        marks.set(prefix + name, { ino, isFile: stats.isFile(), sizeBytes: size, mtimeNs, mode });
        if (!this.#options.isRecursive || !stats.isDirectory() || depth >= MAX_DEPTH) continue;
        using inner = directory.child(name);
        this.#scanDirectory(inner, `${prefix}${name}/`, { marks, seen, depth: depth + 1 });
      } catch (error) {
        if (errnoOf(error) === undefined) throw error; // else it is gone or locked by now
      }
    }
  }

  #watch(directory: HeldDirectory, seen: Set<bigint>): void {
    const { ino } = directory.stat();
    seen.add(ino);
    if (this.#watchers.has(ino)) return;
    if (this.#watchers.size >= MAX_DIRECTORIES) {
      queueMicrotask(() => this.#onChange(POLL_MS));
      return;
    }
    try {
      const watcher = directory.watch(() => this.#onChange(PAUSE_MS));
      watcher.on('error', () => this.#onChange(POLL_MS));
      this.#watchers.set(ino, watcher);
    } catch {
      queueMicrotask(() => this.#onChange(POLL_MS)); // the kernel allows no more watches
    }
  }
}

/** What must have happened between two looks. */
export function compareMarks(before: FileMarks, after: FileMarks): FileEvent[] {
  const arrived = new Map([...after].filter(([name]) => !before.has(name)).map(([name, { ino }]) => [ino, name]));
  const renamed = new Set<bigint>();
  const events: FileEvent[] = [];
  for (const [name, { ino }] of before) {
    if (after.has(name)) continue;
    const isMoved = arrived.has(ino);
    if (isMoved) renamed.add(ino);
    events.push({ name, type: isMoved ? 'EVENT_TYPE_RENAME' : 'EVENT_TYPE_REMOVE' });
  }
  for (const [name, mark] of after) {
    const old = before.get(name);
    if (old === undefined) {
      events.push({ name, type: 'EVENT_TYPE_CREATE' });
      const isWritten = mark.isFile && mark.sizeBytes > 0n && !renamed.has(mark.ino);
      if (isWritten) events.push({ name, type: 'EVENT_TYPE_WRITE' });
    } else if (
      mark.isFile &&
      (old.ino !== mark.ino || old.mtimeNs !== mark.mtimeNs || old.sizeBytes !== mark.sizeBytes)
    ) {
      events.push({ name, type: 'EVENT_TYPE_WRITE' });
    } else if (old.mode !== mark.mode) {
      events.push({ name, type: 'EVENT_TYPE_CHMOD' });
    }
  }
  return events;
}
