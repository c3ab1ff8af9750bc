import { VivariumError } from '../../../errors.ts';

export interface TurnOptions {
  /** `refuse`: an error instead of waiting. */
  readonly whenBusy?: 'queue' | 'refuse';
  /** Gives up waiting. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  readonly start: () => void;
  readonly fail: (error: unknown) => void;
}

/** Lets one thing at a time happen in a session. Others wait in the order they came, up to a maximum. */
export class Turns {
  readonly #name: string;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<Waiter>();
  #isTaken = false;
  #freeSinceMs = performance.now();
  #end: VivariumError | null = null;

  constructor(name: string, maxWaiting: number) {
    this.#name = name;
    this.#maxWaiting = maxWaiting;
  }

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** When the last turn ended, on the clock of `performance`. Meaningless while a turn is taken. */
  get freeSinceMs(): number {
    return this.#freeSinceMs;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves when it is the caller's turn, which lasts until it is disposed of. On abort it rejects with the reason. */
  async take({ whenBusy = 'queue', signal }: TurnOptions = {}): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#end !== null) throw this.#end;
    if (this.#isTaken) {
      this.#admit(whenBusy);
      await this.#wait(signal);
      if (this.#end !== null) throw this.#end; // closed in the meantime
    }
    this.#isTaken = true;
    return new Turn(() => this.#passOn());
  }

  /** Everybody who waits or comes later gets this error. */
  close(error: VivariumError): void {
    this.#end ??= error;
    for (const waiter of this.#waiting) waiter.fail(this.#end);
    this.#waiting.clear();
  }

  #admit(whenBusy: 'queue' | 'refuse'): void {
    if (whenBusy === 'refuse') {
      throw new VivariumError(
        'SESSION_BUSY',
        `Session ${this.#name} is running something, and this call asked not to wait. ` +
          'Try again later, interrupt what runs, or use `whenBusy: "queue"`.',
      );
    }
    if (this.#waiting.size < this.#maxWaiting) return;
    throw new VivariumError(
      'QUEUE_FULL',
      `Session ${this.#name} is busy and ${this.#waiting.size} calls wait for it already, as many as may (maxQueue). ` +
        'Wait for one of them, use another session for work in parallel, or raise `maxQueue`.',
    );
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { start: resolve, fail: reject };
    const leave = (): void => {
      if (this.#waiting.delete(waiter)) reject(signal?.reason);
    };
    this.#waiting.add(waiter);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** The turn passes directly to the first in the queue, so that nobody who comes in between can take it. */
  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#isTaken = false;
      this.#freeSinceMs = performance.now();
      return;
    }
    this.#waiting.delete(next);
    next.start();
  }
}

class Turn implements Disposable {
  #onEnd: (() => void) | null;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  /** Ends the turn. A second call does not end somebody else's. */
  [Symbol.dispose](): void {
    this.#onEnd?.();
    this.#onEnd = null;
  }
}
