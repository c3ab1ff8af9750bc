import { VivariumError } from '../../errors.ts';
import type { Command } from '../../execution/command.ts';
import type { Listener, Summary } from '../../execution/event.ts';
import type { StreamBytes, Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { BaseSession } from '../base-session.ts';
import { Unanswered, type Rollback, type RunRequest, type TableRequest } from '../engine.ts';
import { FoundNames, Variables } from '../python-words.ts';
import { fields, json, orNull, text, type Shape, type Shaped } from '../shape.ts';
import type { RunEnd } from '../run-end.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { KernelMessage } from './kernel/message.ts';
import { JupyterRun } from './run.ts';
import type { JupyterWorkspace } from './server/workspace.ts';

const LEAVE_TIMEOUT_MS = 5000;

const Problem = fields({ problem: orNull(text(2000)) });

export interface JupyterSessionParts {
  readonly id: string;
  readonly isolation: Isolation;
  readonly workspace: JupyterWorkspace;
  readonly kernel: Kernel;
  readonly graceMs: number;
  readonly timeoutMs: number;
  /** Starts another kernel on the same files. */
  readonly startKernel: () => Promise<Kernel>;
  readonly onClosed: () => void;
}

/** A session on a Jupyter server. It outlives its kernel: a lost one is replaced, and the next receipt says so. */
export class JupyterSession extends BaseSession {
  readonly workspace: JupyterWorkspace;
  readonly #parts: JupyterSessionParts;
  #kernel: Kernel;
  /** Whether a kernel that dies now takes variables with it. */
  #hasState = false;
  #background = { stdout: 0, stderr: 0 };
  #opening: Promise<void> | null = null;

  constructor(parts: JupyterSessionParts) {
    super(parts.id, parts.isolation);
    this.workspace = parts.workspace;
    this.#parts = parts;
    this.#kernel = parts.kernel;
    this.#listen();
  }

  async rollback(): Promise<Rollback> {
    throw new VivariumError(
      'NOTHING_TO_ROLL_BACK',
      'A Jupyter kernel keeps no copy of an earlier state, so nothing can be undone there. `reset()` gives a fresh kernel on the same files.',
    );
  }

  async reset(options?: { readonly keepsNotices?: boolean }): Promise<void> {
    this.assertOpen();
    if (options?.keepsNotices !== true) this.state.reset();
    await this.#replace();
  }

  async inspect(): Promise<readonly Variable[]> {
    return this.#ask(Variables, 'inspect');
  }

  async writeTable({ name, format, path }: TableRequest): Promise<void> {
    const kernel = await this.#liveKernel();
    const answer = await kernel.ask(Problem, 'write_table', this.#parts.timeoutMs, name, path, format);
    if (answer === null) {
      throw new VivariumError(
        'TABLE_UNAVAILABLE',
        `The kernel did not write the table "${name}" within ${this.#parts.timeoutMs} ms. Export fewer rows, or raise the limit.`,
      );
    }
    if (answer.problem !== null) throw new VivariumError('TABLE_UNAVAILABLE', answer.problem);
  }

  async start(): Promise<Command> {
    throw new VivariumError(
      'SANDBOX_UNAVAILABLE',
      'A command of the system cannot be run beside a Jupyter kernel. Run it in a cell (`!ls`, or `subprocess`), or use sessions of this machine (engine "local").',
    );
  }

  /** The server's machine is not ours to install anything on. */
  async install(): Promise<never> {
    throw new VivariumError(
      'PACKAGE_REFUSED',
      'A session on a Jupyter server has what its server offers: run `%pip install NAME` in the session, or add packages to the environment of its kernel.',
    );
  }

  protected findNames(before: string): Promise<Shaped<typeof FoundNames>> {
    return this.#ask(FoundNames, 'complete', before);
  }

  protected async ensureInterpreter(): Promise<void> {
    await this.#liveKernel();
  }

  /** A kernel asks its front end for input, and there is no descriptor that its child processes could read. */
  override async run(request: RunRequest, listener: Listener): Promise<Summary> {
    if (request.stdin === undefined) return super.run(request, listener);
    throw new VivariumError(
      'CONFIG_INVALID',
      'A run in a Jupyter kernel cannot have standard input (`stdin`). Put the text into a file or into the code, or use the local engine.',
    );
  }

  protected beginRun(request: RunRequest, listener: Listener): JupyterRun {
    return new JupyterRun(this.#kernel, { request, listener, graceMs: this.#parts.graceMs });
  }

  protected afterRun({ event }: RunEnd): undefined {
    this.#hasState = event === null;
  }

  protected takeBackground(): StreamBytes {
    const background = this.#background;
    this.#background = { stdout: 0, stderr: 0 };
    return background;
  }

  protected async release(): Promise<void> {
    await this.stopRun();
    await this.#opening?.catch(() => undefined); // the call that waits for it reports it
    try {
      await unlessUnreachable(() => this.#removeFiles());
      await this.#kernel.close();
      await unlessUnreachable(() => this.#parts.workspace.destroy());
    } finally {
      this.#parts.onClosed();
    }
  }

  /** Asks about the variables. */
  async #ask<T>(shape: Shape<T>, method: string, ...values: readonly string[]): Promise<T> {
    const kernel = await this.#liveKernel();
    const answer = await kernel.ask(shape, method, this.#parts.timeoutMs, ...values);
    if (answer !== null) return answer;
    kernel.giveUp('it did not answer when it was asked about its variables');
    throw new Unanswered(
      `The kernel of session ${this.id} did not answer when it was asked about its variables. If that happens again and again, open a new session.`,
    );
  }

  /** A kernel removes the files, a new one if need be. The server would leave hidden ones, or move all to a trash folder. */
  async #removeFiles(): Promise<void> {
    if (!this.#kernel.isAlive) {
      await this.#kernel.close();
      this.#kernel = await this.#parts.startKernel();
    }
    await this.#kernel.ask(json, 'leave', LEAVE_TIMEOUT_MS);
  }

  /** The kernel to run on. One that has died in the meantime, or was given up, is replaced. */
  async #liveKernel(): Promise<Kernel> {
    this.assertOpen();
    if (this.#kernel.isAlive) return this.#kernel;
    if (await this.#kernel.reconnect()) {
      this.#listen();
      return this.#kernel;
    }
    if (this.#hasState) {
      this.state.note({ status: 'lost', reason: 'between runs, the kernel died or its server was restarted' });
    }
    await this.#replace();
    return this.#kernel;
  }

  async #replace(): Promise<void> {
    this.#hasState = false;
    await (this.#opening = (async () => {
      await this.#kernel.close(); // two kernels never work on the same files
      this.#kernel = await this.#parts.startKernel();
      this.isFresh = true;
      this.#listen();
    })());
  }

  /** Output between runs, or of threads of earlier runs, belongs to no run and is only counted. */
  #listen(): void {
    this.#kernel.onBackground = (message: KernelMessage): void => {
      if (message.type === 'stream') this.#background[message.content.name] += Buffer.byteLength(message.content.text);
    };
  }
}

/** On a server that is gone nothing can be removed. */
async function unlessUnreachable(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'JUPYTER_UNREACHABLE') throw error;
  }
}
