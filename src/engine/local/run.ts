import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Event, Listener } from '../../execution/event.ts';
import type { Outcome } from '../../execution/outcome.ts';
import type { StateEvent } from '../../execution/state.ts';
import type { ActiveRun } from '../base-session.ts';
import type { RunRequest } from '../engine.ts';
import { within } from '../deadline.ts';
import { EventQueue } from '../event-queue.ts';
import { ProtocolViolation } from '../hostile-json.ts';
import { NO_REPORT, type RunEnd, type RunResult } from '../run-end.ts';
import { crashed, outcomeOfExit, type Exit } from './enclosure/exit.ts';
import { describeExcess } from './enclosure/options.ts';
import { LONG_RUN_MS } from './enclosure/watch.ts';
import type { Load } from './load.ts';
import type { DoneFrame, WorkerFrame } from './protocol/worker-frame.ts';
import type { SessionPackages } from './packages/session-packages.ts';
import { RunResults } from './results.ts';
import type { Worker } from './worker/worker.ts';

const MARK_TIMEOUT_MS = 1000;
/** With a program that was interrupted and gets no processor time. */
const MOST_PATIENCE_MS = 10_000;
const HELD_UP_MS = 10;
/** More than the sockets hold, so that everything after it was printed after the end of the run. */
const MAX_LATE_BYTES = 4 << 20;
/** Runs that are as quick as this and follow each other as closely are a burst. */
const BURST_MS = 0.5;

/** Why a run was stopped from outside. */
type LocalStopCause = 'wall' | 'cpu' | 'cancelled' | 'memory' | 'workspace' | 'busy';

interface LocalRunParts {
  readonly worker: Worker;
  readonly request: RunRequest & { readonly filename: string };
  readonly listener: Listener;
  readonly load: Load;
  readonly packages: Pick<SessionPackages, 'giveUp' | 'takeInstalled'>;
  /** Brings back the state after the worker was lost, and says what became of it. */
  readonly recover: (exit: Exit, reason: string) => Promise<StateEvent>;
}

/** One run of code in a worker: sends it, passes on its events, stops it in time, and waits until its state is settled. */
export class LocalRun implements ActiveRun {
  readonly ended: Promise<RunEnd>;
  readonly #parts: LocalRunParts;
  readonly #worker: Worker;
  readonly #queue: EventQueue<Event>;
  readonly #results: RunResults;
  readonly #ending = Promise.withResolvers<DoneFrame | Exit>();
  #startedAt = 0;
  #hasStarted = false;
  #stopCause: LocalStopCause | null = null;
  #stopping: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isKilled = false;
  #isEnding = false;
  #hasTouched = true;

  constructor(parts: LocalRunParts) {
    this.#parts = parts;
    this.#worker = parts.worker;
    this.#queue = new EventQueue({
      listener: parts.listener,
      onPressure: (isFull) => this.#worker.channel.holdOutput(isFull),
      onLeft: () => this.stop('cancelled'),
    });
    this.#results = new RunResults(this.#queue);
    this.ended = this.#conduct();
  }

  get isDelivered(): boolean {
    return this.#queue.isDelivered;
  }

  delivered(): Promise<void> {
    return this.#queue.delivered();
  }

  /** Interrupts the program first. If it goes on, it is killed after the grace period. Code that waits is never sent. */
  stop(cause: LocalStopCause): void {
    this.#queue.hurry();
    if (this.#stopCause !== null || this.#isEnding) return;
    this.#stopCause = cause;
    if (!this.#hasStarted) {
      this.#parts.load.forks.end(this); // it need not wait for its turn any longer
      return;
    }
    this.#parts.packages.giveUp();
    this.#stopping = cause === 'memory' || cause === 'workspace' ? this.#kill() : this.#interrupt();
  }

  async #conduct(): Promise<RunEnd> {
    this.#parts.load.begin();
    const turn = this.#takeTurn();
    try {
      this.#listenToSignal();
      if (turn !== null) await turn;
      const result = this.#stopCause === null ? await this.#carryOut() : this.#omit(this.#stopCause);
      const network = this.#hasStarted ? ((await this.#worker.enclosure.network?.endRun()) ?? null) : null;
      const packages = this.#hasStarted ? this.#parts.packages.takeInstalled() : [];
      return { ...result, ...this.#measure(), dropped: null, cut: this.#results.cut, network, packages };
    } finally {
      this.#end();
    }
  }

  /** The worker makes the twin of the present state before it runs anything, and may have to wait for others to do so. */
  #takeTurn(): Promise<void> | null {
    return this.#makesTwin ? this.#parts.load.forks.take(this) : null;
  }

  #listenToSignal(): void {
    const { signal } = this.#parts.request;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.stop('cancelled');
  }

  get #makesTwin(): boolean {
    const { twins, enclosure } = this.#worker;
    return enclosure.options.twins && (twins.isPending || twins.isOutdated);
  }

  async #carryOut(): Promise<RunResult> {
    this.#start();
    const ending = await this.#ending.promise;
    this.#isEnding = true;
    return 'type' in ending ? this.#afterDone(ending) : this.#afterLoss(ending);
  }

  #measure(): Pick<RunEnd, 'durationMs' | 'outputBytes'> {
    if (!this.#hasStarted) return { durationMs: 0, outputBytes: { stdout: 0, stderr: 0 } };
    const { stdout, stderr } = this.#worker.channel;
    const durationMs = performance.now() - this.#startedAt;
    return { durationMs, outputBytes: { stdout: stdout.end(), stderr: stderr.end() } };
  }

  /** It was stopped before its turn came. */
  #omit(cause: LocalStopCause): RunResult {
    this.#isEnding = true;
    this.#hasTouched = false;
    const report = { ...NO_REPORT, touched: false, unprotected: this.#worker.twins.problem };
    return { outcome: this.#outcomeOfStop(cause), report, event: null };
  }

  /** Its time begins here, in the turn of the event loop in which the code is sent. */
  #start(): void {
    this.#hasStarted = true;
    this.#startedAt = performance.now();
    if (!this.#makesTwin) this.#parts.load.forks.end(this); // it was made while this run waited
    const isBurst = this.#startedAt < this.#worker.burstUntilMs;
    this.#begin(this.#send());
    if (isBurst) this.#stayAwake();
  }

  /** Sends the code. Nothing of the answer is read before the next turn of the event loop. */
  #send(): { readonly mark: number; readonly opening: number | null } {
    const { channel } = this.#worker;
    const { stdout, stderr, marks } = channel;
    const opening = stdout.isDirty || stderr.isDirty ? marks.next() : null;
    const mark = marks.next();
    const { id, code, echo, filename, resultVariable = null, stdin, svg = false } = this.#parts.request;
    channel.send({
      type: 'run',
      id,
      code,
      echo,
      filename,
      resultVariable,
      ...(stdin !== undefined && { stdin }),
      svg,
      opening: opening === null ? null : marks.textOf(opening),
      mark: marks.textOf(mark),
      linger: this.#parts.load.hasSpareCore,
      refresh: this.#worker.twins.isOutdated,
      crowding: this.#parts.load.crowding,
    });
    return { mark, opening };
  }

  #begin({ mark, opening }: { readonly mark: number; readonly opening: number | null }): void {
    const { channel, enclosure } = this.#worker;
    this.#worker.use({
      onFrame: (frame) => this.#onFrame(frame),
      onOverstep: (cause) => this.stop(cause),
      onExit: (exit) => this.#onExit(exit),
      onTwin: () => this.#parts.load.forks.end(this),
    });
    if (!this.#worker.isAlive) this.#ending.resolve(this.#worker.exited);
    for (const stream of ['stdout', 'stderr'] as const) {
      channel[stream].begin(mark, opening, (text) => this.#results.print(stream, text));
    }
    enclosure.network?.beginRun((connection) => this.#results.tell(connection));
    const { timeoutMs } = this.#parts.request;
    enclosure.watch.beginRun(timeoutMs, () => this.#onLongRun());
    if (timeoutMs < LONG_RUN_MS) this.#timer = setTimeout(() => this.#onTimeLimit(), timeoutMs);
  }

  /** If it has ended after its time and we have not stopped it, we were late: the surveyor did it for us. */
  #onExit(exit: Exit): void {
    const isLate = performance.now() - this.#startedAt > this.#parts.request.timeoutMs;
    if (isLate && exit.signal === constants.signals.SIGKILL && !this.#isEnding) this.#stopCause ??= 'wall';
    this.#ending.resolve(exit);
  }

  /** Most runs have ended by now, and need no timer of their own. */
  #onLongRun(): void {
    const remainingMs = this.#parts.request.timeoutMs - (performance.now() - this.#startedAt);
    this.#timer ??= setTimeout(() => this.#onTimeLimit(), Math.max(0, remainingMs));
  }

  #onTimeLimit(): void {
    if (!this.#isEnding) this.stop('wall');
  }

  /** Keeps the event loop turning during a burst: a core that goes to sleep takes longer to wake up than a small run. */
  #stayAwake(): void {
    if (this.#isEnding || !this.#parts.load.hasSpareCore || performance.now() - this.#startedAt >= BURST_MS) return;
    setImmediate(() => this.#stayAwake());
  }

  #end(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const { watch } = this.#worker.enclosure;
    this.#parts.load.end();
    this.#parts.load.forks.end(this);
    this.#worker.burstUntilMs = now - this.#startedAt < BURST_MS ? now + BURST_MS : 0;
    watch.endRun();
    if (this.#stopCause === 'workspace') watch.onOverfilled();
    watch.rest(this.#hasTouched);
    this.#parts.request.signal?.removeEventListener('abort', this.#onAbort);
    this.#worker.release();
  }

  readonly #onAbort = (): void => this.stop('cancelled');

  #onFrame(frame: WorkerFrame): void {
    const { id } = this.#parts.request;
    if (frame.type === 'result' && frame.id === id) {
      this.#results.add(frame);
    } else if (frame.type === 'cut' && frame.id === id) {
      this.#results.note(frame.results);
    } else if (frame.type === 'report' && frame.id === id && !this.#isEnding) {
      this.#results.report(frame);
    } else if (frame.type === 'done' && frame.id === id && !this.#isEnding) {
      this.#isEnding = true;
      this.#worker.twins.onDone(frame); // before the next twin can be announced
      this.#hasTouched = frame.touched;
      this.#results.note(frame.results);
      this.#ending.resolve(frame);
    } else throw new ProtocolViolation(`a frame out of turn: ${frame.type}`);
  }

  async #interrupt(): Promise<void> {
    this.#worker.enclosure.watch.hasten();
    const problem = await this.#worker.interrupt(this.#parts.request.id);
    if (problem === null && (await this.#hasEndedInTime())) return;
    await this.#kill();
  }

  /** False while the worker still makes the twin of the state before this run. Killing it then would cost that state. */
  get #hasBegun(): boolean {
    const { enclosure, twins } = this.#worker;
    return !enclosure.options.twins || !(twins.isPending || (twins.isOutdated && twins.problem === null));
  }

  /** On a busy machine the grace period begins again while the program has not begun, or had no processor to end on. */
  async #hasEndedInTime(): Promise<boolean> {
    const { enclosure } = this.#worker;
    const { graceMs } = enclosure.options.limits;
    const hasEnded = this.#ending.promise.then(() => true);
    const latest = performance.now() + MOST_PATIENCE_MS;
    do if (await within(graceMs, hasEnded, false)) return true;
    while (performance.now() < latest && (!this.#hasBegun || (await enclosure.isStarved())));
    return false;
  }

  async #kill(): Promise<void> {
    this.#isKilled = true;
    await this.#worker.end(this.#commandsEndFor);
  }

  /** Nothing goes on in a session that has passed a limit, no matter which of its processes did. */
  get #commandsEndFor(): string | null {
    const { limits } = this.#worker.enclosure.options;
    if (this.#stopCause === 'memory') return `the session used more than its ${limits.memoryMb} MB (limits.memoryMb)`;
    return this.#stopCause === 'workspace' ? `the session ${describeExcess(limits)}` : null;
  }

  /** The worker has reported its end. Output that was still under way then is complete once both marks came through. */
  async #afterDone(done: DoneFrame): Promise<RunResult> {
    const { twins, channel, enclosure } = this.#worker;
    if (done.marked || channel.isOutputHeldUp) await this.#receiveOutput(done.marked);
    if (this.#stopping !== null) await this.#stopping; // a late interrupt must not hit the next run
    if (done.threads > 0 && this.#stopCause !== null && twins.canUndo(done)) await this.#kill();
    if (this.#isKilled) await within(MARK_TIMEOUT_MS, this.#worker.exited, undefined); // it reported just before its end
    if (this.#stopCause !== null && this.#worker.isAlive) await this.#worker.endLeftovers();
    // A child that the kernel killed shows in the program as a broken pipe or the like. The outcome says the cause.
    const isOutOfMemory = done.memory || (done.error !== null && (await enclosure.hasRunOutOfMemory()));
    // Last of all: what happens to the worker from here on is told by the next receipt.
    if (!this.#worker.isAlive && (this.#isKilled || enclosure.isGone || !twins.isProtected)) {
      if (done.changed) twins.discardChange();
      return this.#afterLoss(await this.#worker.exited, done);
    }
    if (this.#parts.request.isUndoable === false) twins.forgetPrevious();
    return {
      outcome: this.#outcomeOf(done, isOutOfMemory),
      report: { ...done, ...this.#results.reported },
      event: null,
    };
  }

  /** Waits for output under way, and for a slow consumer unless the run was stopped. It does not wait for leftovers that print on. */
  async #receiveOutput(isMarked: boolean): Promise<void> {
    const { channel } = this.#worker;
    const { stdout, stderr } = channel;
    const most = Math.max(stdout.runBytes, stderr.runBytes) + MAX_LATE_BYTES;
    const isFlooded = (): boolean => stdout.runBytes > most || stderr.runBytes > most;
    if (isMarked) {
      const marks = channel.reachMarks();
      while (!(await within(MARK_TIMEOUT_MS, marks, false))) if (!this.#queue.isFull || isFlooded()) return;
    } else while (channel.isOutputHeldUp && !isFlooded()) await sleep(HELD_UP_MS);
  }

  async #afterLoss(exit: Exit, done?: DoneFrame): Promise<RunResult> {
    await this.#stopping;
    const outcome = this.#outcomeOfLoss(exit);
    const cause = this.#stopCause !== null && !this.#isKilled ? outcomeOfExit(exit) : outcome; // it was stopped, and lost
    const reason = done === undefined ? describeLoss(cause) : describeLateLoss(cause, done);
    const event = await this.#parts.recover(exit, reason);
    return { outcome, report: NO_REPORT, event };
  }

  #outcomeOf(done: DoneFrame, isOutOfMemory: boolean): Outcome {
    if (this.#stopCause !== null) return this.#outcomeOfStop(this.#stopCause);
    if (done.error === null) return { status: 'succeeded' };
    if (isOutOfMemory) return this.#outOfMemory();
    return { status: 'raised' };
  }

  #outcomeOfStop(cause: LocalStopCause): Outcome {
    const { limits } = this.#worker.enclosure.options;
    switch (cause) {
      case 'wall':
        return { status: 'timed-out', limit: 'wall', limitMs: this.#parts.request.timeoutMs };
      case 'cpu':
      case 'busy':
        return { status: 'timed-out', limit: 'cpu', limitMs: limits.cpuMs ?? 0 };
      case 'cancelled':
        return { status: 'cancelled' };
      case 'memory':
        return this.#outOfMemory();
      case 'workspace':
        return crashed(`it ${describeExcess(limits)}`);
    }
  }

  #outcomeOfLoss(exit: Exit): Outcome {
    const { violation } = this.#worker;
    if (this.#stopCause !== null) return this.#outcomeOfStop(this.#stopCause);
    if (exit.cause === 'memory') return this.#outOfMemory();
    if (violation !== null) return crashed(`the worker broke the protocol: ${violation}`);
    return outcomeOfExit(exit);
  }

  #outOfMemory(): Outcome {
    return { status: 'out-of-memory', limitMb: this.#worker.enclosure.options.limits.memoryMb };
  }
}

/** The same for a run that has reported its end. Threads end only with their process. */
function describeLateLoss(outcome: Outcome, { threads }: DoneFrame): string {
  return threads > 0 && (outcome.status === 'timed-out' || outcome.status === 'cancelled')
    ? `the program was stopped, but ${threads} threads that it had started went on, and their process was ended`
    : describeLoss(outcome);
}

/** Why the state did not simply go on, from the outcome of the run that cost it. */
function describeLoss(outcome: Outcome): string {
  switch (outcome.status) {
    case 'timed-out':
      return 'the program ignored its interrupt and was killed';
    case 'cancelled':
      return 'the program ignored its cancellation and was killed';
    case 'out-of-memory':
      return `the program was killed above its limit of ${outcome.limitMb} MB`;
    case 'crashed':
      return outcome.reason;
    case 'succeeded':
    case 'raised':
      return 'the process ended after the run';
  }
}
