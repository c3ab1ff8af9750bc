import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { Json } from '../../../execution/execution.ts';
import { Once } from '../../../once.ts';
import { inLine } from '../../../text/in-line.ts';
import { fields, text, type Shape } from '../../shape.ts';
import type { JupyterServer } from '../server/server.ts';
import { KernelChannel, type KernelRequest } from './channel.ts';
import { answerIn, injection, question } from './companion.ts';
import type { ExecuteRequest, KernelMessage } from './message.ts';

const START_TIMEOUT_MS = 60_000;
const ANSWER_TIMEOUT_MS = 10_000;
const REMOVE_TIMEOUT_MS = 30_000;
const REMOVE_AGAIN_MS = 250;
const PING_MS = 500;

const KernelModel = z.object({ id: z.string().regex(/^[\w-]{1,100}$/) });
const KernelFacts = fields({ directory: text(), python: text(100) });

export interface KernelOptions {
  readonly name: string;
  /** Its working directory, as a path on the server. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Modules of the Python side, by name. */
  readonly sources: Readonly<Record<string, string>>;
}

/** A live kernel that only we use. Once it is lost it stays lost, and another one replaces it. */
export class Kernel {
  readonly #server: JupyterServer;
  readonly #id: string;
  #channel: KernelChannel;
  #isGivenUp = false;
  readonly #deletion = new Once(() => remove(this.#server, this.#id));

  private constructor(server: JupyterServer, id: string, channel: KernelChannel) {
    this.#server = server;
    this.#id = id;
    this.#channel = channel;
  }

  static async start(server: JupyterServer, options: KernelOptions, signal?: AbortSignal): Promise<Kernel> {
    signal?.throwIfAborted();
    const { name, directory } = options;
    const call = { body: { name, path: directory }, timeoutMs: START_TIMEOUT_MS };
    // This cannot be aborted: a kernel whose id never arrives could not be removed.
    const { id } = await server.ask(KernelModel, 'POST', 'api/kernels', call);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => remove(server, id));
    const kernel = new Kernel(server, id, await KernelChannel.open(server, id, signal));
    stack.defer(() => kernel.#channel.lose('its start failed'));
    await kernel.#inject(options, signal);
    stack.move(); // started: the caller owns it now
    return kernel;
  }

  get isAlive(): boolean {
    return this.#channel.isOpen;
  }

  /** Whether, as far as is known, only the connection was lost. */
  get isDisconnected(): boolean {
    return this.#channel.isBroken;
  }

  set onBackground(listener: ((message: KernelMessage) => void) | null) {
    this.#channel.onBackground = listener;
  }

  send(request: ExecuteRequest, onMessage?: (message: KernelMessage) => void): KernelRequest {
    return this.#channel.send(request, onMessage);
  }

  /** Asks our code in the kernel. Null if no useful answer came in time. */
  async ask<T>(
    shape: Shape<T>,
    method: string,
    timeoutMs = ANSWER_TIMEOUT_MS,
    ...values: readonly Json[]
  ): Promise<T | null> {
    const ending = await within(timeoutMs, this.send(question(method, ...values)).ending);
    const found = ending === null ? null : answerIn(shape, ending);
    return found !== null && 'answer' in found ? found.answer : null;
  }

  /** Raises KeyboardInterrupt in the code that runs. */
  async interrupt(): Promise<void> {
    const path = `${pathOf(this.#id)}/interrupt`;
    const answer = await this.#server.call('POST', path, { timeoutMs: ANSWER_TIMEOUT_MS });
    if (answer.status >= 300) throw this.#server.refusal(`POST ${path}`, answer);
  }

  /** Connects again if only the connection was lost. False if the kernel or its state is gone. */
  async reconnect(): Promise<boolean> {
    if (this.#isGivenUp || !this.#channel.isBroken) return false;
    try {
      this.#channel = await KernelChannel.open(this.#server, this.#id);
      return await this.#isAnswering();
    } catch (error) {
      if (error instanceof VivariumError) return false;
      throw error;
    }
  }

  /** Waits until both directions work. The first messages on a new connection can get lost. */
  async #isAnswering(): Promise<boolean> {
    const deadline = performance.now() + ANSWER_TIMEOUT_MS;
    while (this.isAlive && performance.now() < deadline) {
      const ending = await within(PING_MS, this.send(question('facts')).ending);
      if (ending !== null && 'reply' in ending && ending.isWhole) return 'answer' in answerIn(KernelFacts, ending);
    }
    return false;
  }

  /** Ends what runs as lost, and the kernel with it. `close` waits for that. */
  giveUp(reason: string): void {
    this.#isGivenUp = true;
    this.#channel.lose(reason);
    this.#deletion.get().catch(() => undefined); // `close` reports it
  }

  async close(): Promise<void> {
    this.giveUp('the session was closed');
    await this.#deletion.get();
  }

  async #inject({ name, directory, env, sources }: KernelOptions, signal?: AbortSignal): Promise<void> {
    const ending = await within(START_TIMEOUT_MS, this.send(injection(sources, env)).ending, signal);
    const found = ending === null ? { problem: 'it did not answer in time' } : answerIn(KernelFacts, ending);
    if ('problem' in found) {
      throw new VivariumError(
        'JUPYTER_REFUSED',
        `The kernel "${name}" of the Jupyter server at ${this.#server.address} cannot be used: ${inLine(found.problem)}. ` +
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

/** A server that is just restarting a dead kernel fails to remove it, so it is asked again. A server that is gone has no kernels. */
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

/** Null if it takes longer. On abort it rejects with the reason. */
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
