const HIGH_WATER = 1 << 20;
const LAST_WORDS = 8 << 20;

export interface EventQueueOptions<T> {
  /** Nothing further is told while what it returns is pending; who throws is told no more. */
  readonly hear: (item: T) => Promise<void> | void;
  /** The producer is to pause, or may go on. */
  readonly onPressure: (isFull: boolean) => void;
  /** The listener has thrown: whatever comes is for nobody. */
  readonly onLeft: () => void;
  readonly highWater?: number;
}

/** Items between a producer that can be paused and a listener that may take its time. A listener that takes none hears them at once. */
export class EventQueue<T> {
  readonly #options: EventQueueOptions<T>;
  readonly #highWater: number;
  readonly #waiting: { item: T; size: number }[] = [];
  #size = 0;
  #isFull = false;
  #room = Number.POSITIVE_INFINITY;
  #telling: Promise<void> | null = null;
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
    if (this.#telling === null) {
      this.#tell(item);
      return;
    }
    this.#waiting.push({ item, size });
    this.#size += size;
    if (!this.#isFull && this.#size > this.#highWater && this.#room === Number.POSITIVE_INFINITY) this.#setFull(true);
  }

  /** The producer is told to end, and must not wait for the listener any more: what is above a bound is not kept. */
  hurry(): void {
    this.#room = Math.min(this.#room, LAST_WORDS);
    if (this.#isFull) this.#setFull(false);
  }

  get isHeard(): boolean {
    return this.#telling === null && this.#failure === null;
  }

  /** Waits until everything was heard. Throws what the listener has thrown. */
  async heard(): Promise<void> {
    while (this.#telling !== null) await this.#telling;
    if (this.#failure !== null) throw this.#failure.error;
  }

  #tell(item: T): void {
    try {
      const pending = this.#options.hear(item);
      if (pending !== undefined) this.#telling = this.#tellOn(pending);
    } catch (error) {
      this.#leave(error);
    }
  }

  /** Tells what came while the listener was busy. */
  async #tellOn(pending: Promise<void>): Promise<void> {
    try {
      await pending;
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#size -= next.size;
        if (this.#isFull && this.#size < this.#highWater / 2) this.#setFull(false);
        await this.#options.hear(next.item);
      }
    } catch (error) {
      this.#leave(error);
    }
    this.#telling = null;
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
