import { randomUUID } from 'node:crypto';
import { constants, mkdirSync, renameSync, rmSync, type ReadStream } from 'node:fs';
import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { VivariumError } from '../errors.ts';
import type { WorkspaceFile } from '../workspace/workspace.ts';
import type { Artifact } from './artifact.ts';
import { Draft, type DraftFacts } from './draft.ts';
import { errnoOf } from '../workspace/errno.ts';
import { ArtifactRows } from './rows.ts';
import { Upkeep } from './upkeep.ts';

/** What a copy can be made of. */
export type Keepable = Pick<WorkspaceFile, 'chunks'>;

export interface KeepFacts extends DraftFacts {
  readonly signal?: AbortSignal | undefined;
}

export interface Retention {
  readonly maxAgeMs?: number | undefined;
  readonly maxTotalBytes?: number | undefined;
}

/** A copy that has not grown for so long belongs to a process that is gone. */
const ABANDONED_MS = 3_600_000;

/** Rows per transaction of a sweep, so that others need not wait for all of it. */
const SWEEP_BATCH = 100;

/**
 * Artifacts on disk: contents in files that are named by their hash, so that equal ones are stored once, and a row for
 * each artifact. A content is put in place, and removed, in the transaction of its row; so processes that share the
 * store never see one without the other, and a process that dies leaves nothing but what `sweep` removes.
 */
export class ArtifactStore implements Disposable {
  readonly #directory: string;
  readonly #retention: Retention;
  #openRows: ArtifactRows | null = null;
  #upkeep: Upkeep | null = null;

  /** While it is open it keeps itself within its retention. */
  constructor(directory: string, retention: Retention = {}) {
    this.#directory = directory;
    this.#retention = retention;
  }

  /** Copies a file into the store, as it is now. */
  async keep(file: Keepable, { signal, ...facts }: KeepFacts): Promise<Artifact> {
    await using draft = await this.draft();
    for await (const chunk of file.chunks()) {
      signal?.throwIfAborted();
      await draft.write(chunk);
    }
    return draft.keep(facts);
  }

  /** A content that is written piece by piece; what is not kept in the end is gone. */
  draft(): Promise<Draft> {
    const rows = this.#rows();
    return Draft.create(path.join(this.#incoming, randomUUID()), (draft, content, facts) => {
      const artifact: Artifact = { id: randomUUID(), createdAt: new Date(), ...facts, ...content };
      const target = this.#contentPath(artifact.sha256);
      mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
      rows.transact(() => {
        renameSync(draft, target);
        rows.insert(artifact);
      });
      this.#upkeep?.added(artifact.sizeBytes);
      return artifact;
    });
  }

  find(id: string): Artifact {
    return this.#rows().find(id) ?? fail(id);
  }

  /** In the order in which they were kept. */
  list({ sessionId }: { readonly sessionId: string }): Artifact[] {
    return this.#rows().ofSession(sessionId);
  }

  /** The content as a stream. What is open stays readable when the artifact is removed. */
  async open(id: string): Promise<ReadStream> {
    const { sha256, sizeBytes } = this.find(id);
    const handle = await this.#openContent(id, sha256);
    const { size } = await handle.stat();
    if (size === sizeBytes) return handle.createReadStream();
    await handle.close(); // a power cut took what had not been written to the disk
    return fail(id);
  }

  remove(id: string): void {
    const rows = this.#rows();
    rows.transact(() => this.#drop(rows, rows.find(id) ?? fail(id)));
  }

  /** `trim`, and removes what processes that died left behind. */
  async sweep(retention: Retention = this.#retention): Promise<{ readonly removed: number }> {
    const rows = this.#rows();
    const trimmed = await this.trim(retention);
    await this.#removeAbandoned();
    await this.#removeOrphans(rows);
    return trimmed;
  }

  /** Removes what is too old, then the oldest until the rest fits. */
  async trim({ maxAgeMs = Infinity, maxTotalBytes = Infinity } = this.#retention): Promise<{
    readonly removed: number;
  }> {
    const rows = this.#rows();
    const keptSince = Date.now() - maxAgeMs;
    let removed = 0;
    for (let count = SWEEP_BATCH; count === SWEEP_BATCH; removed += count) {
      count = rows.transact(() => this.#dropOldest(rows, keptSince, maxTotalBytes));
      await nextTurn();
    }
    return { removed };
  }

  close(): void {
    this.#upkeep?.[Symbol.dispose]();
    this.#upkeep = null;
    this.#openRows?.[Symbol.dispose]();
    this.#openRows = null;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #rows(): ArtifactRows {
    if (this.#openRows === null) {
      mkdirSync(this.#incoming, { recursive: true, mode: 0o700 });
      this.#openRows = new ArtifactRows(path.join(this.#directory, 'artifacts.sqlite'));
      this.#upkeep = new Upkeep(this, this.#retention.maxTotalBytes ?? Infinity);
    }
    return this.#openRows;
  }

  /** Call within a transaction. */
  #dropOldest(rows: ArtifactRows, keptSince: number, maxTotalBytes: number): number {
    let total = Number.isFinite(maxTotalBytes) ? rows.totalBytes() : 0;
    let count = 0;
    for (const artifact of rows.oldest(SWEEP_BATCH)) {
      if (artifact.createdAt.getTime() >= keptSince && total <= maxTotalBytes) break;
      if (this.#drop(rows, artifact)) total -= artifact.sizeBytes;
      count += 1;
    }
    return count;
  }

  /** Call within a transaction. True when the content went with the row. */
  #drop(rows: ArtifactRows, { id, sha256 }: Artifact): boolean {
    rows.delete(id);
    if (rows.isContentUsed(sha256)) return false;
    rmSync(this.#contentPath(sha256), { force: true });
    return true;
  }

  async #removeAbandoned(): Promise<void> {
    const abandonedBefore = Date.now() - ABANDONED_MS;
    for (const name of await namesIn(this.#incoming)) {
      const file = path.join(this.#incoming, name);
      const stats = await stat(file).catch(() => null); // finished meanwhile
      if (stats !== null && stats.mtimeMs < abandonedBefore) await rm(file, { force: true });
    }
  }

  /** Contents without a row: a process died between the two, or its machine did. */
  async #removeOrphans(rows: ArtifactRows): Promise<void> {
    const contents = path.join(this.#directory, 'contents');
    for (const shard of await namesIn(contents)) {
      for (const sha256 of await namesIn(path.join(contents, shard))) {
        if (rows.isContentUsed(sha256)) continue;
        rows.transact(() => {
          if (!rows.isContentUsed(sha256)) rmSync(path.join(contents, shard, sha256), { force: true });
        });
      }
    }
  }

  async #openContent(id: string, sha256: string): Promise<FileHandle> {
    try {
      return await open(this.#contentPath(sha256), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      return fail(id);
    }
  }

  get #incoming(): string {
    return path.join(this.#directory, 'incoming');
  }

  #contentPath(sha256: string): string {
    return path.join(this.#directory, 'contents', sha256.slice(0, 2), sha256);
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return await readdir(directory).catch(() => []); // not there yet, or not any more
}

function fail(id: string): never {
  throw new VivariumError(
    'ARTIFACT_NOT_FOUND',
    `There is no artifact ${JSON.stringify(id.slice(0, 64))}. It may have been removed when its time was over; list those of the session.`,
  );
}
