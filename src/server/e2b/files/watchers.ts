import { randomUUID } from 'node:crypto';
import { VivariumError } from '../../../errors.ts';
import { Feed } from '../stream/feed.ts';
import type { SandboxFiles } from './sandbox-files.ts';
import { DirectoryWatch, type FileEvent } from './watch.ts';

const MAX_WATCHES = 64;
/** That wait for those who watch. */
const MAX_EVENTS = 10_000;

/** What is to be watched. */
export interface WatchRequest {
  readonly path: string;
  readonly recursive: boolean;
}

/** The directories of one sandbox that somebody watches: through a stream, or by asking for events. */
export class Watchers implements Disposable {
  readonly #files: SandboxFiles;
  readonly #asked = new Map<string, { readonly watch: DirectoryWatch; readonly events: FileEvent[] }>();
  readonly #streams = new Set<Feed<FileEvent>>();

  constructor(files: SandboxFiles) {
    this.#files = files;
  }

  /** Watches until it is disposed of. */
  stream(request: WatchRequest): Disposable & { readonly events: Feed<FileEvent> } {
    const feed = new Feed<FileEvent>();
    const watch = this.#begin(request, (events) => {
      for (const event of events) void feed.push(event);
      if (feed.size > MAX_EVENTS) feed.leave(); // the reader is too slow: its watch ends
    });
    this.#streams.add(feed);
    const dispose = (): void => {
      this.#streams.delete(feed);
      watch[Symbol.dispose]();
    };
    return { events: feed, [Symbol.dispose]: dispose };
  }

  /** Watches until it is removed. Returns what it is called. */
  create(request: WatchRequest): string {
    const events: FileEvent[] = [];
    const watch = this.#begin(request, (more) => {
      events.push(...more);
      events.splice(0, events.length - MAX_EVENTS);
    });
    const id = randomUUID();
    this.#asked.set(id, { watch, events });
    return id;
  }

  /** What has happened since the last time. */
  take(id: string): FileEvent[] {
    return this.#get(id).events.splice(0);
  }

  remove(id: string): void {
    this.#get(id).watch[Symbol.dispose]();
    this.#asked.delete(id);
  }

  [Symbol.dispose](): void {
    for (const { watch } of this.#asked.values()) watch[Symbol.dispose]();
    for (const feed of this.#streams) feed.end();
    this.#asked.clear();
  }

  #begin({ path, recursive }: WatchRequest, onEvents: (events: readonly FileEvent[]) => void): DirectoryWatch {
    if (this.#asked.size + this.#streams.size >= MAX_WATCHES) {
      throw new VivariumError('QUEUE_FULL', `A sandbox can have up to ${MAX_WATCHES} watches. Stop some of them.`);
    }
    const { directory } = this.#files.hold(path);
    return new DirectoryWatch(directory, { isRecursive: recursive, onEvents });
  }

  #get(id: string): { readonly watch: DirectoryWatch; readonly events: FileEvent[] } {
    const found = this.#asked.get(id);
    if (found !== undefined) return found;
    throw new VivariumError('FILE_NOT_FOUND', `There is no watcher ${JSON.stringify(id)}. Create a new one.`);
  }
}
