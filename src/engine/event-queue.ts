const HIGH_WATER = 1 << 20;
const MAX_BYTES_AFTER_HURRY = 8 << 20;

export interface EventQueueOptions<T> {
  /** Gets no further item while the promise it returned is pending. If it throws, it gets none any more. */
  readonly listener: (item: T) => Promise<void> | void;
  /** The producer should pause, or may go on. */
  readonly onPressure: (isFull: boolean) => void;
  /** The listener has thrown, so nobody wants further items. */
  readonly onLeft: () => void;
  readonly highWater?: number;
}

/** Items between a producer that can be paused and a listener that may be slow. A fast listener gets them at once. */
export class EventQueue<T> {
  readonly #options: EventQueueOptions<T>;
  readonly #highWater: number;
  readonly #waiting: { item: T; size: number }[] = [];
  #size = 0;
  #isFull = false;
  #room = Number.POSITIVE_INFINITY;
  #delivering: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(options: EventQueueOptions<T>) {
    this.#options = options;
    this.#highWater = options.highWater ?? HIGH_WATER;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  push(item: T, size: number): void {
    this.#room -= size;
    if (this.#room < 0 || this.#failure !== null) return;
    if (this.#delivering === null) {
      this.#deliver(item);
      return;
    }
    this.#waiting.push({ item, size });
    this.#size += size;
    if (!this.#isFull && this.#size > this.#highWater && this.#room === Number.POSITIVE_INFINITY) this.#setFull(true);
  }

  /** Takes back items that still wait, the newest first. `isFirst` ends it, and is taken back as well. */
  retract(isObsolete: (item: T) => boolean, isFirst: (item: T) => boolean): void {
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const { item, size } = this.#waiting[index] as { item: T; size: number };
      const isLast = isFirst(item);
      if (isLast || isObsolete(item)) {
        this.#waiting.splice(index, 1);
        this.#size -= size;
      }
      if (isLast) break;
    }
    if (this.#isFull && this.#size < this.#highWater / 2) this.#setFull(false);
  }

  /** The producer is about to end and must not wait for the listener any more. Items above a bound are dropped. */
  hurry(): void {
    this.#room = Math.min(this.#room, MAX_BYTES_AFTER_HURRY);
    if (this.#isFull) this.#setFull(false);
  }

  /** Whether the listener has received everything. */
  get isDelivered(): boolean {
    return this.#delivering === null && this.#failure === null;
  }

  /** Waits until the listener has received everything. Throws what the listener has thrown. */
  async delivered(): Promise<void> {
    while (this.#delivering !== null) await this.#delivering;
    if (this.#failure !== null) throw this.#failure.error;
  }

  #deliver(item: T): void {
    try {
      const pending = this.#options.listener(item);
      if (pending !== undefined) this.#delivering = this.#deliverRest(pending);
    } catch (error) {
      this.#leave(error);
    }
  }

  /** Delivers what came while the listener was busy. */
  async #deliverRest(pending: Promise<void>): Promise<void> {
    try {
      await pending;
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#size -= next.size;
        if (this.#isFull && this.#size < this.#highWater / 2) this.#setFull(false);
        await this.#options.listener(next.item);
      }
    } catch (error) {
      this.#leave(error);
    }
    this.#delivering = null;
  }

  #leave(error: unknown): void {
    this.#failure = { error };
    this.#waiting.length = 0;
    if (this.#isFull) this.#setFull(false);
    this.#options.onLeft();
  }

  #setFull(isFull: boolean): void {
    this.#isFull = isFull;
    this.#options.onPressure(isFull);
  }
}
