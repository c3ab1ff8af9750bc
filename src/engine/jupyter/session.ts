import { VivariumError } from '../../errors.ts';
import type { Listener } from '../../execution/event.ts';
import type { StreamBytes, Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { BaseSession } from '../base-session.ts';
import { Unanswered, type Rollback, type RunRequest, type TableRequest } from '../engine.ts';
import { Variables } from '../python-words.ts';
import { fields, json, orNull, text } from '../shape.ts';
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
    this.state.reset(options);
    await this.#replace();
  }

  async inspect(): Promise<readonly Variable[]> {
    const kernel = await this.#liveKernel();
    const variables = await kernel.ask(Variables, 'inspect', this.#parts.timeoutMs);
    if (variables !== null) return variables;
    kernel.giveUp('it did not answer when its variables were inspected');
    throw new Unanswered(
      `The kernel of session ${this.id} did not answer when its variables were inspected. If that happens again and again, open a new session.`,
    );
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

  protected async ensureInterpreter(): Promise<void> {
    await this.#liveKernel();
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
    await this.#opening?.catch(() => undefined); // reported to whoever waits for it
    try {
      await unlessUnreachable(() => this.#removeFiles());
      await this.#kernel.close();
      await unlessUnreachable(() => this.#parts.workspace.destroy());
    } finally {
      this.#parts.onClosed();
    }
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
