/** What a promise resolves to, or `late` if that takes longer. No timer is left behind, and none keeps the process alive. */
export async function within<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  const { promise: passed, resolve } = Promise.withResolvers<L>();
  const timer = setTimeout(resolve, ms, late).unref();
  try {
    return await Promise.race([promise, passed]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Callers that wait for answers until something ends. A promise of that end would keep a reaction of every caller that
 * has ever raced with it, for as long as nothing ends.
 */
export class Waiters<T> {
  readonly #waiting = new Set<(value: T) => void>();

  /** The answer, or what `end` was called with before it came. */
  async race(answer: Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#waiting.add(resolve);
    try {
      return await Promise.race([answer, promise]);
    } finally {
      this.#waiting.delete(resolve);
    }
  }

  end(value: T): void {
    for (const resolve of this.#waiting) resolve(value);
    this.#waiting.clear();
  }
}
