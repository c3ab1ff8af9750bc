import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local-host.ts';
import type { HostOptions } from '../../host/options.ts';

/** The interpreter that a tool runs on: one that it was given and shares, or one of its own, started when first needed. */
export class LazyEngine implements AsyncDisposable {
  readonly #given: Host | undefined;
  readonly #options: HostOptions;
  #own: Promise<Host> | undefined;
  #known: Host | undefined;
  #closing: Promise<void> | undefined;

  constructor(given: Host | undefined, options: HostOptions = {}) {
    this.#given = given;
    this.#known = given;
    this.#options = options;
  }

  /** The interpreter, if there is one by now. */
  get known(): Host | undefined {
    return this.#known;
  }

  async get(): Promise<Host> {
    if (this.#closing !== undefined) {
      throw new VivariumError('ENGINE_CLOSED', 'The tool is closed. Create a new one.');
    }
    if (this.#given !== undefined) return this.#given;
    this.#own ??= createHost(this.#options).catch((error: unknown) => {
      this.#own = undefined; // what was in the way may be gone at the next call
      throw error;
    });
    return (this.#known = await this.#own);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const own = await this.#own?.catch(() => undefined); // who started it has met the error
    await own?.close();
  }
}
