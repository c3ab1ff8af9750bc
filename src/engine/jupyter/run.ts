import { VivariumError } from '../../errors.ts';
import type { Listener } from '../../execution/event.ts';
import type { Json } from '../../execution/execution.ts';
import type { Outcome, PythonError } from '../../execution/outcome.ts';
import { inLine } from '../../text/in-line.ts';
import { cleanText, escapeControls } from '../../text/visible.ts';
import type { ActiveRun } from '../base-session.ts';
import { within } from '../deadline.ts';
import type { RunRequest } from '../engine.ts';
import { parseJson, ProtocolViolation } from '../hostile-json.ts';
import { DataFrameSummary, MAX_SAVED, MAX_TABLES, ResultsCut, SavedFigure, VariableChanges } from '../python-words.ts';
import { NO_REPORT, type RunEnd, type RunReport, type RunResult } from '../run-end.ts';
import { fields, listOf, orNull, text } from '../shape.ts';
import type { KernelRequest } from './kernel/channel.ts';
import { answerIn, command, question } from './kernel/companion.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { KernelMessage, KernelReply } from './kernel/message.ts';
import { RunOutput } from './run-output.ts';

/** A kernel that was interrupted once is not interrupted again. It gets this much time to report, and is then given up. */
const REPORT_TIMEOUT_MS = 5000;
const MAX_VALUE_CHARS = 10_000;
const MAX_TRACEBACK_CHARS = 50_000;
const UNPROTECTED = 'a Jupyter kernel has no twin: a crash, or an interrupt that is ignored, costs all variables';
const REMEDY = 'Write what took long to compute to a file.';
const UNHEEDED = 'the program ignored its interrupt, and the kernel was ended';

const Finish = fields({
  variables: VariableChanges,
  dataframes: listOf(DataFrameSummary, MAX_TABLES),
  saved: listOf(SavedFigure, MAX_SAVED),
  value: orNull(text()),
  results: orNull(ResultsCut),
});

type JupyterStopCause = 'wall' | 'cancelled';

interface JupyterRunParts {
  readonly request: RunRequest;
  readonly listener: Listener;
  readonly graceMs: number;
}

/** One run of code in a kernel: sends it, passes on its events, stops it in time, and asks what became of the variables. */
export class JupyterRun implements ActiveRun {
  readonly ended: Promise<RunEnd>;
  readonly #kernel: Kernel;
  readonly #request: RunRequest;
  readonly #graceMs: number;
  readonly #output: RunOutput;
  readonly #startedAt = performance.now();
  #current: KernelRequest | null = null;
  #stopCause: JupyterStopCause | null = null;
  #stopping: Promise<void> = Promise.resolve();
  #isOver = false;
  #cut: RunEnd['cut'] = null;

  constructor(kernel: Kernel, { request, listener, graceMs }: JupyterRunParts) {
    this.#kernel = kernel;
    this.#request = request;
    this.#graceMs = graceMs;
    this.#output = new RunOutput(listener, () => this.stop('cancelled'));
    this.ended = this.#conduct();
  }

  get isDelivered(): boolean {
    return this.#output.events.isDelivered;
  }

  delivered(): Promise<void> {
    return this.#output.events.delivered();
  }

  /** Interrupts the program first. If it goes on, the kernel is given up after the grace period. */
  stop(cause: JupyterStopCause): void {
    this.#output.events.hurry();
    if (this.#stopCause !== null || this.#isOver) return;
    this.#stopCause = cause;
    if (this.#current !== null) this.#stopping = this.#interrupt(this.#current);
  }

  async #conduct(): Promise<RunEnd> {
    const onAbort = (): void => this.stop('cancelled');
    const { signal, timeoutMs } = this.#request;
    const timer = setTimeout(() => this.stop('wall'), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) this.stop('cancelled');
    try {
      const result = this.#stopCause === null ? await this.#execute() : neverRan();
      const { outputBytes, dropped } = this.#output;
      return { ...result, durationMs: performance.now() - this.#startedAt, outputBytes, dropped, cut: this.#cut };
    } finally {
      this.#isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #execute(): Promise<RunResult> {
    const { code, echo, svg = false } = this.#request;
    const begun = this.#kernel.send(command('begin', echo, svg));
    const run = this.#kernel.send({ code, isSilent: false, stopOnError: false }, (message: KernelMessage) =>
      this.#output.add(message),
    );
    this.#current = run;
    const ending = await run.ending;
    this.#current = null;
    await this.#stopping; // a late interrupt must not hit what comes next
    if ('loss' in ending) return this.#lost(ending.loss);
    if (!ending.isWhole) this.#output.miss('the kernel did not say when its output was complete');
    const beginning = await begun.ending;
    const isReady = 'reply' in beginning && beginning.reply.status === 'ok';
    if (isReady && (ending.reply.status === 'ok' || ending.reply.status === 'error' || this.#stopCause !== null)) {
      return this.#finish(ending.reply);
    }
    return this.#lost('what the program has done to Python keeps the kernel from running code');
  }

  /** Asks for the report. The clock still runs, because values may be slow to describe. */
  async #finish(reply: KernelReply): Promise<RunResult> {
    const request = this.#kernel.send(question('finish', this.#request.resultVariable ?? null));
    if (this.#stopCause === null) this.#current = request;
    const giveUp = (): void => this.#kernel.giveUp(UNHEEDED);
    const timer = this.#stopCause === null ? undefined : setTimeout(giveUp, REPORT_TIMEOUT_MS);
    const ending = await request.ending;
    clearTimeout(timer);
    this.#current = null;
    await this.#stopping;
    if ('loss' in ending) return this.#lost(ending.loss);
    const found = answerIn(Finish, ending);
    const error = errorIn(reply);
    if ('problem' in found && this.#stopCause === null) return this.#lost(`${UNANSWERED}: ${inLine(found.problem)}`);
    const answer = 'answer' in found ? { ...found.answer, value: valueIn(found.answer.value) } : {};
    if ('answer' in found) this.#cut = found.answer.results;
    const report: RunReport = { ...NO_REPORT, unprotected: UNPROTECTED, remedy: REMEDY, error, ...answer };
    return { outcome: this.#outcomeOf(error), report, event: null };
  }

  async #interrupt(request: KernelRequest): Promise<void> {
    await within(this.#graceMs, request.started, undefined); // an earlier interrupt would get lost
    try {
      await this.#kernel.interrupt();
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error; // a server that does not answer does not interrupt either
    }
    const isOver = request.ending.then(() => true);
    if (!(await within(this.#graceMs, isOver, false))) this.#kernel.giveUp(UNHEEDED);
  }

  #outcomeOf(error: PythonError | null): Outcome {
    if (this.#stopCause !== null) return this.#outcomeOfStop(this.#stopCause);
    return error === null ? { status: 'succeeded' } : { status: 'raised' };
  }

  #outcomeOfStop(cause: JupyterStopCause): Outcome {
    if (cause === 'cancelled') return { status: 'cancelled' };
    return { status: 'timed-out', limit: 'wall', limitMs: this.#request.timeoutMs };
  }

  /** The kernel is ended, so that nothing goes on in it unseen. */
  #lost(reason: string): RunResult {
    const cause = this.#kernel.isDisconnected ? ({ cause: 'connection' } as const) : {};
    this.#kernel.giveUp(reason);
    const crashed: Outcome = { status: 'crashed', signal: null, exitCode: null, reason, ...cause };
    const outcome = this.#stopCause === null ? crashed : this.#outcomeOfStop(this.#stopCause);
    return {
      outcome,
      report: { ...NO_REPORT, unprotected: UNPROTECTED, remedy: REMEDY },
      event: { status: 'lost', reason },
    };
  }
}

const UNANSWERED = 'after the program had run, the kernel could not say what became of its variables';

function neverRan(): RunResult {
  const report = { ...NO_REPORT, touched: false, unprotected: UNPROTECTED, remedy: REMEDY };
  return { outcome: { status: 'cancelled' }, report, event: null };
}

/** Taken from the reply, which no limit on output can drop. `exit()` and `sys.exit(0)` are not errors. */
function errorIn(reply: KernelReply): PythonError | null {
  if (reply.status !== 'error') return null;
  const { ename: name, evalue: value, traceback } = reply;
  if (name === 'SystemExit' && ['', '0', 'None'].includes(value)) return null;
  return {
    name: inLine(name),
    value: escapeControls(value.slice(0, MAX_VALUE_CHARS)),
    traceback: cleanText(traceback.join('\n')).slice(0, MAX_TRACEBACK_CHARS),
  };
}

/** Text that is not JSON counts as no value: only the program itself can have put it there. */
function valueIn(encoded: string | null): { readonly json: Json } | null {
  if (encoded === null) return null;
  try {
    return { json: parseJson(Buffer.from(encoded)) as Json };
  } catch (error) {
    if (error instanceof ProtocolViolation) return null;
    throw error;
  }
}
