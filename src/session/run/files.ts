import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Artifact } from '../../artifact/artifact.ts';
import { changedSince, type Inventory } from '../../artifact/changes.ts';
import { collect } from '../../artifact/collect.ts';
import type { FileFacts, FileList, FileSource } from '../../artifact/files.ts';
import { mimeOf } from '../../artifact/mime.ts';
import { placeOf, type Place } from '../../artifact/place.ts';
import type { ArtifactStore } from '../../artifact/store.ts';
import type { EngineSession } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { ProducedFile } from '../../execution/execution.ts';
import type { Settings } from '../options.ts';

const MAX_KEPT_FILES = 100;
const MEBIBYTE = 2 ** 20;
/** How far above its limit a workspace may be for code to run in it; most limits are overstepped by less before anybody sees it. */
const LEAST_OVERDRAFT = 256 * MEBIBYTE;

/** A workspace above its limit. */
export interface Excess {
  /** Whether the last run made it larger. */
  readonly hasGrown: boolean;
  readonly reason: string;
}

/** The files of a session: what its runs write, and what its owner puts there. */
export class SessionFiles {
  readonly #inner: EngineSession;
  readonly #store: ArtifactStore;
  readonly #maxBytes: { readonly file: number; readonly workspace: number };
  #before: Inventory | null = null;
  #excess: Excess | null = null;

  constructor(inner: EngineSession, store: ArtifactStore, { limits }: Settings) {
    this.#inner = inner;
    this.#store = store;
    this.#maxBytes = { file: limits.fileMb * 2 ** 20, workspace: limits.workspaceMb * 2 ** 20 };
  }

  /** Where they are, for a reader. */
  get location(): string {
    const { workspace } = this.#inner;
    return 'path' in workspace ? workspace.path : workspace.location;
  }

  /** Puts a file into the workspace, or replaces one. */
  async upload(path: string, source: FileSource, options: { readonly signal?: AbortSignal } = {}): Promise<FileFacts> {
    const facts = await this.#place.upload(path, { source, maxBytes: this.#maxBytes.file, ...options });
    if (this.#before !== null) this.#before = await this.#place.takeInventory(); // it is not the next run's doing
    return facts;
  }

  /** The content of a file as a stream. */
  async download(path: string): Promise<Readable> {
    const file = await this.#place.open(path);
    return file.stream();
  }

  list(): Promise<FileList> {
    return this.#place.list();
  }

  /** Removes a file, a link or an empty directory. */
  remove(path: string): Promise<void> {
    return this.#place.remove(path);
  }

  /** Has a file written that is for its owner alone: it goes into the store and leaves the workspace. */
  async takeOut(name: string, write: (path: string) => Promise<void>): Promise<Artifact> {
    const id = randomUUID();
    const path = `.output/${id}`;
    try {
      await write(path);
      await using file = await this.#place.open(path);
      return await this.#store.keep(file, { name, mime: mimeOf(name), sessionId: this.#inner.id, executionId: id });
    } finally {
      await this.discard(path);
    }
  }

  /** Removes a file of ours, if it is still there. */
  async discard(path: string): Promise<void> {
    try {
      await this.remove(path);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error; // the program has removed it, or put something else there
    }
  }

  /** Remembers what is there, for `produced` to compare. Nothing to do where the last comparison still holds. */
  async beginRun(): Promise<void> {
    this.#before ??= await this.#place.takeInventory();
    if (this.#isOverdrawn()) this.#before = await this.#place.takeInventory(); // somebody may have removed files
    if (!this.#isOverdrawn()) return;
    throw new VivariumError(
      'FILE_TOO_LARGE',
      `No code runs while ${this.#describeSize()}. Remove files of the session from outside (\`files.remove\`), or close it.`,
    );
  }

  /** What the last run that may have written left above the limit. */
  get excess(): Excess | null {
    return this.#excess;
  }

  /** What was written since, with a copy of each file kept. */
  async *produced(executionId: string): AsyncGenerator<ProducedFile, void, undefined> {
    const after = await this.#place.takeInventory();
    const changes = this.#before === null ? [] : changedSince(this.#before, after);
    const hasGrown = sizeOf(after) > sizeOf(this.#before);
    this.#before = after;
    this.#excess = sizeOf(after) > this.#maxBytes.workspace ? { hasGrown, reason: this.#describeSize() } : null;
    if (changes.length === 0) return;
    const { file, workspace } = this.#maxBytes;
    const caps = { maxFileBytes: file, maxTotalBytes: workspace, maxFiles: MAX_KEPT_FILES };
    const request = { place: this.#place, changes, sessionId: this.#inner.id, executionId, caps };
    for (const { artifact, ...facts } of await collect(this.#store, request)) {
      yield { ...facts, ...(artifact && { id: artifact.id, sha256: artifact.sha256 }) };
    }
  }

  #isOverdrawn(): boolean {
    const { workspace } = this.#maxBytes;
    return sizeOf(this.#before) > workspace + Math.max(workspace, LEAST_OVERDRAFT);
  }

  #describeSize(): string {
    const [size, limit] = [sizeOf(this.#before), this.#maxBytes.workspace].map((bytes) => Math.ceil(bytes / MEBIBYTE));
    return `the workspace holds ${size} MB, which is more than the ${limit} MB that it may hold`;
  }

  get #place(): Place {
    return placeOf(this.#inner.workspace, this.#maxBytes.file);
  }
}

function sizeOf(inventory: Inventory | null): number {
  return inventory?.allocatedBytes ?? 0;
}
