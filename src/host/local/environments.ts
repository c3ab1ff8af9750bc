import { VivariumError } from '../../errors.ts';
import { Once } from '../../once.ts';
import type { StartedEngine } from './engines.ts';
import { unlessAborted } from './unless-aborted.ts';

/** How long the engine of a named environment waits for the next session after the last. */
const LINGER_MS = 5 * 60_000;

/** The engine for one session. Disposing of it says that the session is gone. */
export interface EngineUse extends Disposable, Pick<StartedEngine, 'engine' | 'environment'> {}

interface EnvironmentsParts {
  /** The engine of sessions that name no environment. */
  readonly own: StartedEngine;
  /** The name of its environment, if it has one. */
  readonly ownName: string | undefined;
  /** Starts the engine of a named environment. */
  readonly start: (name: string) => Promise<StartedEngine>;
  readonly lingerMs?: number;
}

/** The engines of a host: its own, and one for each named environment that sessions use. */
export class Environments implements AsyncDisposable {
  readonly #parts: EnvironmentsParts;
  readonly #named = new Map<string, NamedEngine>();
  #closing: Promise<void> | undefined;

  constructor(parts: EnvironmentsParts) {
    this.#parts = parts;
  }

  /** Aborting gives up waiting; an engine that is being started is everybody's. */
  async use(name: string | undefined, signal?: AbortSignal): Promise<EngineUse> {
    if (this.#closing !== undefined) throw new VivariumError('ENGINE_CLOSED', 'The host is closed. Create a new one.');
    const { own, ownName, start, lingerMs = LINGER_MS } = this.#parts;
    if (name === undefined || name === ownName) {
      return { engine: own.engine, environment: own.environment, [Symbol.dispose]: () => {} };
    }
    const named = this.#named.get(name) ?? new NamedEngine(() => start(name), lingerMs);
    this.#named.set(name, named);
    return named.use(signal);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await using _ = this.#parts.own;
    await Promise.all(Array.from(this.#named.values(), (named) => named.close()));
  }
}

/** Starts with the first session, and ends when there has been none for a while. */
class NamedEngine {
  readonly #running: Once<StartedEngine>;
  readonly #lingerMs: number;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The end of the last engine: the next one starts after it. */
  #ending: Promise<void> = Promise.resolve();

  constructor(start: () => Promise<StartedEngine>, lingerMs: number) {
    this.#running = new Once(async () => {
      await this.#ending;
      return start();
    });
    this.#lingerMs = lingerMs;
  }

  async use(signal: AbortSignal | undefined): Promise<EngineUse> {
    clearTimeout(this.#timer);
    this.#users += 1;
    using stack = new DisposableStack();
    stack.defer(() => this.#leave());
    const { engine, environment } = await unlessAborted(this.#running.get(), signal);
    const user = stack.move();
    return { engine, environment, [Symbol.dispose]: () => user.dispose() };
  }

  /** Resolves when its processes are gone. */
  close(): Promise<void> {
    clearTimeout(this.#timer);
    const closing = this.#closeAfter(this.#ending, this.#running.settled());
    this.#running.forget();
    this.#ending = closing.catch(() => undefined); // told to the caller; the next engine can start all the same
    return closing;
  }

  async #closeAfter(last: Promise<void>, running: Promise<StartedEngine | undefined>): Promise<void> {
    await last;
    await (await running)?.[Symbol.asyncDispose]();
  }

  #leave(): void {
    this.#users -= 1;
    if (this.#users > 0 || !this.#running.isStarted) return;
    this.#timer = setTimeout(() => void this.close().catch(() => undefined), this.#lingerMs).unref(); // nobody asked
  }
}
