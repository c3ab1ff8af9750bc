import { z } from 'zod';
import { VivariumError } from '../../errors.ts';
import type { Event, Listener, Summary } from '../../execution/event.ts';
import type { Json, StreamBytes, Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { pulled } from '../../execution/pulled.ts';
import type { EngineSession, Rollback, RunRequest, TableRequest } from '../engine.ts';
import { parseJson, ProtocolViolation } from '../hostile-json.ts';
import { Variables } from '../python-words.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { KernelMessage } from './kernel/message.ts';
import { Run, type RunFacts } from './run.ts';
import type { JupyterWorkspace } from './server/workspace.ts';

const LEAVE_TIMEOUT_MS = 5000;
const INSPECT_ATTEMPTS = 2;
const UNPROTECTED = 'a Jupyter kernel has no twin: a crash, or an interrupt that is not heeded, costs all variables';

const Problem = z.object({ problem: z.string().max(2000).nullable() });

export interface SessionParts {
  readonly id: string;
  readonly isolation: Isolation;
  readonly workspace: JupyterWorkspace;
  readonly kernel: Kernel;
  readonly graceMs: number;
  readonly timeoutMs: number;
  /** Another kernel on the same files. */
  readonly startKernel: () => Promise<Kernel>;
  readonly onClosed: () => void;
}

/** An interpreter with state on a Jupyter server. It outlives its kernel: what is lost is started anew, and said. */
export class JupyterSession implements EngineSession {
  readonly id: string;
  readonly isolation: Isolation;
  readonly workspace: JupyterWorkspace;
  readonly #parts: SessionParts;
  #kernel: Kernel;
  #generation = 1;
  #isFresh = false;
  #hasState = false;
  /** Why the state is gone, if that was not told yet. */
  #notice: string | null = null;
  #strays = { stdout: 0, stderr: 0 };
  #run: Run | null = null;
  #opening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: SessionParts) {
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.workspace = parts.workspace;
    this.#parts = parts;
    this.#kernel = parts.kernel;
    this.#listen();
  }

  async revive(): Promise<boolean> {
    await this.#liveKernel();
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    return isFresh;
  }

  stream(request: RunRequest): AsyncGenerator<Event, void, undefined> {
    return pulled((hear) => this.run(request, hear));
  }

  async run(request: RunRequest, hear: Listener): Promise<Summary> {
    const kernel = await this.#liveKernel();
    this.#assertOpen(); // whoever closes it now finds the run, and stops it
    const strays = this.#takeStrays();
    const run = new Run(kernel, { request, hear, graceMs: this.#parts.graceMs });
    this.#run = run;
    try {
      const facts = await run.finished;
      await run.heard();
      return this.#summarise(request, facts, strays);
    } finally {
      this.#run = null;
    }
  }

  async interrupt(): Promise<void> {
    this.#run?.stop('cancelled');
    await this.#run?.finished;
  }

  async rollback(): Promise<Rollback> {
    throw new VivariumError(
      'NOTHING_TO_ROLL_BACK',
      'A Jupyter kernel keeps no copy of an earlier state, so nothing can be undone there. `reset()` gives a fresh kernel on the same files.',
    );
  }

  async reset(): Promise<void> {
    this.#assertOpen();
    this.#generation += 1;
    this.#notice = null;
    await this.#replace();
  }

  async inspect(): Promise<readonly Variable[]> {
    for (let attempt = 0; attempt < INSPECT_ATTEMPTS; attempt += 1) {
      const kernel = await this.#liveKernel();
      const variables = await kernel.ask(Variables, 'inspect', this.#parts.timeoutMs);
      if (variables !== null) return variables;
      kernel.giveUp('it did not answer when its variables were looked at');
    }
    throw new VivariumError(
      'ENGINE_FAILED',
      `Kernels of session ${this.id} do not answer when their variables are looked at. Open a new session.`,
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

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#run?.stop('cancelled');
    await this.#run?.finished;
    await this.#opening?.catch(() => undefined); // whoever waits for it hears why
    try {
      await unlessGone(() => this.#tidy());
      await this.#kernel.close();
      await unlessGone(() => this.#parts.workspace.destroy());
    } finally {
      this.#parts.onClosed();
    }
  }

  /** A kernel removes the files, if need be a new one: the server itself would leave hidden ones, or keep all in a bin. */
  async #tidy(): Promise<void> {
    if (!this.#kernel.isAlive) {
      await this.#kernel.close();
      this.#kernel = await this.#parts.startKernel();
    }
    await this.#kernel.ask(z.null(), 'leave', LEAVE_TIMEOUT_MS);
  }

  #assertOpen(): void {
    if (this.#closing !== null) {
      throw new VivariumError(
        'SESSION_CLOSED',
        `Session ${this.id} is closed. Open a new one; its variables are gone.`,
      );
    }
  }

  /** The kernel to run on. One that has died meanwhile, or was given up, is replaced. */
  async #liveKernel(): Promise<Kernel> {
    this.#assertOpen();
    if (this.#kernel.isAlive) return this.#kernel;
    if (await this.#kernel.reconnect()) {
      this.#listen();
      return this.#kernel;
    }
    if (this.#hasState) {
      this.#generation += 1;
      this.#notice ??= 'between runs, the kernel died or its server was restarted';
    }
    await this.#replace();
    return this.#kernel;
  }

  async #replace(): Promise<void> {
    this.#hasState = false;
    await (this.#opening = (async () => {
      await this.#kernel.close(); // two kernels never work on the same files
      this.#kernel = await this.#parts.startKernel();
      this.#isFresh = true;
      this.#listen();
    })());
  }

  /** Output that comes while nothing runs, or from threads of earlier runs, belongs to no run and is counted. */
  #listen(): void {
    this.#kernel.onStray = (message: KernelMessage): void => {
      if (message.type === 'stream') this.#strays[message.content.name] += Buffer.byteLength(message.content.text);
    };
  }

  #takeStrays(): StreamBytes {
    const strays = this.#strays;
    this.#strays = { stdout: 0, stderr: 0 };
    return strays;
  }

  /** The result's last part: what became of the state, worst news first. */
  #summarise(request: RunRequest, facts: RunFacts, background: StreamBytes): Summary {
    const reason = facts.loss ?? this.#notice;
    this.#notice = null;
    this.#hasState = facts.loss === null;
    if (facts.loss !== null) this.#generation += 1;
    return {
      id: request.id,
      sessionId: this.id,
      outcome: facts.outcome,
      ...(facts.error !== null && { error: facts.error }),
      ...valueIn(facts.value),
      dataframes: facts.dataframes,
      state: {
        status: reason === null ? 'preserved' : 'lost',
        generation: this.#generation,
        variables: facts.variables,
        unprotected: UNPROTECTED,
        ...(reason !== null && { reason }),
      },
      ...(background.stdout + background.stderr > 0 && { background }),
      ...(facts.dropped !== null && { dropped: facts.dropped }),
      durationMs: facts.durationMs,
      isolation: this.isolation,
      outputBytes: facts.outputBytes,
      mayHaveWritten: true,
      savedFigures: facts.saved,
    };
  }
}

/** A value that breaks the rules is none: the program has made it up itself. */
function valueIn(text: string | null): { readonly value?: Json } {
  if (text === null) return {};
  try {
    return { value: parseJson(Buffer.from(text)) as Json };
  } catch (error) {
    if (error instanceof ProtocolViolation) return {};
    throw error;
  }
}

/** With a server that is gone nothing can be removed, and nobody sees what is left. */
async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'JUPYTER_UNREACHABLE') throw error;
  }
}
