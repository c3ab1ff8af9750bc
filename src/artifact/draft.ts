import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { Artifact } from './artifact.ts';
import { storeFailure } from './failure.ts';
import { mimeOf } from './mime.ts';

/** What the writer of a draft says of it. */
export interface DraftFacts {
  /** The id that was promised for it, if one was. */
  readonly id?: string | undefined;
  readonly name: string;
  /** Found from the name unless it is given. */
  readonly mime?: string;
  readonly sessionId: string;
  readonly executionId: string;
}

/** What the draft itself knows when it is complete. */
type DraftDescription = Omit<Artifact, 'id' | 'createdAt' | 'clientId'> & Pick<DraftFacts, 'id'>;

/** Moves a complete draft, which lies at this path, into the store. */
type Admit = (path: string, description: DraftDescription) => Promise<Artifact>;

/** A content on its way into the store. It is hashed while it is written, since its source may change meanwhile. */
export class Draft implements AsyncDisposable {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #admit: Admit;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;
  #isKept = false;

  private constructor(path: string, handle: FileHandle, admit: Admit) {
    this.#path = path;
    this.#handle = handle;
    this.#admit = admit;
  }

  static async create(path: string, admit: Admit): Promise<Draft> {
    return new Draft(path, await open(path, 'wx', 0o600), admit);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    try {
      await this.#handle.writeFile(bytes);
    } catch (error) {
      throw storeFailure(error);
    }
    this.#sizeBytes += bytes.length;
  }

  /** Completes the draft: it becomes an artifact. What is disposed before that is removed. */
  async keep({ id, name, mime = mimeOf(name), sessionId, executionId }: DraftFacts): Promise<Artifact> {
    const content = { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
    const artifact = await this.#admit(this.#path, { ...content, id, name, mime, sessionId, executionId });
    this.#isKept = true;
    return artifact;
  }

  /** Never fails: what cannot be removed now is removed by a sweep. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close().catch(() => undefined); // a disk that fails, fails every close
    if (!this.#isKept) await rm(this.#path, { force: true }).catch(() => undefined);
  }
}
