import type { Artifact } from '../../artifact/artifact.ts';
import type { Draft } from '../../artifact/draft.ts';
import type { ArtifactWriter } from '../../artifact/store.ts';

export interface SpillLimits {
  /** Output up to this size is told as it is and needs no file. */
  readonly toldBytes: number;
  /** Size of the file. */
  readonly maxBytes: number;
}

/** All of one output stream of a run, as a file, once it is longer than what is told of it. */
export class Spill implements AsyncDisposable {
  readonly #store: ArtifactWriter;
  readonly #limits: SpillLimits;
  #waiting: string[] = [];
  #totalBytes = 0;
  #draft: Draft | undefined;

  constructor(store: ArtifactWriter, limits: SpillLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Takes time only once there is a file. */
  add(text: string): Promise<void> | void {
    this.#totalBytes += Buffer.byteLength(text);
    if (this.#limits.maxBytes === 0) return undefined;
    if (this.#totalBytes > this.#limits.toldBytes) return this.#write(text);
    this.#waiting.push(text);
    return undefined;
  }

  /** The file, when there had to be one. */
  keep(facts: { name: string; sessionId: string; executionId: string }): Artifact | undefined {
    return this.#draft?.keep({ ...facts, mime: 'text/plain' });
  }

  /** Whether the file has a limit that the output went over. */
  get isCut(): boolean {
    return this.#draft !== undefined && this.#draft.sizeBytes < this.#totalBytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#draft?.[Symbol.asyncDispose]();
  }

  async #write(text: string): Promise<void> {
    this.#draft ??= await this.#store.draft();
    const room = this.#limits.maxBytes - this.#draft.sizeBytes;
    if (room <= 0) return;
    const bytes = Buffer.from(this.#waiting.join('') + text);
    this.#waiting = [];
    await this.#draft.write(bytes.subarray(0, room));
  }
}
