import type { Artifact } from '../../../artifact/artifact.ts';
import type { Draft } from '../../../artifact/draft.ts';
import { messageOf } from '../../../artifact/failure.ts';
import type { ArtifactWriter } from '../../../artifact/store.ts';

export interface OutputFileLimits {
  /** Output up to this size is in the result as a whole, and needs no file. */
  readonly inlineBytes: number;
  /** The largest size of the file; 0 if there is to be none. */
  readonly maxBytes: number;
}

/** All of one output stream of a run as a file, once the stream is too long for the result. */
export class OutputFile implements AsyncDisposable {
  readonly #store: ArtifactWriter;
  readonly #limits: OutputFileLimits;
  #waiting: string[] = [];
  #totalBytes = 0;
  #draft: Draft | undefined;
  /** Why there is no file although there should be one. */
  #notKept: string | null = null;

  constructor(store: ArtifactWriter, limits: OutputFileLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Takes time only once there is a file. */
  add(text: string): Promise<void> | void {
    this.#totalBytes += Buffer.byteLength(text);
    if (this.#limits.maxBytes === 0) return undefined;
    if (this.#totalBytes > this.#limits.inlineBytes) return this.#write(text);
    this.#waiting.push(text);
    return undefined;
  }

  /** Keeps the file, if there is one. */
  async keep(facts: { name: string; sessionId: string; executionId: string }): Promise<Artifact | undefined> {
    try {
      return await this.#draft?.keep({ ...facts, mime: 'text/plain' });
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Why the output is not kept, and how large it was; null if it is or if there was no need. */
  get loss(): { readonly sizeBytes: number; readonly notKept: string } | null {
    return this.#notKept === null ? null : { sizeBytes: this.#totalBytes, notKept: this.#notKept };
  }

  /** Whether the output was larger than the file may be. */
  get isCut(): boolean {
    return this.#draft !== undefined && this.#draft.sizeBytes < this.#totalBytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#draft?.[Symbol.asyncDispose]();
  }

  /** A failure costs the file. It must not reach the program, which goes on printing. */
  async #write(text: string): Promise<void> {
    if (this.#notKept !== null) return;
    try {
      this.#draft ??= await this.#store.draft();
      const room = this.#limits.maxBytes - this.#draft.sizeBytes;
      if (room <= 0) return;
      const bytes = Buffer.from(this.#waiting.join('') + text);
      this.#waiting = [];
      await this.#draft.write(bytes.subarray(0, room));
    } catch (error) {
      this.#fail(error);
      await this[Symbol.asyncDispose]();
      this.#draft = undefined;
    }
  }

  #fail(error: unknown): void {
    this.#waiting = [];
    this.#notKept = messageOf(error);
  }
}
