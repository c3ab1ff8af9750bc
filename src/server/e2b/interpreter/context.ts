import { VivariumError } from '../../../errors.ts';
import type { Session } from '../../../host/session.ts';
import { restoreVariablesCode, setVariablesCode } from './context-code.ts';
import { toOutputLine, type OutputLine } from './lines.ts';

const MAX_WAITING = 16;

/** A run of code in a context. */
export interface ContextRun {
  readonly code: string;
  /** Environment variables for this run alone. */
  readonly variables: Readonly<Record<string, string>>;
  /** Aborting it interrupts the code and keeps the state. */
  readonly signal: AbortSignal;
}

interface ContextParts {
  readonly id: string;
  readonly cwd: string;
  readonly session: Session;
  /** The environment variables of the sandbox. */
  readonly variables: Readonly<Record<string, string>>;
}

/** An interpreter of a sandbox: one of our sessions, which shares its files with the others. */
export class CodeContext {
  readonly id: string;
  readonly cwd: string;
  readonly session: Session;
  readonly #variables: Readonly<Record<string, string>>;
  #executions = 0;
  #running = 0;
  #last: Promise<void> = Promise.resolve();

  constructor({ id, cwd, session, variables }: ContextParts) {
    this.id = id;
    this.cwd = cwd;
    this.session = session;
    this.#variables = variables;
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  /** Resolves when the runs that there are now have ended. */
  get ended(): Promise<void> {
    return this.#last;
  }

  /** Runs code when its turn has come, and yields what happens. */
  async *run({ code, variables, signal }: ContextRun): AsyncGenerator<OutputLine, void, undefined> {
    using _ = await this.#takeTurn();
    if (signal.aborted) return;
    const names = Object.keys(variables);
    if (names.length > 0) await this.#runQuietly(setVariablesCode(variables));
    try {
      this.#executions += 1;
      yield { type: 'number_of_executions', execution_count: this.#executions };
      const filename = `<cell ${this.#executions}>`;
      for await (const event of this.session.stream(code, { signal, filename })) {
        const line = toOutputLine(event);
        if (line !== undefined) yield line;
      }
    } finally {
      if (names.length > 0) await this.#runQuietly(restoreVariablesCode(names, this.#variables));
    }
    yield { type: 'end_of_execution' };
  }

  /** Starts a fresh interpreter on the same files. */
  async restart(): Promise<void> {
    await this.session.interrupt();
    await this.session.reset();
    this.#executions = 0;
  }

  async #runQuietly(code: string): Promise<void> {
    if (!this.session.isClosed) await this.session.runCode(code, { echo: 'none' });
  }

  /** One run at a time, so that none sees the variables of another. */
  async #takeTurn(): Promise<Disposable> {
    if (this.#running > MAX_WAITING) {
      throw new VivariumError('QUEUE_FULL', `${MAX_WAITING} runs wait for this context already. Try again later.`);
    }
    this.#running += 1;
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    return {
      [Symbol.dispose]: () => {
        this.#running -= 1;
        resolve();
      },
    };
  }
}
