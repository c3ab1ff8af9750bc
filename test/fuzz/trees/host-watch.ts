/** Whether this process keeps what it should forget, and for how long its event loop stood still. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const MOST_GROWTH_BYTES = 200 << 20;

export class HostWatch implements Disposable {
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });
  readonly #warmUp: number;
  #first = 0;
  #last = 0;

  constructor(trees: number) {
    this.#warmUp = trees / 4;
    this.#delay.enable();
  }

  /** Call it after each tree, with the number of trees so far. */
  look(trees: number): void {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    this.#last = heapUsed + arrayBuffers;
    if (trees <= this.#warmUp) this.#first = Math.max(this.#first, this.#last);
  }

  get problems(): readonly string[] {
    const growth = this.#last - this.#first;
    return growth > MOST_GROWTH_BYTES ? [`the host's memory grew by ${growth} bytes`] : [];
  }

  get summary(): string {
    const [first, last] = [this.#first, this.#last].map((bytes) => Math.round(bytes / 2 ** 20));
    const stoodMs = Math.round(this.#delay.max / 1e6);
    return `the host's memory went from ${first} MB to ${last} MB, and its event loop stood still for at most ${stoodMs} ms`;
  }

  [Symbol.dispose](): void {
    this.#delay.disable();
  }
}
