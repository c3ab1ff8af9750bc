import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { VivariumError } from '../../errors.ts';
import type { Listener, SavedFigure } from '../../execution/event.ts';
import type { DataFrameSummary, StreamBytes, VariableChanges } from '../../execution/execution.ts';
import type { Outcome, PythonError } from '../../execution/outcome.ts';
import { escapeAnsi } from '../../text/clean-text.ts';
import type { RunRequest } from '../engine.ts';
import { DataFrameSummaries, SavedFigures, VariableChanges as Changes } from '../python-words.ts';
import type { Request } from './kernel/channel.ts';
import { answerIn, ask, tell } from './kernel/companion.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { KernelMessage, Reply } from './kernel/message.ts';
import { Showing } from './showing.ts';

/** A kernel that was interrupted once is not interrupted again: its last word gets so much time, and then it is given up. */
const LAST_WORD_MS = 5000;
const MAX_VALUE_CHARS = 10_000;
const MAX_TRACEBACK_CHARS = 50_000;
const UNTOUCHED: VariableChanges = { added: [], changed: [], removed: [] };
const Finish = z.object({
  variables: Changes,
  dataframes: DataFrameSummaries,
  saved: SavedFigures,
  value: z.string().nullable(),
});

type StopCause = 'wall' | 'cancelled';

/** What is known of a run when it has ended. */
export interface RunFacts {
  readonly outcome: Outcome;
  readonly error: PythonError | null;
  /** Why the kernel was lost; null when it goes on. */
  readonly loss: string | null;
  readonly variables: VariableChanges;
  readonly dataframes: readonly DataFrameSummary[];
  readonly saved: readonly SavedFigure[];
  /** JSON text of the variable that was asked for. */
  readonly value: string | null;
  readonly durationMs: number;
  readonly outputBytes: StreamBytes;
  /** Why output is missing, if some is. */
  readonly dropped: string | null;
}

type Ending = Pick<RunFacts, 'outcome' | 'error' | 'loss' | 'variables' | 'dataframes' | 'saved' | 'value'>;

interface RunParts {
  readonly request: RunRequest;
  readonly hear: Listener;
  readonly graceMs: number;
}

/** One run of code in a kernel: sends it, hears it out, stops it in time, and asks what became of the variables. */
export class Run {
  /** Says what came of it, whether everything was heard by then or not. */
  readonly finished: Promise<RunFacts>;
  readonly #kernel: Kernel;
  readonly #request: RunRequest;
  readonly #graceMs: number;
  readonly #showing: Showing;
  readonly #startedAt = performance.now();
  #current: Request | null = null;
  #stopCause: StopCause | null = null;
  #stopping: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(kernel: Kernel, { request, hear, graceMs }: RunParts) {
    this.#kernel = kernel;
    this.#request = request;
    this.#graceMs = graceMs;
    this.#showing = new Showing(hear, () => this.stop('cancelled'));
    this.finished = this.#conduct();
  }

  /** Waits until all events were heard. Throws what the listener has thrown, which has stopped the program. */
  heard(): Promise<void> {
    return this.#showing.events.heard();
  }

  /** Interrupts first; a kernel that does not heed that is given up after the grace period. */
  stop(cause: StopCause): void {
    this.#showing.events.hurry();
    if (this.#stopCause !== null || this.#isOver) return;
    this.#stopCause = cause;
    if (this.#current !== null) this.#stopping = this.#interrupt(this.#current);
  }

  async #conduct(): Promise<RunFacts> {
    const onAbort = (): void => this.stop('cancelled');
    const { signal, timeoutMs } = this.#request;
    const timer = setTimeout(() => this.stop('wall'), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) this.stop('cancelled');
    try {
      const ending = this.#stopCause === null ? await this.#execute() : neverRan();
      const { outputBytes, dropped } = this.#showing;
      return { ...ending, durationMs: performance.now() - this.#startedAt, outputBytes, dropped };
    } finally {
      this.#isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #execute(): Promise<Ending> {
    const { code, echo, svg = false } = this.#request;
    const begun = this.#kernel.send(tell('begin', echo, svg));
    const run = this.#kernel.send({ code, isSilent: false, stopOnError: false }, (message: KernelMessage) =>
      this.#showing.add(message),
    );
    this.#current = run;
    const ending = await run.ending;
    this.#current = null;
    await this.#stopping; // a late interrupt must not hit what comes next
    if ('loss' in ending) return this.#lost(ending.loss);
    if (!ending.isWhole) this.#showing.miss('the kernel did not say when its output was complete');
    const beginning = await begun.ending;
    const isReady = 'reply' in beginning && beginning.reply.status === 'ok';
    if (isReady && (ending.reply.status === 'ok' || ending.reply.status === 'error' || this.#stopCause !== null)) {
      return this.#finish(ending.reply);
    }
    return this.#lost('what the program has done to Python keeps the kernel from running code');
  }

  /** The clock still runs: values may be slow to describe. */
  async #finish(reply: Reply): Promise<Ending> {
    const request = this.#kernel.send(ask('finish', this.#request.resultVariable ?? null));
    if (this.#stopCause === null) this.#current = request;
    const timer = this.#stopCause === null ? undefined : setTimeout(() => this.#kernel.giveUp(UNHEEDED), LAST_WORD_MS);
    const ending = await request.ending;
    clearTimeout(timer);
    this.#current = null;
    await this.#stopping;
    if ('loss' in ending) return this.#lost(ending.loss);
    const found = answerIn(Finish, ending);
    const error = errorIn(reply);
    if ('problem' in found && this.#stopCause === null)
      return this.#lost(`${UNANSWERED}: ${found.problem.slice(0, 300)}`);
    const told = 'answer' in found ? found.answer : { variables: UNTOUCHED, dataframes: [], saved: [], value: null };
    return { outcome: this.#outcomeOf(error), error, loss: null, ...told };
  }

  async #interrupt(request: Request): Promise<void> {
    const grace = (): Promise<boolean> => sleep(this.#graceMs, false, { ref: false });
    await Promise.race([request.started, grace()]); // before that it would be lost on its way
    try {
      await this.#kernel.interrupt();
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error; // a server that does not answer does not interrupt either
    }
    const isOver = request.ending.then(() => true);
    if (!(await Promise.race([isOver, grace()]))) this.#kernel.giveUp(UNHEEDED);
  }

  #outcomeOf(error: PythonError | null): Outcome {
    if (this.#stopCause !== null) return this.#outcomeOfStop(this.#stopCause);
    return error === null ? { status: 'succeeded' } : { status: 'raised' };
  }

  #outcomeOfStop(cause: StopCause): Outcome {
    if (cause === 'cancelled') return { status: 'cancelled' };
    return { status: 'timed-out', limit: 'wall', limitMs: this.#request.timeoutMs };
  }

  /** Whatever may go on there must not go on unseen. */
  #lost(reason: string): Ending {
    const cause = this.#kernel.isDisconnected ? ({ cause: 'connection' } as const) : {};
    this.#kernel.giveUp(reason);
    const crashed: Outcome = { status: 'crashed', signal: null, exitCode: null, reason, ...cause };
    const outcome = this.#stopCause === null ? crashed : this.#outcomeOfStop(this.#stopCause);
    return { outcome, error: null, loss: reason, variables: UNTOUCHED, dataframes: [], saved: [], value: null };
  }
}

const UNANSWERED = 'after the program had run, the kernel could not say what became of its variables';
const UNHEEDED = 'the program did not heed its interrupt, and the kernel was ended';

function neverRan(): Ending {
  return {
    outcome: { status: 'cancelled' },
    error: null,
    loss: null,
    variables: UNTOUCHED,
    dataframes: [],
    saved: [],
    value: null,
  };
}

/** From the reply, which no limit on output drops. `exit()` and `sys.exit(0)` end a program well. */
function errorIn(reply: Reply): PythonError | null {
  if (reply.status !== 'error') return null;
  const { ename: name, evalue: value, traceback } = reply;
  if (name === 'SystemExit' && ['', '0', 'None'].includes(value)) return null;
  return {
    name: name.slice(0, MAX_VALUE_CHARS),
    value: value.slice(0, MAX_VALUE_CHARS),
    traceback: escapeAnsi(traceback.join('\n')).slice(0, MAX_TRACEBACK_CHARS),
  };
}
