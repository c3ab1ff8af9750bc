import { Once } from '../../../once.ts';
import type { ActionReturn } from '../../action/contract.ts';
import { LazyHost } from '../../lazy.ts';
import { IPythonInterpreter } from '../ipython.ts';
import { parseIPython, type IPythonOptions } from '../options.ts';

/** Where a command runs. */
type Slot = string | number;

/** Runs several commands at the same time. Each index has its own session, which stays. */
export class BatchIPythonInterpreter implements AsyncDisposable {
  readonly name: string = 'BatchIPythonInterpreter';
  readonly enable: boolean;
  readonly #options: Omit<IPythonOptions, 'host'>;
  readonly #host: LazyHost;
  readonly #interpreters = new Map<Slot, Once<IPythonInterpreter>>();

  constructor({ host, ...options }: IPythonOptions = {}) {
    parseIPython(options); // invalid options fail here, not at the first run
    this.#options = options;
    this.#host = new LazyHost(host ?? undefined);
    this.enable = options.enable ?? true;
  }

  /** One command returns one result, a list returns a list in the same order. Indexes count from 0 by default. */
  async call(commands: string, indexes?: Slot): Promise<ActionReturn>;
  async call(commands: readonly string[], indexes?: readonly Slot[]): Promise<ActionReturn[]>;
  async call(
    commands: string | readonly string[],
    indexes?: Slot | readonly Slot[],
  ): Promise<ActionReturn | ActionReturn[]> {
    if (typeof commands === 'string') return this.#run(commands, [indexes ?? 0].flat()[0] ?? 0);
    const slots = indexes === undefined ? commands.map((_, index) => index) : [indexes].flat();
    if (slots.length !== commands.length || new Set(slots).size !== slots.length) {
      throw new TypeError('the size of `indexes` must equal that of `commands`, and no index may occur twice');
    }
    return this.runAll(commands.map((command, index) => () => this.#run(command, slots[index] ?? index)));
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

  /** Starts all runs. The host decides how many of them work at the same time. */
  protected runAll(runs: readonly (() => Promise<ActionReturn>)[]): Promise<ActionReturn[]> {
    return Promise.all(runs.map((run) => run()));
  }

  /** The interpreter of a new index. */
  protected create(options: IPythonOptions): IPythonInterpreter {
    return new IPythonInterpreter(options);
  }

  async #run(command: string, index: Slot): Promise<ActionReturn> {
    const interpreter =
      this.#interpreters.get(index) ??
      new Once(async () => this.create({ ...this.#options, host: await this.#host.get() }));
    this.#interpreters.set(index, interpreter);
    return (await interpreter.get()).run(command);
  }
}
