import type { Limits } from '../../config.ts';
import type { Zygote } from './zygote.ts';

/** By then the twin of the last run is made, as a rule. */
const REST_AFTER_MS = 100;

/** Whom to watch. */
export interface Subject {
  readonly session: string;
  readonly worker: number;
  readonly dormant: readonly number[];
  readonly limits: Limits;
}

/** Has the zygote watch a session, in its runs and between them. Short runs cost nothing: they are looked at afterwards. */
export class Vigil {
  readonly #zygote: Zygote;
  readonly #subject: () => Subject;
  #timer: NodeJS.Timeout | null = null;
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

  /** A run is on that takes its time. */
  watchRun(): void {
    this.end();
    this.#isResting = false;
    this.#zygote.tell({ op: 'watch', ...this.#order(), busyMs: null, isTold: this.#isTold });
  }

  endRun(): void {
    this.#zygote.tell({ op: 'unwatch', session: this.#subject().session });
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

  #rest(): void {
    this.#timer = null;
    this.#isResting = true;
    const busyMs = this.#subject().limits.timeoutMs;
    this.#zygote.tell({ op: 'rest', ...this.#order(), busyMs, isTold: this.#isTold });
    this.#isTold = false;
  }

  #order(): { readonly session: string; readonly [field: string]: unknown } {
    const { session, worker, dormant, limits } = this.#subject();
    const diskBytes = (limits.workspaceMb + limits.rollbackMb) * 2 ** 20;
    return { session, worker, dormant, cpuMs: limits.cpuMs, diskBytes };
  }
}
