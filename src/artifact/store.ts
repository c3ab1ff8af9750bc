import { randomUUID } from 'node:crypto';
import { constants, mkdirSync, renameSync, rmSync } from 'node:fs';
import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientOptions, parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { WorkspaceFile } from '../workspace/workspace.ts';
import type { Artifact, Artifacts } from './artifact.ts';
import { Draft, type DraftFacts } from './draft.ts';
import { errnoOf } from '../workspace/errno.ts';
import { ArtifactRows } from './rows.ts';
import { Upkeep } from './upkeep.ts';

/** What a copy can be made from. */
export type Keepable = Pick<WorkspaceFile, 'chunks'>;

export interface KeepFacts extends DraftFacts {
  readonly signal?: AbortSignal | undefined;
}

/** The store as the runs of one client's session use it: what they write belongs to that client. */
export interface ArtifactWriter {
  /** Copies a file into the store, as it is now. */
  keep(file: Keepable, facts: KeepFacts): Promise<Artifact>;
  /** A content that is written piece by piece. */
  draft(): Promise<Draft>;
  open(id: string): Promise<Readable>;
}

export interface Retention {
  readonly maxAgeMs?: number | undefined;
  readonly maxTotalBytes?: number | undefined;
}

/** A draft that has not grown for this long belongs to a process that is gone. */
const ABANDONED_MS = 3_600_000;

/** Rows per transaction of a sweep, so that other processes do not wait for all of it. */
const SWEEP_BATCH = 100;

/**
 * Artifacts on disk: a row for each artifact, and contents in files that are named by their hash, so that equal contents
 * are stored once. A content is moved in and removed in the transaction of its row. Processes that share the store
 * therefore never see one without the other, and what a dying process leaves behind is removed by `sweep`.
 */
export class ArtifactStore implements Artifacts, Disposable {
  readonly #directory: string;
  readonly #retention: Retention;
  #openRows: ArtifactRows | null = null;
  #upkeep: Upkeep | null = null;

  /** While it is open, the store keeps itself within its retention. */
  constructor(directory: string, retention: Retention = {}) {
    this.#directory = directory;
    this.#retention = retention;
  }

  /** What a session of this client writes through; null for a session without a client. */
  writerFor(clientId: string | null): ArtifactWriter {
    return {
      keep: (file, facts) => this.#keep(file, facts, clientId),
      draft: () => this.#draft(clientId),
      open: (id) => this.open(id, clientId === null ? {} : { clientId }),
    };
  }

  async get(id: string, options: ClientOptions = {}): Promise<Artifact> {
    const { clientId } = parse(ClientOptions, options);
    return this.#rows().find(id, clientId) ?? fail(id);
  }

  async list({ sessionId, ...options }: ClientOptions & { readonly sessionId: string }): Promise<Artifact[]> {
    const { clientId } = parse(ClientOptions, options);
    return this.#rows().ofSession(sessionId, clientId);
  }

  async open(id: string, options: ClientOptions = {}): Promise<Readable> {
    const { sha256, sizeBytes } = await this.get(id, options);
    const handle = await this.#openContent(id, sha256);
    const { size } = await handle.stat();
    if (size === sizeBytes) return handle.createReadStream();
    await handle.close(); // a power cut took what had not been written to the disk
    return fail(id);
  }

  async remove(id: string, options: ClientOptions = {}): Promise<void> {
    const { clientId } = parse(ClientOptions, options);
    const rows = this.#rows();
    rows.transact(() => this.#drop(rows, rows.find(id, clientId) ?? fail(id)));
  }

  /** `trim`, and removes what dead processes left behind. */
  async sweep(retention: Retention = this.#retention): Promise<{ readonly removed: number }> {
    const rows = this.#rows();
    const trimmed = await this.trim(retention);
    await this.#removeAbandoned();
    await this.#removeOrphans(rows);
    return trimmed;
  }

  /** Removes what is too old, then the oldest artifacts until the rest fits. */
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

  async #keep(file: Keepable, { signal, ...facts }: KeepFacts, clientId: string | null): Promise<Artifact> {
    await using draft = await this.#draft(clientId);
    for await (const chunk of file.chunks()) {
      signal?.throwIfAborted();
      await draft.write(chunk);
    }
    return draft.keep(facts);
  }

  #draft(clientId: string | null): Promise<Draft> {
    const rows = this.#rows();
    return Draft.create(path.join(this.#incoming, randomUUID()), (draft, description) =>
      this.#admit(rows, draft, { id: randomUUID(), createdAt: new Date(), ...description, clientId }),
    );
  }

  #admit(rows: ArtifactRows, draft: string, artifact: Artifact): Artifact {
    const target = this.#contentPath(artifact.sha256);
    mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
    rows.transact(() => {
      renameSync(draft, target);
      rows.insert(artifact);
    });
    this.#upkeep?.added(artifact.sizeBytes);
    return artifact;
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

  /** Call within a transaction. True when the content was removed with the row. */
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
      const stats = await stat(file).catch(() => null); // it was completed meanwhile
      if (stats !== null && stats.mtimeMs < abandonedBefore) await rm(file, { force: true });
    }
  }

  /** Contents without a row: a process, or the machine, died between moving the file and writing the row. */
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
  return await readdir(directory).catch(() => []); // it does not exist yet, or was removed
}

function fail(id: string): never {
  throw new VivariumError(
    'ARTIFACT_NOT_FOUND',
    `There is no artifact ${JSON.stringify(id.slice(0, 64))}. It may have been removed at the end of its retention. List the artifacts of the session.`,
  );
}
