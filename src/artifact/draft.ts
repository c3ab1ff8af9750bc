import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { Artifact } from './artifact.ts';
import { mimeOf } from './mime.ts';

/** What the writer of a draft says of it. */
export interface DraftFacts {
  readonly name: string;
  /** Found from the name unless it is given. */
  readonly mime?: string;
  readonly sessionId: string;
  readonly executionId: string;
}

/** What the draft itself knows when it is complete. */
type DraftDescription = Omit<Artifact, 'id' | 'createdAt' | 'clientId'>;

/** Moves a complete draft, which lies at this path, into the store. */
type Admit = (path: string, description: DraftDescription) => Artifact;

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
    await this.#handle.writeFile(bytes);
    this.#sizeBytes += bytes.length;
  }

  /** Completes the draft: it becomes an artifact. What is disposed before that is removed. */
  keep({ name, mime = mimeOf(name), sessionId, executionId }: DraftFacts): Artifact {
    const content = { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
    const artifact = this.#admit(this.#path, { ...content, name, mime, sessionId, executionId });
    this.#isKept = true;
    return artifact;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
    if (!this.#isKept) await rm(this.#path, { force: true });
  }
}
