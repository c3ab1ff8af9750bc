/** How long something can be read after its end, unless there is too much. */
const KEPT_MS = 5 * 60_000;
const SWEEP_MS = 10_000;
/** How much memory everything on a shelf takes. */
const KEPT_BYTES = 64 << 20;

export interface ShelfOptions<T> {
  /** What is in use stays. */
  readonly isInUse: (item: T) => boolean;
  readonly onRemove: (item: T) => void;
  readonly keptBytes?: number;
  readonly keptMs?: number;
}

/** What has ended, and is kept for a while. */
export class Shelf<T> implements Disposable {
  readonly #options: ShelfOptions<T>;
  /** In the order of their ends. */
  readonly #items = new Map<T, { readonly endedMs: number; readonly bytes: number }>();
  readonly #sweeper: NodeJS.Timeout;
  #bytes = 0;

  constructor(options: ShelfOptions<T>) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  put(item: T, bytes: number): void {
    this.#items.set(item, { endedMs: performance.now(), bytes });
    this.#bytes += bytes;
    this.sweep();
  }

  /** Removes what has been here for too long, and then the oldest until the rest fits. */
  sweep(): void {
    const { isInUse, onRemove, keptBytes = KEPT_BYTES, keptMs = KEPT_MS } = this.#options;
    for (const [item, { endedMs, bytes }] of this.#items) {
      if (this.#bytes <= keptBytes && performance.now() - endedMs < keptMs) return;
      if (isInUse(item)) continue;
      this.#items.delete(item);
      this.#bytes -= bytes;
      onRemove(item);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeper);
    for (const item of this.#items.keys()) this.#options.onRemove(item);
    this.#items.clear();
  }
}
