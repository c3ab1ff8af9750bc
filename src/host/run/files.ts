import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Artifact } from '../../artifact/artifact.ts';
import { changedSince, emptyInventory, type Inventory } from '../../artifact/changes.ts';
import { collect } from '../../artifact/collect.ts';
import type { FileFacts, FileList, FileSource } from '../../artifact/files.ts';
import { mimeOf } from '../../artifact/mime.ts';
import { placeOf, type Place } from '../../artifact/place/place.ts';
import type { FoundFile } from '../../artifact/place/walk.ts';
import type { ArtifactWriter } from '../../artifact/store.ts';
import type { EngineSession } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { ProducedFile } from '../../execution/execution.ts';
import type { Cancellable, SessionSettings } from '../options.ts';
import type { SessionFiles } from '../session.ts';

const MAX_KEPT_FILES = 100;
/** Where a session with a root of its own finds its files. */
const WORKSPACE = '/workspace';
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
export class HostedFiles implements SessionFiles {
  readonly #inner: EngineSession;
  readonly #store: ArtifactWriter;
  readonly #maxBytes: { readonly file: number; readonly workspace: number };
  /** No run comes after the first: what is put there for the next one would be for nobody. */
  readonly isForOneRun: boolean;
  #before: Inventory | null = null;
  /** What its owner has put there while the inventory that is being taken may have missed it. */
  #placedMeanwhile: FoundFile[] | null = null;
  #excess: Excess | null = null;

  constructor(inner: EngineSession, store: ArtifactWriter, { limits }: SessionSettings, isForOneRun = false) {
    this.isForOneRun = isForOneRun;
    this.#inner = inner;
    this.#store = store;
    this.#maxBytes = { file: limits.fileMb * 2 ** 20, workspace: limits.workspaceMb * 2 ** 20 };
    const { workspace } = inner;
    if ('path' in workspace && workspace.wasBornEmpty) this.#before = emptyInventory(); // the first run need not look
  }

  /** Where they are, for a reader. */
  get location(): string {
    const { workspace } = this.#inner;
    return 'path' in workspace ? workspace.path : workspace.location;
  }

  /** What the session's code opens it by, whatever its working directory; relative where no more is known. */
  pathInSession(path: string): string {
    const { workspace, isolation } = this.#inner;
    if (isolation.files === 'private-root') return posix.join(WORKSPACE, path);
    return 'path' in workspace ? posix.join(workspace.path, path) : path;
  }

  /** Puts a file into the workspace, or replaces one. */
  async upload(path: string, source: FileSource, { signal }: Cancellable = {}): Promise<FileFacts> {
    return this.#upload(path, source, { used: sizeOf(await this.#place.takeInventory(signal)), signal });
  }

  /** `upload` for what is ours, between runs: what was found after the last one is what is there. */
  put(path: string, source: FileSource): Promise<FileFacts> {
    return this.#upload(path, source, { used: this.#before === null ? 0 : sizeOf(this.#before), signal: undefined });
  }

  /** The content of a file as a stream. */
  async download(path: string, { signal }: Cancellable = {}): Promise<Readable> {
    signal?.throwIfAborted();
    const file = await this.#place.open(path);
    const stream = file.stream();
    return signal === undefined ? stream : addAbortSignal(signal, stream);
  }

  async list({ signal }: Cancellable = {}): Promise<FileList> {
    signal?.throwIfAborted();
    return this.#place.list(signal);
  }

  /** Removes a file, a link or an empty directory. */
  remove(path: string): Promise<void> {
    return this.#place.remove(path);
  }

  /** Has a file written that is for its owner alone: it goes into the store and leaves the workspace. */
  async takeOut(name: string, write: (path: string) => Promise<void>): Promise<Artifact> {
    const id = randomUUID();
    const path = `export-${id}`; // a Jupyter server does not serve names that begin with a dot
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
    this.#before ??= await this.#takeInventory();
    if (this.#isOverdrawn()) this.#before = await this.#takeInventory(); // somebody may have removed files
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
  async produced(executionId: string): Promise<ProducedFile[]> {
    const after = await this.#takeInventory();
    const changes = this.#before === null ? [] : changedSince(this.#before, after);
    const hasGrown = sizeOf(after) > sizeOf(this.#before);
    this.#before = after;
    this.#excess = sizeOf(after) > this.#maxBytes.workspace ? { hasGrown, reason: this.#describeSize() } : null;
    if (changes.length === 0) return [];
    const { file, workspace } = this.#maxBytes;
    const caps = { maxFileBytes: file, maxTotalBytes: workspace, maxFiles: MAX_KEPT_FILES };
    const request = { place: this.#place, changes, sessionId: this.#inner.id, executionId, caps };
    const collected = await collect(this.#store, request);
    return collected.map(({ artifact, ...facts }) => ({
      ...facts,
      ...(artifact && { id: artifact.id, sha256: artifact.sha256 }),
    }));
  }

  /** What is there and what is on its way must fit at the same time, also where one replaces the other. */
  #upload(
    path: string,
    source: FileSource,
    { used, signal }: { readonly used: number; readonly signal: AbortSignal | undefined },
  ): Promise<FileFacts> {
    const { file, workspace } = this.#maxBytes;
    const room = Math.max(0, workspace - used);
    return this.#place.upload(path, {
      source,
      maxBytes: Math.min(file, room),
      limit: room < file ? `are left of the ${workspace} of the workspace (\`limits.workspaceMb\`)` : undefined,
      signal,
      onPlaced: (placed) => {
        this.#before?.files.set(placed.path, placed); // it is not the doing of a run
        this.#placedMeanwhile?.push(placed);
      },
    });
  }

  async #takeInventory(): Promise<Inventory> {
    const placed: FoundFile[] = (this.#placedMeanwhile = []);
    try {
      const inventory = await this.#place.takeInventory();
      for (const file of placed) inventory.files.set(file.path, file);
      return inventory;
    } finally {
      this.#placedMeanwhile = null;
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

/** On disk; of files elsewhere nobody knows more than their lengths. */
function sizeOf(inventory: Inventory | null): number {
  if (inventory === null) return 0;
  return inventory.allocatedBytes ?? inventory.files.values().reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
}
