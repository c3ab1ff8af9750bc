import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { Artifact } from './artifact.ts';
import { mimeOf } from './mime.ts';

/** What whoever writes a draft says of it. */
export interface DraftFacts {
  readonly name: string;
  /** By the name, if nothing else is said. */
  readonly mime?: string;
  readonly sessionId: string;
  readonly executionId: string;
}

type Content = Pick<Artifact, 'sizeBytes' | 'sha256'>;
type About = Omit<Artifact, keyof Content | 'id' | 'createdAt'>;
type Store = (draft: string, content: Content, about: About) => Artifact;

/** A content on its way into the store. It is hashed as it is written: what it came from may change meanwhile. */
export class Draft implements AsyncDisposable {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #store: Store;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;
  #isKept = false;

  private constructor(path: string, handle: FileHandle, store: Store) {
    this.#path = path;
    this.#handle = handle;
    this.#store = store;
  }

  static async create(path: string, store: Store): Promise<Draft> {
    return new Draft(path, await open(path, 'wx', 0o600), store);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    await this.#handle.writeFile(bytes);
    this.#sizeBytes += bytes.length;
  }

  keep({ name, mime = mimeOf(name), sessionId, executionId }: DraftFacts): Artifact {
    const content = { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
    const artifact = this.#store(this.#path, content, { name, mime, sessionId, executionId });
    this.#isKept = true;
    return artifact;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
    if (!this.#isKept) await rm(this.#path, { force: true });
  }
}
