import { isDeepStrictEqual } from 'node:util';
import type { EnclosureOptions } from './enclosure/options.ts';
import type { Worker } from './worker/worker.ts';

const RETRY_MS = 1000;
/** A session that was just claimed is about to run code, and gets the processor to itself. */
const REFILL_DELAY_MS = 30;

/** Workers that wait, confined and idle, each with its own empty workspace. Opening a session is claiming one. */
export class Pool {
  readonly #size: number;
  readonly #open: (options: EnclosureOptions) => Promise<Worker>;
  readonly #ready: Worker[] = [];
  /** What most sessions ask for. Unknown until the engine has warmed up. */
  #usual: EnclosureOptions | null = null;
  #opening = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(size: number, open: (options: EnclosureOptions) => Promise<Worker>) {
    this.#size = size;
    this.#open = open;
  }

  get size(): number {
    return this.#ready.length;
  }

  start(usual: EnclosureOptions): void {
    this.#usual = usual;
    this.fill();
  }

  /** A ready worker, if one fits what is wanted. The pool refills in the background. */
  claim(wanted: EnclosureOptions): Worker | null {
    if (this.#usual === null || !isDeepStrictEqual(wallsOf(wanted), wallsOf(this.#usual))) return null;
    const worker = this.#ready.shift() ?? null;
    worker?.enclosure.setOptions(wanted); // the limits that are not built into a worker may differ
    this.#fillAfter(REFILL_DELAY_MS);
    return worker;
  }

  fill(): void {
    const usual = this.#usual;
    if (usual === null) return;
    while (!this.#isClosed && this.#timer === null && this.#ready.length + this.#opening < this.#size) {
      void this.#add(usual);
    }
  }

  /** Opens no more workers. Those that wait end with their zygote. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #add(usual: EnclosureOptions): Promise<void> {
    this.#opening += 1;
    try {
      const worker = await this.#open(usual);
      this.#ready.push(worker);
      void worker.exited.then(() => this.#discard(worker));
    } catch {
      // The next call that opens a session gets the same error and reports it. Here it is only tried again later.
      this.#fillAfter(RETRY_MS);
    } finally {
      this.#opening -= 1;
    }
  }

  /** A worker that ended while it waited is replaced. */
  #discard(worker: Worker): void {
    const index = this.#ready.indexOf(worker);
    if (index < 0) return;
    this.#ready.splice(index, 1);
    void worker.close();
    this.#fillAfter(RETRY_MS);
  }

  #fillAfter(ms: number): void {
    if (this.#isClosed || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.fill();
    }, ms).unref();
  }
}

/** The part of the options that is built into a worker. The other limits are enforced from outside, and twins do no harm. */
function wallsOf({ limits, mounts, network, secrets, readOnly, uid }: EnclosureOptions): object {
  const { cpus, memoryMb, processes, openFiles, fileMb, rollbackMb } = limits;
  return { cpus, memoryMb, processes, openFiles, fileMb, rollbackMb, mounts, network, secrets, readOnly, uid };
}
