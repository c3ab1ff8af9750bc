/** Retention is counted in days, so an hour more does not matter. */
const INTERVAL_MS = 3_600_000;
/** The share of the allowed size that may be added before the size is checked again. */
const SHARE = 1 / 16;

export interface UpkeepWork {
  /** Removes everything that should go, including what dead processes left. */
  sweep(): Promise<unknown>;
  /** Removes only what is too old or does not fit. */
  trim(): Promise<unknown>;
}

/**
 * Keeps a store within its retention while it is open: once an hour, and whenever much was added. It does not keep the
 * process alive. A failure is ignored, since the next round tries again.
 */
export class Upkeep implements Disposable {
  readonly #work: UpkeepWork;
  readonly #allowedBytes: number;
  readonly #timer: NodeJS.Timeout;
  #addedBytes = 0;
  #isWorking = false;

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
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#addedBytes = 0;
    await this.#work[what]().catch(() => undefined);
    this.#isWorking = false;
    if (this.#addedBytes > this.#allowedBytes) void this.#do('trim');
  }
}
