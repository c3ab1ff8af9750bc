import { randomUUID } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import type { Artifact } from '../../../artifact/artifact.ts';
import {
  changedSince,
  emptyInventory,
  replaceFile,
  takeInventory,
  updateInventory,
  type ChangedFile,
  type FileInventory,
} from '../../../artifact/changes.ts';
import { collect } from '../../../artifact/collect.ts';
import { mimeOf } from '../../../artifact/mime.ts';
import type { ArtifactWriter } from '../../../artifact/store.ts';
import type { Limits } from '../../../config.ts';
import type { EngineSession } from '../../../engine/engine.ts';
import { VivariumError } from '../../../errors.ts';
import type { ProducedFile } from '../../../execution/execution.ts';
import { closing } from '../../../workspace/file-source.ts';
import type { FileSource, FoundFile, Workspace } from '../../../workspace/workspace.ts';
import type { Cancellable } from '../../options.ts';
import type { FileContent, FileFacts, FileList, SessionFiles } from '../../session.ts';
import { RunLateCopies } from './late-copies.ts';

const MAX_KEPT_FILES = 100;
/** From so many files on, asking what was touched is faster than a look at all of them. */
const MANY_FILES = 200;
const MEBIBYTE = 2 ** 20;
/** What copying this much takes is hardly noticed. Larger files are copied after the answer. */
const MAX_BYTES_AT_ONCE = 4 * MEBIBYTE;
/** Code may run in a workspace that is over its limit by this much: a limit is passed before anybody can notice. */
const LEAST_OVERDRAFT = 256 * MEBIBYTE;

/** A workspace above its limit. */
export interface Excess {
  /** Whether the last run made it larger. */
  readonly hasGrown: boolean;
  readonly reason: string;
}

/** The files of a session: what its runs write, and what its owner puts there. */
export class HostedFiles implements SessionFiles {
  readonly #sessionId: string;
  readonly #workspace: Workspace;
  readonly #store: ArtifactWriter;
  readonly #maxBytes: { readonly file: number; readonly workspace: number };
  /** Whether the session ends after its first run, so that nothing need be left there for the next one. */
  readonly isForOneRun: boolean;
  /** Copies that are still made. Whatever may change files waits for them. */
  readonly lateCopies = new RunLateCopies();
  #before: FileInventory | null = null;
  /** What its owner has written, or removed (null), while an inventory was being taken, which may have missed it. */
  #meanwhile: Map<string, FoundFile | null> | null = null;
  /** What else may be writing now: commands. */
  #writers = 0;
  /** Others than runs have changed files since the inventory was taken. */
  #isStale = false;
  #excess: Excess | null = null;
  #notCompared = 0;
  /** A look at what was touched has failed, and nobody will name it again. */
  #mustListAll = false;
  /** Files of our own that could not be removed. */
  readonly #leftovers = new Set<string>();

  constructor(
    { id, workspace }: Pick<EngineSession, 'id' | 'workspace'>,
    store: ArtifactWriter,
    { limits }: { readonly limits: Limits },
    isForOneRun = false,
  ) {
    this.isForOneRun = isForOneRun;
    this.#sessionId = id;
    this.#workspace = workspace;
    this.#store = store;
    this.#maxBytes = { file: limits.fileMb * MEBIBYTE, workspace: limits.workspaceMb * MEBIBYTE };
    if (workspace.startedEmpty) this.#before = emptyInventory(); // the first run need not look
  }

  /** Where the files are, for a reader. */
  get location(): string {
    return this.#workspace.location;
  }

  /** The path by which the session's code opens a file from any working directory; a relative one if no other is known. */
  pathInSession(path: string): string {
    return this.#workspace.pathInSession(path);
  }

  /** Puts a file into the workspace, or replaces one. */
  async upload(path: string, source: FileSource, { signal }: Cancellable = {}): Promise<FileFacts> {
    using _ = closing(source);
    return await this.#write(path, source, { used: sizeOf(await takeInventory(this.#workspace, { signal })), signal });
  }

  /** `upload` for files of our own, between runs. It trusts the inventory that was taken after the last run. */
  put(path: string, source: FileSource): Promise<FileFacts> {
    return this.#write(path, source, { used: this.#before === null ? 0 : sizeOf(this.#before), signal: undefined });
  }

  /** The content of a file as a stream. */
  async download(path: string, { signal }: Cancellable = {}): Promise<FileContent> {
    signal?.throwIfAborted();
    const file = await this.#workspace.open(path);
    const stream = Object.assign(file.stream(), { sizeBytes: file.sizeBytes });
    if (signal?.aborted) stream.destroy(); // nobody will read it
    signal?.throwIfAborted();
    return signal === undefined ? stream : addAbortSignal(signal, stream);
  }

  async list({ signal }: Cancellable = {}): Promise<FileList> {
    signal?.throwIfAborted();
    const { files, skipped, skippedCount, cut } = await this.#workspace.list({ signal });
    const own = files.filter(({ path }) => !this.#leftovers.has(path));
    return { skipped, skippedCount, cut, files: own.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map(present) };
  }

  /** Removes a file, a link or an empty directory. */
  async remove(path: string): Promise<void> {
    await this.#workspace.remove(path);
    this.#note(path, null);
  }

  /** Has a file written that is for the session's owner only: it goes into the store and leaves the workspace. */
  async takeOut(name: string, write: (path: string) => Promise<void>): Promise<Artifact> {
    const id = randomUUID();
    const path = `export-${id}`; // a Jupyter server does not serve names that begin with a dot
    try {
      await write(path);
      await using file = await this.#workspace.open(path);
      return await this.#store.keep(file, { name, sessionId: this.#sessionId, executionId: id });
    } finally {
      await this.discard(path);
    }
  }

  /** Removes a file of our own, if it is still there. If this machine cannot do it now, the next run begins with it. */
  async discard(path: string): Promise<void> {
    try {
      await this.remove(path);
      this.#leftovers.delete(path);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error; // the program removed it, or put something else there
      if (error.code === 'STORAGE_FAILED') this.#leftovers.add(path);
      else this.#leftovers.delete(path);
    }
  }

  /** Files may be others now, and no run that is told about has written them: a rollback has, or init code. */
  onChangedBetweenRuns(): void {
    this.#isStale = true;
  }

  /** Something that is not a run may write from now on, until this is disposed of. What it writes is told with no run. */
  admitWriter(): Disposable {
    this.#writers += 1;
    return {
      [Symbol.dispose]: () => {
        this.#writers -= 1;
        this.#isStale = true;
      },
    };
  }

  /** Remembers what is there for `collect` to compare. There is nothing to do while the last inventory still holds. */
  async beginRun(): Promise<void> {
    for (const path of this.#leftovers) await this.discard(path);
    if (this.#isStale || this.#writers > 0) await this.#findChanges(); // nobody is told of them
    this.#isStale = false;
    this.#before ??= await this.#takeInventory();
    if (this.#isOverdrawn()) this.#before = await this.#takeInventory(); // files may have been removed since
    if (!this.#isOverdrawn()) return;
    throw new VivariumError(
      'FILE_TOO_LARGE',
      `No code runs while ${this.#describeSize()}. Remove files of the session from outside (\`files.remove\`), or close it.`,
    );
  }

  /** Set if the last run that may have written left the workspace above its limit. */
  get excess(): Excess | null {
    return this.#excess;
  }

  /** How many files at least the last `collect` did not look at. Changes to them are not told. */
  get notCompared(): number {
    return this.#notCompared;
  }

  /** What was written since `beginRun`, with a copy of each file kept. */
  async collect(executionId: string): Promise<readonly ProducedFile[]> {
    const sizeBefore = sizeOf(this.#before);
    const changes = (await this.#findChanges()).filter(({ path }) => !this.#leftovers.has(path)); // no run wrote those
    const size = sizeOf(this.#before);
    const hasGrown = size > writtenOut(sizeBefore);
    this.#excess = size > this.#maxBytes.workspace ? { hasGrown, reason: this.#describeSize() } : null;
    if (changes.length === 0) return [];
    const { file, workspace } = this.#maxBytes;
    const caps = {
      maxFileBytes: file,
      maxTotalBytes: workspace,
      maxFiles: MAX_KEPT_FILES,
      maxBytesAtOnce: MAX_BYTES_AT_ONCE,
    };
    const request = { workspace: this.#workspace, changes, sessionId: this.#sessionId, executionId, caps };
    const collected = await collect(this.#store, request);
    this.lateCopies.add(collected.late);
    return collected.files;
  }

  /** The existing files and the new one must fit at the same time, even if it replaces one of them. */
  async #write(
    path: string,
    source: FileSource,
    { used, signal }: { readonly used: number; readonly signal: AbortSignal | undefined },
  ): Promise<FileFacts> {
    const { file, workspace } = this.#maxBytes;
    const room = Math.max(0, workspace - used);
    const sizeBytes = await this.#workspace.write(path, source, {
      maxBytes: Math.min(file, room),
      limit: room < file ? `are left of the ${workspace} of the workspace (\`limits.workspaceMb\`)` : undefined,
      signal,
      onWritten: (written) => this.#note(written.path, written),
    });
    return { path, sizeBytes, mime: mimeOf(path) };
  }

  /** No run wrote or removed it. */
  #note(path: string, file: FoundFile | null): void {
    if (this.#before !== null) replaceFile(this.#before, path, file);
    this.#meanwhile?.set(path, file);
  }

  /** Looks only at what was touched, if somebody knows that, and else at everything. */
  async #findChanges(): Promise<ChangedFile[]> {
    const before = this.#before;
    const isLarge = before !== null && (before.files.size > MANY_FILES || before.cut !== null);
    const touched = isLarge ? ((await this.#workspace.touched?.()) ?? null) : null;
    if (before !== null && touched !== null && !this.#mustListAll) {
      this.#mustListAll = true; // until it has been looked at
      const { inventory, changed } = await updateInventory(before, this.#workspace, touched);
      this.#before = inventory;
      this.#mustListAll = false;
      this.#notCompared = 0;
      return changed;
    }
    const after = (this.#before = await this.#takeInventory());
    this.#mustListAll = false;
    this.#notCompared = after.cut === null ? 0 : Math.max(1, after.unseen ?? 0);
    return before === null ? [] : changedSince(before, after);
  }

  async #takeInventory(): Promise<FileInventory> {
    const meanwhile = (this.#meanwhile = new Map<string, FoundFile | null>());
    try {
      const inventory = await takeInventory(this.#workspace);
      for (const [path, file] of meanwhile) replaceFile(inventory, path, file);
      return inventory;
    } finally {
      this.#meanwhile = null;
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
}

/** On disk if that is known. Of remote files only the lengths are. */
function sizeOf(inventory: FileInventory | null): number {
  if (inventory === null) return 0;
  return inventory.allocatedBytes ?? inventory.files.values().reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
}

/** What files take at most once the kernel has written them out, and with them the blocks that list their blocks. */
function writtenOut(sizeBytes: number): number {
  return sizeBytes + sizeBytes / 256 + 2 ** 16;
}

function present({ path, sizeBytes, mtimeNs }: FoundFile): FileList['files'][number] {
  return { path, sizeBytes, mime: mimeOf(path), modifiedAt: new Date(Number(mtimeNs / 1_000_000n)) };
}
