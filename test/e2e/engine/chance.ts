/** Repeatable random numbers: the same seed gives the same run. */
export class Chance {
  readonly seed: number;
  #state: number;

  constructor(seed: number = Number(process.env['VIVARIUM_SEED'] ?? Date.now() % 2 ** 31)) {
    this.seed = seed;
    this.#state = seed;
  }

  /** At least 0 and below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit;
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.below(choices.length))];
    if (chosen === undefined) throw new RangeError('nothing to choose from');
    return chosen;
  }
}
