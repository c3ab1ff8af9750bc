/** Ages are in days: it does not have to be the minute. */
const INTERVAL_MS = 3_600_000;
/** What may be added before somebody looks whether it still fits. */
const SHARE = 1 / 16;

export interface UpkeepWork {
  /** Removes everything that is to be removed. */
  sweep(): Promise<unknown>;
  /** Removes only what is too old or too much. */
  trim(): Promise<unknown>;
}

/**
 * Has a store put in order while it is in use: once an hour, and whenever much was added. Keeps no process alive, and
 * what fails is tried again the next time: nobody waits for it.
 */
export class Upkeep implements Disposable {
  readonly #work: UpkeepWork;
  readonly #allowedBytes: number;
  readonly #timer: NodeJS.Timeout;
  #addedBytes = 0;
  #isAtWork = false;

  constructor(work: UpkeepWork, maxTotalBytes: number) {
    this.#work = work;
    this.#allowedBytes = maxTotalBytes * SHARE;
    this.#timer = setInterval(() => void this.#do('sweep'), INTERVAL_MS).unref();
  }

  added(bytes: number): void {
    this.#addedBytes += bytes;
    if (this.#addedBytes > this.#allowedBytes) void this.#do('trim');
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #do(what: keyof UpkeepWork): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    this.#addedBytes = 0;
    await this.#work[what]().catch(() => undefined);
    this.#isAtWork = false;
    if (this.#addedBytes > this.#allowedBytes) void this.#do('trim');
  }
}
