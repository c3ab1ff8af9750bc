interface Waiting<T> {
  readonly item: T;
  readonly onTaken: () => void;
}

/** What one reader gets, in order. A writer can wait until it was taken. */
export class Feed<T> implements AsyncIterable<T> {
  readonly #items: Waiting<T>[] = [];
  #wake: (() => void) | null = null;
  #isEnded = false;

  /** How many items wait for the reader. */
  get size(): number {
    return this.#items.length;
  }

  /** Resolves when the reader has come back for more, or has left. */
  push(item: T): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#items.push({ item, onTaken: resolve });
    this.#wake?.();
    return promise;
  }

  /** What was pushed before is still read. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** For one reader. When it stops reading, nobody waits for it any more. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        const next = this.#items.shift();
        if (next !== undefined) {
          try {
            yield next.item;
          } finally {
            next.onTaken();
          }
        } else if (this.#isEnded) {
          return;
        } else {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
      }
    } finally {
      this.leave();
    }
  }

  /** The reader is gone. */
  leave(): void {
    this.end();
    for (const { onTaken } of this.#items.splice(0)) onTaken();
  }
}
