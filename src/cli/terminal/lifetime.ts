import { constants } from 'node:os';

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

/** Tells a command when to stop. The first signal asks it to clean up and end, the second ends the process at once. */
export class Lifetime {
  readonly #ending = new AbortController();
  #cause: StopSignal | undefined;
  #onInterrupt: (() => void) | undefined;

  /** Aborts when the command has to stop and clean up. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** The exit code that shells use for a program that a signal ended. */
  get exitCode(): number {
    return this.#cause === undefined ? 0 : 128 + constants.signals[this.#cause];
  }

  /** Standard output was closed by its reader, so there is nobody to explain anything to. */
  get isReaderGone(): boolean {
    return this.#cause === 'SIGPIPE';
  }

  /** Passes Ctrl-C to the command until the result is disposed. */
  handleInterrupts(handler: () => void): Disposable {
    this.#onInterrupt = handler;
    return { [Symbol.dispose]: () => (this.#onInterrupt = undefined) };
  }

  /** False for a second signal: then the process must end at once. */
  receive(cause: StopSignal): boolean {
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
