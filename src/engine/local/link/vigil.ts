import type { Limits } from '../../../config.ts';
import type { Zygote } from '../zygote/zygote.ts';

/** Shorter runs are not watched. */
export const LONG_RUN_MS = 50;
/** By then the twin of the last run is made, as a rule. */
const REST_AFTER_MS = 100;

/** Whom to watch. */
export interface Subject {
  readonly enclosure: string;
  readonly worker: number;
  readonly dormant: readonly number[];
  readonly limits: Limits;
}

/** Has the zygote watch a session, in its runs and between them. Short runs cost nothing: they are looked at afterwards. */
export class Vigil {
  readonly #zygote: Zygote;
  readonly #subject: () => Subject;
  #timer: NodeJS.Timeout | null = null;
  #isClockOn = false;
  #run: { readonly startedMs: number; readonly onLong: () => void } | null = null;
  #isWatching = false;
  #isResting = false;
  #isTold = false;

  constructor(zygote: Zygote, subject: () => Subject) {
    this.#zygote = zygote;
    this.#subject = subject;
  }

  /** Whether what is watched for now is what goes on between runs. */
  get isResting(): boolean {
    return this.#isResting;
  }

  /** A run begins. If it takes its time it is watched, and `onLong` called: one clock does for a burst of runs. */
  beginRun(onLong: () => void): void {
    this.#run = { startedMs: performance.now(), onLong };
    if (!this.#isClockOn) this.#startClock(LONG_RUN_MS);
  }

  endRun(): void {
    this.#run = null;
    if (this.#isWatching) this.#zygote.tell({ op: 'unwatch', enclosure: this.#subject().enclosure });
    this.#isWatching = false;
  }

  /**
   * No run is on any more: what goes on all the same is watched from a moment later on, once for a burst of runs.
   * `isTold` when the size of the workspace was looked at after the run.
   */
  rest(isTold: boolean): void {
    this.#isTold ||= isTold;
    this.#timer ??= setTimeout(() => this.#rest(), REST_AFTER_MS).unref();
  }

  /** There is one more that only sleeps. */
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
    else this.#watch(this.#run.onLong);
  }

  #watch(onLong: () => void): void {
    this.end();
    this.#isResting = false;
    this.#isWatching = true;
    this.#zygote.tell({ op: 'watch', ...this.#order(), busyMs: null, isTold: this.#isTold });
    onLong();
  }

  #rest(): void {
    this.#timer = null;
    this.#isResting = true;
    const busyMs = this.#subject().limits.timeoutMs;
    this.#zygote.tell({ op: 'rest', ...this.#order(), busyMs, isTold: this.#isTold });
    this.#isTold = false;
  }

  #order(): { readonly enclosure: string; readonly [field: string]: unknown } {
    const { enclosure, worker, dormant, limits } = this.#subject();
    const diskBytes = (limits.workspaceMb + limits.rollbackMb) * 2 ** 20;
    return { enclosure, worker, dormant, cpuMs: limits.cpuMs, diskBytes };
  }
}
