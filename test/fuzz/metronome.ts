/**
 * Says how busy the machine is: a thread that only sleeps counts by how much it oversleeps, and the kernel counts for how
 * long the main thread could have gone on but had no processor.
 */
import { readFileSync } from 'node:fs';
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

  /** For how long it, or the main thread, could not run so far, although it wanted to. */
  get lostMs(): number {
    return Atomics.load(this.#overslept, 0) + queuedMs();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }
}

/** The second number is the time in which the main thread waited for a processor, in nanoseconds. */
function queuedMs(): number {
  return Number(readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}
