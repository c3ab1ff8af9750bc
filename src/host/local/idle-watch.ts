/** A timer takes at most 31 bits of milliseconds; longer waits use several timers. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface IdleWatchOptions {
  /** Null: the session is never closed for being idle. */
  readonly idleMs: number | null;
  /** For how long the session has been idle; 0 while it is in use. */
  readonly idleForMs: () => number;
  readonly onIdle: (idleMs: number) => void;
}

/** Notices when a session has been idle for too long. It does not keep the process alive and costs nothing per run. */
export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
    if (options.idleMs !== null) this.#waitFor(options.idleMs, options.idleMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #waitFor(ms: number, idleMs: number): void {
    this.#timer = setTimeout(() => this.#look(idleMs), Math.min(Math.max(1, ms), LONGEST_TIMER_MS)).unref();
  }

  #look(idleMs: number): void {
    const remainingMs = idleMs - this.#options.idleForMs();
    if (remainingMs <= 0) this.#options.onIdle(idleMs);
    else this.#waitFor(Math.ceil(remainingMs), idleMs);
  }
}
