/** Says how busy the machine is: a thread that only sleeps, and counts by how much it oversleeps. */
import { Worker } from 'node:worker_threads';

const BEAT_MS = 10;
const PROGRAM = `
const { workerData: { beatMs, overslept } } = require('node:worker_threads');
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  Atomics.add(overslept, 0, Math.max(0, Math.round(now - last - beatMs)));
  last = now;
}, beatMs);
`;

export class Metronome implements AsyncDisposable {
  readonly #overslept = new Int32Array(new SharedArrayBuffer(4));
  readonly #thread = new Worker(PROGRAM, { eval: true, workerData: { beatMs: BEAT_MS, overslept: this.#overslept } });

  /** For how long it could not run so far, although it wanted to. */
  get oversleptMs(): number {
    return Atomics.load(this.#overslept, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }
}
