/** Longer than a fork takes. A worker that is slower, or does not say that it is done, must not hold up the others. */
const LONGEST_MS = 100;

/**
 * Lets only a few workers make their twins at the same time. All workers descend from one process, so their forks share
 * locks in the kernel. With many at once, each waits for locks of others that wait for a processor: for seconds.
 */
export class ForkTurns {
  readonly #most: number;
  /** When the turn of each has come, the earliest first. */
  readonly #taken = new Map<object, number>();
  readonly #waiting = new Map<object, () => void>();
  #isTimed = false;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a turn for a run. Resolves when it has come; null if that is now. */
  take(run: object): Promise<void> | null {
    if (this.#taken.size < this.#most) {
      this.#taken.set(run, performance.now());
      return null;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(run, resolve);
    this.#time(LONGEST_MS);
    return promise;
  }

  /** Ends the turn of a run, or gives it up: then it has to wait no longer. */
  end(run: object): void {
    this.#waiting.get(run)?.();
    this.#waiting.delete(run);
    if (!this.#taken.delete(run)) return;
    const [next] = this.#waiting;
    if (next === undefined) return;
    const [admitted, come] = next;
    this.#waiting.delete(admitted);
    this.#taken.set(admitted, performance.now());
    come();
  }

  #time(ms: number): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => this.#endLongest(), ms);
  }

  #endLongest(): void {
    this.#isTimed = false;
    const now = performance.now();
    for (const [run, since] of this.#taken) if (now - since >= LONGEST_MS) this.end(run);
    if (this.#waiting.size > 0) this.#time(LONGEST_MS / 4);
  }
}
