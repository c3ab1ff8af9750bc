import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Event, Listener } from '../../execution/event.ts';
import type { DataFrameSummary, VariableChanges } from '../../execution/execution.ts';
import type { Outcome, PythonError } from '../../execution/outcome.ts';
import type { RunRequest } from '../engine.ts';
import { EventQueue } from '../event-queue.ts';
import { ProtocolViolation } from '../hostile-json.ts';
import type { Exit } from './link/options.ts';
import type { Link } from './link/link.ts';
import { LONG_RUN_MS } from './link/vigil.ts';
import type { DoneFrame, ResultFrame, WorkerFrame } from './link/worker-frame.ts';

const MARK_TIMEOUT_MS = 1000;
const HELD_UP_MS = 10;
/** More than the sockets hold: what comes after it was printed after the run's end. */
const MAX_LATE_BYTES = 4 << 20;
/** Far above what a worker of ours sends; who passes them forges frames. */
const MAX_RESULTS = 10_000;
const MAX_RESULT_BYTES = 32 << 20;
/** Runs as quick as this that follow each other as closely are a burst, in which the host stays awake for the next answer. */
const BURST_MS = 0.5;
const UNTOUCHED: VariableChanges = { added: [], changed: [], removed: [] };

/** Why a run was stopped from outside. */
type StopCause = 'wall' | 'cpu' | 'cancelled' | 'memory' | 'workspace' | 'busy';

/** What is known of a run when it has ended. */
export interface RunFacts {
  readonly outcome: Outcome;
  readonly error: PythonError | null;
  readonly status: 'preserved' | 'restored' | 'lost';
  readonly reason: string | null;
  readonly variables: VariableChanges;
  readonly unprotected: string | null;
  /** False when the code only looked at things. */
  readonly mayHaveWritten: boolean;
  /** The variable that was asked for, if there is one. */
  readonly value: DoneFrame['value'];
  readonly dataframes: readonly DataFrameSummary[];
  readonly saved: DoneFrame['saved'];
  readonly durationMs: number;
  readonly outputBytes: { readonly stdout: number; readonly stderr: number };
}

/** One run of code on a link: sends it, hears it out, stops it in time, and brings back the state if the worker is lost. */
export class Run {
  /** Says what came of it, whether everything was heard by then or not. */
  readonly finished: Promise<RunFacts>;
  readonly #link: Link;
  readonly #request: RunRequest & { readonly filename: string };
  readonly #queue: EventQueue<Event>;
  readonly #ending = Promise.withResolvers<DoneFrame | Exit>();
  readonly #startedAt = performance.now();
  #stopCause: StopCause | null = null;
  #stopping: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isKilled = false;
  #results = 0;
  #resultBytes = 0;
  #isEnding = false;
  #hasTouched = true;

  constructor(link: Link, request: RunRequest & { readonly filename: string }, hear: Listener) {
    this.#link = link;
    this.#request = request;
    this.#queue = new EventQueue({
      hear,
      onPressure: (isFull) => link.holdOutput(isFull),
      onLeft: () => this.stop('cancelled'),
    });
    this.finished = this.#conduct();
  }

  /** Whether nothing is left to be waited for. */
  get isHeard(): boolean {
    return this.#queue.isHeard;
  }

  /** Waits until all events were heard. Throws what the listener has thrown, which has stopped the program. */
  heard(): Promise<void> {
    return this.#queue.heard();
  }

  /** Interrupts first; what does not heed that is killed after the grace period. */
  stop(cause: StopCause): void {
    this.#queue.hurry();
    if (this.#stopCause !== null || this.#isEnding) return;
    this.#stopCause = cause;
    this.#stopping = cause === 'memory' || cause === 'workspace' ? this.#kill() : this.#interrupt();
  }

  async #conduct(): Promise<RunFacts> {
    const { stdout, stderr, marks } = this.#link;
    const opening = stdout.isDirty || stderr.isDirty ? marks.next() : null;
    const mark = marks.next();
    const { id, code, echo, filename, resultVariable = null, svg = false } = this.#request;
    this.#link.send({
      type: 'run',
      id,
      code,
      echo,
      filename,
      resultVariable,
      svg,
      opening: opening === null ? null : marks.textOf(opening),
      mark: marks.textOf(mark),
    });
    this.#begin(mark, opening); // while the worker reads: nothing of it is heard before the next turn of the loop
    if (this.#startedAt < this.#link.burstUntilMs) this.#stayAwake();
    try {
      const ending = await this.#ending.promise;
      this.#isEnding = true;
      const end = 'type' in ending ? await this.#afterDone(ending) : await this.#afterLoss(ending);
      const durationMs = performance.now() - this.#startedAt;
      return { ...end, durationMs, outputBytes: { stdout: stdout.end(), stderr: stderr.end() } };
    } finally {
      this.#end();
    }
  }

  #begin(mark: number, opening: number | null): void {
    this.#link.onFrame = (frame) => this.#onFrame(frame);
    this.#link.onOverstepped = (cause) => this.stop(cause);
    this.#link.onExit = (exit) => this.#ending.resolve(exit);
    if (!this.#link.isAlive) this.#ending.resolve(this.#link.exited);
    for (const stream of ['stdout', 'stderr'] as const) {
      this.#link[stream].begin(mark, opening, (text) =>
        this.#queue.push({ type: 'output', stream, text }, text.length),
      );
    }
    const { timeoutMs, signal } = this.#request;
    this.#link.vigil.beginRun(() => this.#onLongRun());
    if (timeoutMs < LONG_RUN_MS) this.#timer = setTimeout(() => this.#onTimeLimit(), timeoutMs);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.stop('cancelled');
  }

  /** Most runs have ended by now, and need no timer of their own. */
  #onLongRun(): void {
    const remainingMs = this.#request.timeoutMs - (performance.now() - this.#startedAt);
    this.#timer ??= setTimeout(() => this.#onTimeLimit(), Math.max(0, remainingMs));
  }

  #onTimeLimit(): void {
    if (!this.#isEnding) this.stop('wall');
  }

  /** A processor that goes to sleep takes longer to wake up than a small run takes. */
  #stayAwake(): void {
    if (!this.#isEnding && performance.now() - this.#startedAt < BURST_MS) setImmediate(() => this.#stayAwake());
  }

  #end(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    this.#link.burstUntilMs = now - this.#startedAt < BURST_MS ? now + BURST_MS : 0;
    this.#link.vigil.endRun();
    this.#link.vigil.rest(this.#hasTouched);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#link.onFrame = null;
    this.#link.onOverstepped = null;
    this.#link.onExit = null;
  }

  readonly #onAbort = (): void => this.stop('cancelled');

  #onFrame(frame: WorkerFrame): void {
    if (frame.type === 'result' && frame.id === this.#request.id) {
      this.#addResult(frame);
    } else if (frame.type === 'done' && frame.id === this.#request.id && !this.#isEnding) {
      this.#isEnding = true;
      this.#hasTouched = frame.touched;
      this.#ending.resolve(frame);
    } else throw new ProtocolViolation(`a frame out of turn: ${frame.type}`);
  }

  #addResult({ kind, data, chart, title, picture }: ResultFrame): void {
    let size = 0;
    for (const mime in data) size += data[mime]?.length ?? 0;
    this.#results += 1;
    this.#resultBytes += size;
    if (this.#results > MAX_RESULTS || this.#resultBytes > MAX_RESULT_BYTES) {
      throw new ProtocolViolation(`${this.#results} results of ${this.#resultBytes} bytes`);
    }
    if (kind === 'clear') this.#queue.push({ type: 'clear' }, 0);
    else {
      const result = { kind, data, ...(chart !== null && { chart }), ...(title !== null && { title }) };
      this.#queue.push({ type: 'result', result, ...(picture !== null && { picture }) }, size);
    }
  }

  async #interrupt(): Promise<void> {
    const problem = await this.#link.interrupt();
    const ending = this.#ending.promise.then(() => true);
    const heeded = problem === null && (await Promise.race([ending, sleep(this.#link.options.limits.graceMs, false)]));
    if (!heeded) await this.#kill();
  }

  async #kill(): Promise<void> {
    this.#isKilled = true;
    await this.#link.endWorker();
  }

  /** The worker has reported; output that was still under way then is complete once both marks came through. */
  async #afterDone(done: DoneFrame): Promise<Omit<RunFacts, 'durationMs' | 'outputBytes'>> {
    if (done.marked || this.#link.isOutputHeldUp) await this.#outputThrough(done.marked);
    if (this.#stopping !== null) await this.#stopping; // a late interrupt must not hit the run after this one
    if (this.#isKilled) await Promise.race([this.#link.exited, sleep(MARK_TIMEOUT_MS)]); // it spoke with its last breath
    if (!this.#link.isAlive && !this.#link.isGuarded) {
      if (done.changed) this.#link.discardState();
      return this.#afterLoss(await this.#link.exited);
    }
    if (this.#request.isUndoable === false) this.#link.forgetPrevious();
    if (this.#stopCause !== null && this.#link.isAlive) await this.#link.endLeftovers();
    // A child that the kernel killed shows in the program as a broken pipe or the like: the fact is told instead.
    const isOutOfMemory = done.memory || (done.error !== null && (await this.#link.hasRunOutOfMemory()));
    return {
      outcome: this.#outcomeOf(done, isOutOfMemory),
      error: done.error,
      status: 'preserved',
      reason: null,
      variables: done.variables,
      unprotected: done.unprotected,
      mayHaveWritten: done.touched,
      value: done.value,
      dataframes: done.dataframes,
      saved: done.saved,
    };
  }

  /** Waits for output that is under way; a slow consumer is waited for, unless the run was stopped. Whoever prints on is not. */
  async #outputThrough(isMarked: boolean): Promise<void> {
    const { stdout, stderr } = this.#link;
    const most = Math.max(stdout.runBytes, stderr.runBytes) + MAX_LATE_BYTES;
    const isFlooded = (): boolean => stdout.runBytes > most || stderr.runBytes > most;
    if (isMarked) {
      const marks = Promise.all([stdout.complete(), stderr.complete()]).then(() => true);
      while (!(await Promise.race([marks, sleep(MARK_TIMEOUT_MS, false, { ref: false })])))
        if (!this.#queue.isFull || isFlooded()) return;
    } else while (this.#link.isOutputHeldUp && !isFlooded()) await sleep(HELD_UP_MS);
  }

  #outcomeOf(done: DoneFrame, isOutOfMemory: boolean): Outcome {
    if (this.#stopCause !== null) return this.#outcomeOfStop(this.#stopCause);
    if (done.error === null) return { status: 'succeeded' };
    if (isOutOfMemory) return { status: 'out-of-memory', limitMb: this.#link.options.limits.memoryMb };
    return { status: 'raised' };
  }

  #outcomeOfStop(cause: StopCause): Outcome {
    const { limits } = this.#link.options;
    switch (cause) {
      case 'wall':
        return { status: 'timed-out', limit: 'wall', limitMs: this.#request.timeoutMs };
      case 'cpu':
      case 'busy':
        return { status: 'timed-out', limit: 'cpu', limitMs: limits.cpuMs ?? 0 };
      case 'cancelled':
        return { status: 'cancelled' };
      case 'memory':
        return { status: 'out-of-memory', limitMb: limits.memoryMb };
      case 'workspace':
        return crashed(null, null, `it wrote more than the ${limits.workspaceMb} MB that the workspace may hold`);
    }
  }

  async #afterLoss(exit: Exit): Promise<Omit<RunFacts, 'durationMs' | 'outputBytes'>> {
    await this.#stopping;
    const outcome = this.#outcomeOfLoss(exit);
    const isRestored = !exit.isGone && (await this.#link.recover());
    if (!isRestored) await this.#link.close();
    return {
      outcome,
      error: null,
      status: isRestored ? 'restored' : 'lost',
      reason: describeLoss(outcome),
      variables: UNTOUCHED,
      unprotected: null,
      mayHaveWritten: true,
      value: null,
      dataframes: [],
      saved: [],
    };
  }

  #outcomeOfLoss(exit: Exit): Outcome {
    if (this.#stopCause !== null) return this.#outcomeOfStop(this.#stopCause);
    if (exit.cause === 'memory') return { status: 'out-of-memory', limitMb: this.#link.options.limits.memoryMb };
    if (this.#link.violation !== null)
      return crashed(null, null, `the worker broke the protocol: ${this.#link.violation}`);
    return crashedBy(exit);
  }
}

/** How a process ended, in words. */
export function crashedBy(exit: Exit): Outcome {
  if (exit.isGone)
    return crashed(null, null, `the session's processes were ended from outside (${exit.cause ?? 'killed'})`);
  if (exit.signal === null) return crashed(null, exit.code, `the process ended by itself with exit code ${exit.code}`);
  const signal =
    Object.entries(constants.signals).find(([, number]) => number === exit.signal)?.[0] ?? `signal ${exit.signal}`;
  return crashed(signal, null, `the process was killed by ${signal}`);
}

function crashed(signal: string | null, exitCode: number | null, reason: string): Outcome {
  return { status: 'crashed', signal, exitCode, reason };
}

function describeLoss(outcome: Outcome): string {
  switch (outcome.status) {
    case 'timed-out':
      return 'the program did not heed its interrupt and was killed';
    case 'cancelled':
      return 'the program did not heed its cancellation and was killed';
    case 'out-of-memory':
      return `the program was killed above its limit of ${outcome.limitMb} MB`;
    case 'crashed':
      return outcome.reason;
    case 'succeeded':
    case 'raised':
      return 'the process ended after the run';
  }
}
