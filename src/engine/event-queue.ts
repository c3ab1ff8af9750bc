const HIGH_WATER = 1 << 20;
const LAST_WORDS = 8 << 20;

/** Items between a producer that can be paused and a consumer that pulls. */
export class EventQueue<T> {
  readonly #items: { item: T; size: number }[] = [];
  readonly #onPressure: (isFull: boolean) => void;
  readonly #highWater: number;
  #size = 0;
  #isFull = false;
  #isClosed = false;
  #room = Number.POSITIVE_INFINITY;
  #wake: (() => void) | null = null;

  constructor(onPressure: (isFull: boolean) => void, highWater = HIGH_WATER) {
    this.#onPressure = onPressure;
    this.#highWater = highWater;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  push(item: T, size: number): void {
    this.#room -= size;
    if (this.#room < 0) return;
    this.#items.push({ item, size });
    this.#size += size;
    if (!this.#isFull && this.#size > this.#highWater && this.#room === Number.POSITIVE_INFINITY) this.#setFull(true);
    this.#wake?.();
  }

  /** No more items will come; those that wait are still delivered. */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  /** The producer is told to end, and must not wait for the consumer any more: what is above a bound is not kept. */
  hurry(): void {
    this.#room = Math.min(this.#room, LAST_WORDS);
    if (this.#isFull) this.#setFull(false);
  }

  /** The consumer has left: nothing is kept, nothing is paused any more. */
  abandon(): void {
    this.#items.length = 0;
    this.#room = 0;
    if (this.#isFull) this.#setFull(false);
  }

  async *drain(): AsyncGenerator<T, void, undefined> {
    while (true) {
      const next = this.#items.shift();
      if (next !== undefined) {
        this.#size -= next.size;
        if (this.#isFull && this.#size < this.#highWater / 2) this.#setFull(false);
        yield next.item;
      } else if (this.#isClosed) return;
      else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = null;
      }
    }
  }

  #setFull(isFull: boolean): void {
    this.#isFull = isFull;
    this.#onPressure(isFull);
  }
}
