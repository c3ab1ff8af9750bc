import { randomUUID } from 'node:crypto';
import { constants, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientOptions, parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import { Patience } from '../sqlite.ts';
import type { WorkspaceFile } from '../workspace/workspace.ts';
import type { Artifact, Artifacts } from './artifact.ts';
import { Draft, type DraftFacts } from './draft.ts';
import { storeFailure } from './failure.ts';
import { LateCopies } from './late-copies.ts';
import { errnoOf } from '../workspace/errno.ts';
import { ArtifactRows } from './rows.ts';
import { Upkeep } from './upkeep.ts';

/** What a copy can be made from. */
export type Keepable = Pick<WorkspaceFile, 'chunks'>;

/** Its size is told before the copy is made. */
type LateKeepable = Pick<WorkspaceFile, 'chunks' | 'sizeBytes'> & AsyncDisposable;

export interface KeepFacts extends DraftFacts {
  readonly signal?: AbortSignal | undefined;
}

/** A copy that is made after the answer of its run. The id is final; `done` fails if there will be no artifact. */
export interface LateCopy {
  readonly id: string;
  readonly done: Promise<Artifact>;
}

/** The store as the runs of one client's session use it: what they write belongs to that client. */
export interface ArtifactWriter {
  /** Copies a file into the store, as it is now. */
  keep(file: Keepable, facts: KeepFacts): Promise<Artifact>;
  /** Same as `keep`, in the background. Opening the artifact waits for the copy. The store closes the file. */
  keepLater(file: LateKeepable, facts: DraftFacts): LateCopy;
  /** A content that is written piece by piece. */
  draft(): Promise<Draft>;
  open(id: string): Promise<Readable>;
}

export interface Retention {
  readonly maxAgeMs?: number | undefined;
  readonly maxTotalBytes?: number | undefined;
}

interface OpenRows {
  readonly rows: ArtifactRows;
  /** Of the database, by which a replaced one is noticed. */
  readonly inode: bigint | null;
}

/** The longest wait for another process that writes. Its transactions take milliseconds, and answers of runs wait for it. */
const PATIENCE_MS = 2000;

/** A draft that has not grown for this long belongs to a process that is gone. */
const ABANDONED_MS = 3_600_000;

/** Rows per transaction of a sweep, so that other processes do not wait for all of it. */
const SWEEP_BATCH = 100;

/**
 * Artifacts on disk: a row for each artifact, and contents in files that are named by their hash, so that equal contents
 * are stored once. A content is moved in and removed in the transaction of its row. Processes that share the store
 * therefore never see one without the other, and what a dying process leaves behind is removed by `sweep`. Whatever the
 * disk or the database does, callers get a `STORAGE_FAILED`.
 */
export class ArtifactStore implements Artifacts, AsyncDisposable {
  readonly #directory: string;
  readonly #retention: Retention;
  readonly #late = new LateCopies();
  readonly #patience = new Patience(PATIENCE_MS);
  #opening: Promise<OpenRows> | null = null;
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
      keepLater: (file, facts) => this.#keepLater(file, facts, clientId),
      draft: () => this.#draft(clientId),
      open: (id) => this.open(id, clientId === null ? {} : { clientId }),
    };
  }

  async get(id: string, options: ClientOptions = {}): Promise<Artifact> {
    const { clientId } = parse(ClientOptions, options);
    await this.#late.settled(id, clientId);
    return this.#use((rows) => rows.whenFree(() => rows.find(id, clientId) ?? fail(id)));
  }

  async list({ sessionId, ...options }: ClientOptions & { readonly sessionId: string }): Promise<Artifact[]> {
    const { clientId } = parse(ClientOptions, options);
    await this.#late.settledOf(sessionId);
    return this.#use((rows) => rows.whenFree(() => rows.ofSession(sessionId, clientId)));
  }

  async open(id: string, options: ClientOptions = {}): Promise<Readable> {
    const { sha256, sizeBytes } = await this.get(id, options);
    return this.#use(async () => {
      await using stack = new AsyncDisposableStack();
      const handle = stack.use(await this.#openContent(id, sha256));
      const { size } = await handle.stat();
      if (size !== sizeBytes) return fail(id); // a power cut took what had not been written to the disk
      stack.move(); // the stream owns it now
      return handle.createReadStream();
    });
  }

  async remove(id: string, options: ClientOptions = {}): Promise<void> {
    const { clientId } = parse(ClientOptions, options);
    await this.#late.settled(id, clientId);
    await this.#use((rows) => rows.transact(() => this.#drop(rows, rows.find(id, clientId) ?? fail(id))));
  }

  /** `trim`, and removes what dead processes left behind. */
  async sweep(retention: Retention = this.#retention): Promise<{ readonly removed: number }> {
    return this.#use(async (rows) => {
      const trimmed = await this.trim(retention);
      await this.#removeAbandoned();
      await this.#removeOrphans(rows);
      return trimmed;
    });
  }

  /** Removes what is too old, then the oldest artifacts of the largest client until the rest fits. */
  async trim({ maxAgeMs = Infinity, maxTotalBytes = Infinity } = this.#retention): Promise<{
    readonly removed: number;
  }> {
    return this.#use(async (rows) => {
      const keptSince = Date.now() - maxAgeMs;
      let removed = 0;
      for (let count = SWEEP_BATCH; count === SWEEP_BATCH; removed += count) {
        count = await rows.transact(() => this.#dropOldest(rows, keptSince, maxTotalBytes));
        await nextTurn();
      }
      return { removed };
    });
  }

  /** Waits for copies that are under way. The store opens again when it is used again. */
  async close(): Promise<void> {
    await this.#late.close();
    const opening = this.#opening;
    this.#opening = null;
    this.#upkeep?.[Symbol.dispose]();
    this.#upkeep = null;
    await opening?.then(({ rows }) => rows[Symbol.dispose]()).catch(() => undefined); // it could not be opened
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #keep(file: Keepable, { signal, ...facts }: KeepFacts, clientId: string | null): Promise<Artifact> {
    await using draft = await this.#draft(clientId);
    for await (const chunk of file.chunks()) {
      signal?.throwIfAborted();
      await draft.write(chunk);
    }
    return await draft.keep(facts);
  }

  #keepLater(file: LateKeepable, facts: DraftFacts, clientId: string | null): LateCopy {
    const { id = randomUUID(), name, sessionId } = facts;
    const done = this.#late.add({ id, name, sessionId, clientId }, async (signal) => {
      await using source = file;
      return await this.#keep({ chunks: () => whole(source, name) }, { ...facts, id, signal }, clientId);
    });
    return { id, done };
  }

  #draft(clientId: string | null): Promise<Draft> {
    return this.#use(async (rows) => {
      const create = (): Promise<Draft> =>
        Draft.create(path.join(this.#incoming, randomUUID()), (draft, { id = randomUUID(), ...description }) =>
          this.#admit(rows, draft, { id, createdAt: new Date(), ...description, clientId }),
        );
      return await create().catch((error: unknown) => {
        if (errnoOf(error) !== 'ENOENT') throw error;
        this.#makeDirectories(); // somebody removed it
        return create();
      });
    });
  }

  async #admit(rows: ArtifactRows, draft: string, artifact: Artifact): Promise<Artifact> {
    const target = this.#contentPath(artifact.sha256);
    let isNew = false;
    const move = (): void => {
      isNew = !rows.isContentUsed(artifact.sha256);
      renameSync(draft, target);
      rows.insert(artifact);
    };
    try {
      mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
      await rows.transact(move, () => isNew && rmSync(target, { force: true }));
    } catch (error) {
      throw storeFailure(error);
    }
    this.#upkeep?.added(artifact.sizeBytes);
    return artifact;
  }

  /** Does something with the rows. Every failure of the disk or the database is told in our words. */
  async #use<T>(work: (rows: ArtifactRows) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#rows());
    } catch (error) {
      throw storeFailure(error);
    }
  }

  /** Opens the database again if somebody has removed or replaced it: rows for the old one would be lost. */
  async #rows(): Promise<ArtifactRows> {
    const known = this.#opening;
    const { rows, inode } = await (known ?? this.#open());
    if (known === null || inode === inodeOf(this.#file)) return rows;
    if (this.#opening === known) {
      this.#opening = null;
      rows[Symbol.dispose]();
    }
    return this.#rows();
  }

  /** Callers that come at once share one connection. One that failed is tried again by the next caller. */
  async #open(): Promise<OpenRows> {
    const opening = (this.#opening = this.#connect());
    try {
      return await opening;
    } catch (error) {
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
  }

  async #connect(): Promise<OpenRows> {
    this.#makeDirectories();
    const rows = await ArtifactRows.open(this.#file, this.#patience);
    this.#upkeep ??= new Upkeep(this, this.#retention.maxTotalBytes ?? Infinity);
    return { rows, inode: inodeOf(this.#file) };
  }

  #makeDirectories(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    try {
      mkdirSync(this.#incoming, 0o700); // not `recursive`: that calls a read-only disk a missing directory
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }

  /** Call within a transaction. */
  #dropOldest(rows: ArtifactRows, keptSince: number, maxTotalBytes: number): number {
    let count = 0;
    for (const artifact of rows.oldest(SWEEP_BATCH)) {
      if (artifact.createdAt.getTime() >= keptSince) break;
      this.#drop(rows, artifact);
      count += 1;
    }
    return count === SWEEP_BATCH || !Number.isFinite(maxTotalBytes)
      ? count
      : count + this.#dropLargest(rows, maxTotalBytes, SWEEP_BATCH - count);
  }

  /** The client that uses most gives up its oldest first, so that nobody can push out what others keep. */
  #dropLargest(rows: ArtifactRows, maxTotalBytes: number, most: number): number {
    const shares = rows.bytesByClient();
    const oldest = new Map<string | null, Artifact[]>();
    let total = rows.totalBytes();
    let count = 0;
    while (total > maxTotalBytes && count < most && shares.size > 0) {
      const [clientId, bytes] = [...shares].reduce((largest, next) => (next[1] > largest[1] ? next : largest));
      const own = oldest.get(clientId) ?? rows.oldestOf(clientId, most);
      oldest.set(clientId, own);
      const artifact = own.shift();
      if (artifact === undefined) shares.delete(clientId);
      else {
        if (this.#drop(rows, artifact)) total -= artifact.sizeBytes;
        shares.set(clientId, bytes - artifact.sizeBytes);
        count += 1;
      }
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
        if (await rows.whenFree(() => rows.isContentUsed(sha256))) continue;
        await rows.transact(() => {
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

  get #file(): string {
    return path.join(this.#directory, 'artifacts.sqlite');
  }

  get #incoming(): string {
    return path.join(this.#directory, 'incoming');
  }

  #contentPath(sha256: string): string {
    return path.join(this.#directory, 'contents', sha256.slice(0, 2), sha256);
  }
}

function inodeOf(file: string): bigint | null {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
}

async function namesIn(directory: string): Promise<string[]> {
  return await readdir(directory).catch(() => []); // it does not exist yet, or was removed
}

/** All that was promised, or an error: a process of the session may go on writing after the answer. */
async function* whole(file: LateKeepable, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of file.chunks()) {
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes === file.sizeBytes) return;
  throw new VivariumError('FILE_REFUSED', `"${name}" shrank while it was copied. Write it again.`);
}

function fail(id: string): never {
  throw new VivariumError(
    'ARTIFACT_NOT_FOUND',
    `There is no artifact ${JSON.stringify(id.slice(0, 64))}. It may have been removed at the end of its retention. List the artifacts of the session.`,
  );
}
