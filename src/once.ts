/**
 * Opens something once, however many callers ask for it at the same time. A failure is reported to those who waited for
 * it and then forgotten: the next call tries again.
 */
export class Once<T, Args extends readonly unknown[] = []> {
  readonly #open: (...args: Args) => Promise<T>;
  #opening: Promise<T> | undefined;
  #value: T | undefined;

  constructor(open: (...args: Args) => Promise<T>) {
    this.#open = open;
  }

  /** The arguments count only for the call that opens it. */
  get(...args: Args): Promise<T> {
    return (this.#opening ??= this.#start(args));
  }

  /** True from the first `get` on, unless it failed or was forgotten. */
  get isStarted(): boolean {
    return this.#opening !== undefined;
  }

  /** What is open now; undefined before the opening has succeeded. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Waits for an opening that is under way; undefined if there is none, or if it fails. */
  async settled(): Promise<T | undefined> {
    try {
      return await this.#opening;
    } catch {
      return undefined; // the caller of `get` reports it
    }
  }

  /** The next `get` opens it again. Closing what was open is up to the caller. */
  forget(): void {
    this.#opening = undefined;
    this.#value = undefined;
  }

  #start(args: Args): Promise<T> {
    const opening = this.#open(...args).then(
      (value) => {
        if (this.#opening === opening) this.#value = value;
        return value;
      },
      (error: unknown) => {
        if (this.#opening === opening) this.forget();
        throw error;
      },
    );
    return opening;
  }
}
