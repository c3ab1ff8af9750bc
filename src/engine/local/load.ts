import { availableParallelism } from 'node:os';
import { ForkTurns } from './fork-turns.ts';

const CORES = availableParallelism();

/** How many sessions of an engine run code at the moment, and whose turn it is to make a twin. */
export class Load {
  readonly forks = new ForkTurns(CORES);
  #busy = 0;

  begin(): void {
    this.#busy += 1;
  }

  end(): void {
    this.#busy -= 1;
  }

  /** How many sessions there are at work for each core. */
  get crowding(): number {
    return this.#busy / CORES;
  }

  /** Whether a core is left for waiting actively, which spares the time that waking up takes. */
  get hasSpareCore(): boolean {
    return this.#busy < CORES;
  }
}
