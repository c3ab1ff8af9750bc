/** How the process is told to end: the first signal asks for it, the second insists. */
import { constants } from 'node:os';

type Cause = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

export class Lifetime {
  readonly #ending = new AbortController();
  #cause: Cause | undefined;
  #onInterrupt: (() => void) | undefined;

  /** Fires when the command is to stop and clean up. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** What shells show of a program that a signal ended. */
  get exitCode(): number {
    return this.#cause === undefined ? 0 : 128 + constants.signals[this.#cause];
  }

  /** Nobody reads what is printed: there is nobody to explain anything to. */
  get isReaderGone(): boolean {
    return this.#cause === 'SIGPIPE';
  }

  /** From now on Ctrl-C is the command's to handle, until the result is disposed. */
  handleInterrupts(handler: () => void): Disposable {
    this.#onInterrupt = handler;
    return { [Symbol.dispose]: () => (this.#onInterrupt = undefined) };
  }

  /** False when the process was told before: then it must end at once. */
  receive(cause: Cause): boolean {
    if (cause === 'SIGINT' && this.#onInterrupt && this.#cause === undefined) {
      this.#onInterrupt();
      return true;
    }
    const isFirst = this.#cause === undefined;
    this.#cause ??= cause;
    this.#ending.abort(new Error(`ended by ${cause}`));
    return isFirst || cause === 'SIGPIPE';
  }
}
