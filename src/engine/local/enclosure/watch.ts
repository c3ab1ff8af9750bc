import type { Limits } from '../../../config.ts';
import type { SurveyOrder } from '../zygote/surveyor.ts';

/** Shorter runs are not watched. */
export const LONG_RUN_MS = 50;
/** The surveyor ends a run itself if we have not done so this long after its time, because our event loop stands still. */
const LATE_MS = 5000;
/** The same for a run that has been told to end. It gets at most ten seconds of patience. */
const STOPPING_MS = 20_000;
/** By then the twin of the last run usually exists. */
const REST_AFTER_MS = 100;
/** What is seen too late twice within this time is taken for true: a program could otherwise hide behind many short runs. */
const DOUBT_MS = 2000;

interface WatchTarget {
  readonly worker: number;
  readonly dormant: readonly number[];
  readonly limits: Limits;
}

interface WatchedRun {
  readonly startedMs: number;
  readonly timeoutMs: number;
  readonly onLong: () => void;
  isWatched: boolean;
}

/** Has the surveyor measure a session against its limits, during runs and between them. Short runs are measured afterwards. */
export class Watch {
  readonly #send: (order: SurveyOrder) => void;
  readonly #target: () => WatchTarget;
  #timer: NodeJS.Timeout | null = null;
  #isClockOn = false;
  #run: WatchedRun | null = null;
  #isWatching = false;
  #isResting = false;
  #isDiskMeasured = false;
  #isOverfilled = false;
  /** Orders are numbered, and those from this one on are about what goes on now: the run, or the rest after it. */
  #firstOfPhase = 1;
  #orders = 0;
  #doubtedAtMs = -Infinity;

  constructor(send: (order: SurveyOrder) => void, target: () => WatchTarget) {
    this.#send = send;
    this.#target = target;
  }

  /** Whether the surveyor measures what goes on between runs. */
  get isResting(): boolean {
    return this.#isResting;
  }

  /** A run begins. If it takes long it is watched, and `onLong` is called. One clock serves a burst of runs. */
  beginRun(timeoutMs: number, onLong: () => void): void {
    this.#run = { startedMs: performance.now(), timeoutMs, onLong, isWatched: false };
    this.#firstOfPhase = this.#orders + 1;
    if (!this.#isClockOn) this.#startClock(LONG_RUN_MS);
  }

  /** The run has been told to end. It comes before the others, so that one among many does not seem to ignore it. */
  hasten(): void {
    if (!this.#isWatching) return;
    const wallMs = STOPPING_MS + this.#target().limits.graceMs;
    this.#send({ op: 'watch', ...this.#fields(), busyMs: null, isStopping: true, toleratesFound: false, wallMs });
  }

  /**
   * Returns whether an excess counts that was seen under this order. If a run has begun or ended since, memory may have
   * been freed and files removed: then it does not, and the session is looked at again.
   */
  confirm(order: number): boolean {
    if (order >= this.#firstOfPhase || performance.now() - this.#doubtedAtMs < DOUBT_MS) return true;
    this.#doubtedAtMs = performance.now();
    if (this.#run === null) this.rest(false);
    else this.#watch(this.#run);
    return false;
  }

  endRun(): void {
    if (this.#run !== null) this.#firstOfPhase = this.#orders + 1;
    this.#run = null;
    if (this.#isWatching) this.#send({ op: 'unwatch' });
    this.#isWatching = false;
  }

  /**
   * No run is on any more. What still goes on is watched from a moment later, once for a burst of runs.
   * `isDiskMeasured` if the size of the workspace was measured after the run.
   */
  rest(isDiskMeasured: boolean): void {
    this.#isDiskMeasured ||= isDiskMeasured || this.#isOverfilled;
    if (this.#isOverfilled) {
      this.end();
      this.#rest();
      return;
    }
    this.#timer ??= setTimeout(() => this.#rest(), REST_AFTER_MS).unref();
  }

  /** A run was ended for its files. From now on they are measured right after each run, so that the next is held to them. */
  onOverfilled(): void {
    this.#isOverfilled = true;
  }

  /** There is one more dormant process. */
  renew(): void {
    if (this.#isResting) this.rest(false);
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #startClock(ms: number): void {
    this.#isClockOn = true;
    setTimeout(() => this.#onClock(), ms).unref();
  }

  #onClock(): void {
    this.#isClockOn = false;
    if (this.#run === null) return;
    const remainingMs = this.#run.startedMs + LONG_RUN_MS - performance.now();
    if (remainingMs > 0) this.#startClock(Math.ceil(remainingMs));
    else if (!this.#run.isWatched) this.#watch(this.#run);
  }

  #watch(run: WatchedRun): void {
    const { startedMs, timeoutMs, onLong } = run;
    run.isWatched = true;
    // What an earlier run left is not known yet, and this one must not be ended for it.
    const toleratesFound = this.#timer !== null;
    this.end();
    this.#isResting = false;
    this.#isWatching = true;
    const wallMs = Math.max(0, startedMs + timeoutMs - performance.now()) + LATE_MS;
    this.#send({ op: 'watch', ...this.#fields(), busyMs: null, isStopping: false, toleratesFound, wallMs });
    onLong();
  }

  #rest(): void {
    this.#timer = null;
    this.#isResting = true;
    const { timeoutMs } = this.#target().limits;
    const toleratesFound = this.#isDiskMeasured;
    this.#send({ op: 'rest', ...this.#fields(), busyMs: timeoutMs, isStopping: false, toleratesFound, wallMs: null });
    this.#isDiskMeasured = false;
  }

  #fields(): Readonly<Record<string, unknown>> {
    const { worker, dormant, limits } = this.#target();
    const diskBytes = (limits.workspaceMb + limits.rollbackMb) * 2 ** 20;
    const memoryBytes = limits.memoryMb * 2 ** 20;
    this.#orders += 1;
    return { order: this.#orders, worker, dormant, memoryBytes, cpuMs: limits.cpuMs, diskBytes };
  }
}
