import { constants } from 'node:os';

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

/** Tells a command when to stop. The first signal asks it to clean up and end, the second ends the process at once. */
export class Lifetime {
  readonly #ending = new AbortController();
  #cause: StopSignal | undefined;
  #onInterrupt: (() => void) | undefined;
  #isStopExpected = false;

  /** Aborts when the command has to stop and clean up. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** The exit code that shells use for a program that a signal ended. */
  get exitCode(): number {
    return this.#cause === undefined || this.#isStopExpected ? 0 : 128 + constants.signals[this.#cause];
  }

  /** The command runs until it is stopped, so that this is no failure. */
  expectStop(): void {
    this.#isStopExpected = true;
  }

  /** Standard output was closed by its reader, so there is no need to explain anything. */
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
    if (!isFirst) this.#isStopExpected = false; // it is not let finish
    this.#cause ??= cause;
    this.#ending.abort(new Error(`ended by ${cause}`));
    return isFirst || cause === 'SIGPIPE';
  }
}
