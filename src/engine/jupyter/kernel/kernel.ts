import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { Json } from '../../../execution/execution.ts';
import { Once } from '../../../once.ts';
import type { JupyterServer } from '../server.ts';
import { Channel, type Request } from './channel.ts';
import { answerIn, ask, plant } from './companion.ts';
import type { ExecuteRequest, KernelMessage } from './message.ts';

const START_TIMEOUT_MS = 60_000;
const ANSWER_TIMEOUT_MS = 10_000;
const REMOVE_TIMEOUT_MS = 30_000;
const REMOVE_AGAIN_MS = 250;
const PING_MS = 500;

const Model = z.object({ id: z.string().regex(/^[\w-]{1,100}$/) });
const Facts = z.object({ directory: z.string(), python: z.string().max(100) });

export interface KernelOptions {
  readonly name: string;
  /** Where it works, as a path on the server. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Modules of the Python side, by name. */
  readonly sources: Readonly<Record<string, string>>;
}

/** A live kernel that is ours alone. Once it is lost it stays lost: another one takes its place. */
export class Kernel {
  readonly #server: JupyterServer;
  readonly #id: string;
  #channel: Channel;
  #isGivenUp = false;
  readonly #deletion = new Once(() => remove(this.#server, this.#id));

  private constructor(server: JupyterServer, id: string, channel: Channel) {
    this.#server = server;
    this.#id = id;
    this.#channel = channel;
  }

  static async start(server: JupyterServer, options: KernelOptions, signal?: AbortSignal): Promise<Kernel> {
    signal?.throwIfAborted();
    const { name, directory } = options;
    const call = { body: { name, path: directory }, timeoutMs: START_TIMEOUT_MS };
    // Not to be aborted: a kernel whose id never arrives could not be removed.
    const { id } = await server.ask(Model, 'POST', 'api/kernels', call);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => remove(server, id));
    const kernel = new Kernel(server, id, await Channel.open(server, id, signal));
    stack.defer(() => kernel.#channel.lose('its start failed'));
    await kernel.#plant(options, signal);
    stack.move(); // started: the caller owns it now
    return kernel;
  }

  get isAlive(): boolean {
    return this.#channel.isOpen;
  }

  /** Whether nothing but the connection was lost, as far as anybody knows. */
  get isDisconnected(): boolean {
    return this.#channel.isBroken;
  }

  set onStray(listener: ((message: KernelMessage) => void) | null) {
    this.#channel.onStray = listener;
  }

  send(request: ExecuteRequest, onMessage?: (message: KernelMessage) => void): Request {
    return this.#channel.send(request, onMessage);
  }

  /** Asks our side in the kernel; null when no answer of use came in time. */
  async ask<T>(
    schema: z.ZodType<T>,
    method: string,
    timeoutMs = ANSWER_TIMEOUT_MS,
    ...values: readonly Json[]
  ): Promise<T | null> {
    const ending = await within(timeoutMs, this.send(ask(method, ...values)).ending);
    const found = ending === null ? null : answerIn(schema, ending);
    return found !== null && 'answer' in found ? found.answer : null;
  }

  /** Raises KeyboardInterrupt in the code that runs. */
  async interrupt(): Promise<void> {
    const path = `${pathOf(this.#id)}/interrupt`;
    const answer = await this.#server.call('POST', path, { timeoutMs: ANSWER_TIMEOUT_MS });
    if (answer.status >= 300) throw this.#server.refusal(`POST ${path}`, answer);
  }

  /** Connects again where nothing but the connection was lost; false when the kernel or its state is gone. */
  async reconnect(): Promise<boolean> {
    if (this.#isGivenUp || !this.#channel.isBroken) return false;
    try {
      this.#channel = await Channel.open(this.#server, this.#id);
      return await this.#isHeard();
    } catch (error) {
      if (error instanceof VivariumError) return false;
      throw error;
    }
  }

  /** Waits until the kernel is heard both ways: what it says at first on a new connection can pass unheard. */
  async #isHeard(): Promise<boolean> {
    const deadline = performance.now() + ANSWER_TIMEOUT_MS;
    while (this.isAlive && performance.now() < deadline) {
      const ending = await within(PING_MS, this.send(ask('facts')).ending);
      if (ending !== null && 'reply' in ending && ending.isWhole) return 'answer' in answerIn(Facts, ending);
    }
    return false;
  }

  /** Ends what runs as lost, and the kernel with it; `close` waits for that. */
  giveUp(reason: string): void {
    this.#isGivenUp = true;
    this.#channel.lose(reason);
    this.#deletion.get().catch(() => undefined); // told by `close`
  }

  async close(): Promise<void> {
    this.giveUp('the session was closed');
    await this.#deletion.get();
  }

  async #plant({ name, directory, environment, sources }: KernelOptions, signal?: AbortSignal): Promise<void> {
    const ending = await within(START_TIMEOUT_MS, this.send(plant(sources, environment)).ending, signal);
    const found = ending === null ? { problem: 'it did not answer in time' } : answerIn(Facts, ending);
    if ('problem' in found) {
      throw new VivariumError(
        'JUPYTER_REFUSED',
        `The kernel "${name}" of the Jupyter server at ${this.#server.address} cannot be used: ${found.problem.slice(0, 500)}. ` +
          'It must be an IPython kernel (ipykernel) on Python 3.10 or later; choose another with `kernelName`.',
      );
    }
    if (found.answer.directory === directory) return;
    throw new VivariumError(
      'JUPYTER_REFUSED',
      `The kernel "${name}" of the Jupyter server at ${this.#server.address} does not see the server's files: it did not start in ` +
        `the directory that was made for it. Use a server whose kernels run where its files are.`,
    );
  }
}

/** A server that is just restarting a dead kernel fails to remove it, and is asked again. One that is gone has no kernels. */
async function remove(server: JupyterServer, id: string): Promise<void> {
  const deadline = performance.now() + REMOVE_TIMEOUT_MS;
  try {
    let answer = await server.call('DELETE', pathOf(id));
    while (answer.status >= 500 && performance.now() < deadline) {
      await sleep(REMOVE_AGAIN_MS);
      answer = await server.call('DELETE', pathOf(id));
    }
    if (answer.status >= 300 && answer.status !== 404) throw server.refusal(`DELETE ${pathOf(id)}`, answer);
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'JUPYTER_UNREACHABLE') throw error;
  }
}

function pathOf(id: string): string {
  return `api/kernels/${encodeURIComponent(id)}`;
}

/** Null when it takes longer. On abort rejects with the reason. */
async function within<T>(timeoutMs: number, promise: Promise<T>, signal?: AbortSignal): Promise<T | null> {
  const over = new AbortController();
  const stop = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  const timer = sleep(timeoutMs, null, { signal: stop }).catch(() => null);
  try {
    const first = await Promise.race([promise, timer]);
    signal?.throwIfAborted();
    return first;
  } finally {
    over.abort();
  }
}
