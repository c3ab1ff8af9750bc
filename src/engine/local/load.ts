import { availableParallelism } from 'node:os';

const CORES = availableParallelism();

/** How many sessions of an engine run code at the moment. */
export class Load {
  #busy = 0;

  begin(): void {
    this.#busy += 1;
  }

  end(): void {
    this.#busy -= 1;
  }

  /** Whether a core is left for waiting actively, which spares the time that waking up takes. */
  get hasSpareCore(): boolean {
    return this.#busy < CORES;
  }
}
