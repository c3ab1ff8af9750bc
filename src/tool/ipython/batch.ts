import { Once } from '../../once.ts';
import type { ActionReturn } from '../action/contract.ts';
import { LazyHost } from '../lazy.ts';
import { IPythonInterpreter } from './ipython.ts';
import { parseIPython, type IPythonOptions } from './options.ts';

/** Runs several commands at the same time. Each index has its own session, which stays. */
export class BatchIPythonInterpreter implements AsyncDisposable {
  readonly name = 'BatchIPythonInterpreter';
  readonly enable: boolean;
  readonly #options: Omit<IPythonOptions, 'host'>;
  readonly #host: LazyHost;
  readonly #interpreters = new Map<number, Once<IPythonInterpreter>>();

  constructor({ host, ...options }: IPythonOptions = {}) {
    parseIPython(options); // invalid options fail here, not at the first run
    this.#options = options;
    this.#host = new LazyHost(host ?? undefined);
    this.enable = options.enable ?? true;
  }

  /** One command returns one result, a list returns a list in the same order. Indexes count from 0 by default. */
  async call(commands: string, indexes?: number): Promise<ActionReturn>;
  async call(commands: readonly string[], indexes?: readonly number[]): Promise<ActionReturn[]>;
  async call(
    commands: string | readonly string[],
    indexes?: number | readonly number[],
  ): Promise<ActionReturn | ActionReturn[]> {
    if (typeof commands === 'string') return this.#run(commands, [indexes ?? 0].flat()[0] ?? 0);
    const slots = indexes === undefined ? commands.map((_, index) => index) : [indexes].flat();
    if (slots.length !== commands.length || new Set(slots).size !== slots.length) {
      throw new TypeError('the size of `indexes` must equal that of `commands`, and no index may occur twice');
    }
    return Promise.all(commands.map((command, index) => this.#run(command, slots[index] ?? index)));
  }

  /** Ends all sessions. Later commands start new ones. */
  async reset(): Promise<void> {
    const interpreters = [...this.#interpreters.values()];
    this.#interpreters.clear();
    await Promise.all(interpreters.map(async (interpreter) => (await interpreter.settled())?.close()));
  }

  async close(): Promise<void> {
    await this.reset();
    await this.#host.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(command: string, index: number): Promise<ActionReturn> {
    const interpreter = this.#interpreters.get(index) ?? new Once(() => this.#create());
    this.#interpreters.set(index, interpreter);
    return (await interpreter.get()).run(command);
  }

  async #create(): Promise<IPythonInterpreter> {
    return new IPythonInterpreter({ ...this.#options, host: await this.#host.get() });
  }
}
