import type { ActionReturn } from '../action/action-return.ts';
import { LazyEngine } from '../place/lazy-engine.ts';
import { IPythonInterpreter } from './ipython.ts';
import { parseIPython, type IPythonOptions } from './options.ts';

/** Runs several commands at the same time, each index in a session of its own that stays. */
export class BatchIPythonInterpreter implements AsyncDisposable {
  readonly name = 'BatchIPythonInterpreter';
  readonly enable: boolean;
  readonly #options: Omit<IPythonOptions, 'engine'>;
  readonly #engine: LazyEngine;
  readonly #interpreters = new Map<number, Promise<IPythonInterpreter>>();

  constructor({ engine, ...options }: IPythonOptions = {}) {
    parseIPython(options); // refused here, not at the first run
    this.#options = options;
    this.#engine = new LazyEngine(engine ?? undefined);
    this.enable = options.enable ?? true;
  }

  /** One command gives one result, a list gives a list in the same order. Without indexes they count from 0. */
  async call(commands: string, indexes?: number): Promise<ActionReturn>;
  async call(commands: readonly string[], indexes?: readonly number[]): Promise<ActionReturn[]>;
  async call(
    commands: string | readonly string[],
    indexes?: number | readonly number[],
  ): Promise<ActionReturn | ActionReturn[]> {
    if (typeof commands === 'string') return this.#run(commands, [indexes ?? 0].flat()[0] ?? 0);
    const places = indexes === undefined ? commands.map((_, index) => index) : [indexes].flat();
    if (places.length !== commands.length || new Set(places).size !== places.length) {
      throw new TypeError('the size of `indexes` must equal that of `commands`, and each may be there once');
    }
    return Promise.all(commands.map((command, index) => this.#run(command, places[index] ?? index)));
  }

  /** Ends every session; later commands begin anew. */
  async reset(): Promise<void> {
    const interpreters = [...this.#interpreters.values()];
    this.#interpreters.clear();
    await Promise.all(interpreters.map(async (host) => (await host).close()));
  }

  async close(): Promise<void> {
    await this.reset();
    await this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(command: string, index: number): Promise<ActionReturn> {
    const known = this.#interpreters.get(index) ?? this.#create();
    this.#interpreters.set(index, known);
    known.catch(() => this.#interpreters.delete(index)); // reported to who waits for it
    return (await known).run(command);
  }

  async #create(): Promise<IPythonInterpreter> {
    return new IPythonInterpreter({ ...this.#options, engine: await this.#engine.get() });
  }
}
