import { isDeepStrictEqual } from 'node:util';
import type { LinkOptions } from './link/options.ts';
import type { Link } from './link/link.ts';

const RETRY_MS = 1000;
/** Whoever has just claimed a session is about to use it, and gets the processor to himself. */
const REFILL_DELAY_MS = 30;

/** Workers that wait, confined and idle, each with its own empty workspace. Opening a session is claiming one. */
export class Pool {
  readonly #size: number;
  readonly #open: (options: LinkOptions) => Promise<Link>;
  readonly #ready: Link[] = [];
  /** What most sessions ask for; unknown until the engine has warmed up. */
  #usual: LinkOptions | null = null;
  #opening = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(size: number, open: (options: LinkOptions) => Promise<Link>) {
    this.#size = size;
    this.#open = open;
  }

  start(usual: LinkOptions): void {
    this.#usual = usual;
    this.fill();
  }

  /** A ready worker, if one fits what is wanted. The pool refills in the background. */
  claim(wanted: LinkOptions): Link | null {
    if (this.#usual === null || !isDeepStrictEqual(wallsOf(wanted), wallsOf(this.#usual))) return null;
    const link = this.#ready.shift() ?? null;
    if (link !== null) link.options = wanted; // the limits that the host keeps may differ
    this.#fillAfter(REFILL_DELAY_MS);
    return link;
  }

  fill(): void {
    const usual = this.#usual;
    if (usual === null) return;
    while (!this.#isClosed && this.#timer === null && this.#ready.length + this.#opening < this.#size) {
      void this.#add(usual);
    }
  }

  /** Opens no more; those that wait end with their zygote. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #add(usual: LinkOptions): Promise<void> {
    this.#opening += 1;
    try {
      const link = await this.#open(usual);
      this.#ready.push(link);
      void link.exited.then(() => this.#discard(link));
    } catch {
      // Whoever opens a session next meets the same error and reports it; here it is only tried again later.
      this.#fillAfter(RETRY_MS);
    } finally {
      this.#opening -= 1;
    }
  }

  /** A worker that ended while it waited is nobody's loss. */
  #discard(link: Link): void {
    const index = this.#ready.indexOf(link);
    if (index < 0) return;
    this.#ready.splice(index, 1);
    void link.close();
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

/** The part of the options that is built into a worker; the host keeps the other limits, and twins do no harm. */
function wallsOf({ limits, mounts, network, readOnly, uid }: LinkOptions): object {
  const { memoryMb, processes, openFiles, fileMb, rollbackMb } = limits;
  return { memoryMb, processes, openFiles, fileMb, rollbackMb, mounts, network, readOnly, uid };
}
