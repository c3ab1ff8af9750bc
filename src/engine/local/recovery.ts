import type { StateEvent } from '../../execution/state.ts';
import type { Exit } from './enclosure/exit.ts';
import type { Worker } from './worker/worker.ts';

/** The exit code of a worker whose own machinery has failed; see worker.py. */
const EXIT_BROKEN = 70;
const MAX_BREAKDOWNS = 2;

/** Brings back the state of one session when its worker is lost, and decides what became of it. */
export class Recovery {
  /** How often in a row the worker's own machinery has failed. A state that breaks it is not worth restoring. */
  #breakdowns = 0;
  /** The worker whose end is told, or was asked for. */
  #retired: Worker | null = null;
  readonly #isClosing: () => boolean;

  constructor(isClosing: () => boolean) {
    this.#isClosing = isClosing;
  }

  /** A run has ended in a way that does not speak against the state. */
  clear(): void {
    this.#breakdowns = 0;
  }

  /** Closes a worker for good. The caller reports its end, unless the session's owner asked for it. */
  async retire(worker: Worker): Promise<void> {
    this.#retired = worker;
    await worker.close();
  }

  isRetired(worker: Worker): boolean {
    return this.#retired === worker;
  }

  /**
   * The state is restored by a twin. A state that no run has changed yet is restored by any fresh interpreter, which the
   * session opens. If neither is possible the state is lost. Unless a twin took over, the worker is retired.
   */
  async recover(worker: Worker, exit: Exit, reason: string): Promise<StateEvent> {
    const isReplaceable = worker.enclosure.options.twins && worker.twins.isPristine && !this.#isClosing();
    this.#breakdowns = exit.code === EXIT_BROKEN ? this.#breakdowns + 1 : 0;
    const isAwake = !exit.isGone && (await worker.recover());
    const isBroken = this.#breakdowns >= MAX_BREAKDOWNS;
    if (isAwake && !isBroken) return { status: 'restored', reason };
    await this.retire(worker);
    if (isAwake) {
      return { status: 'lost', reason: 'what the program has done to Python breaks every run: a fresh interpreter' };
    }
    if (isReplaceable) return { status: 'restored', reason };
    const why = describeFailure(worker, exit);
    return { status: 'lost', reason: why === null || reason.includes(why) ? reason : `${reason}; ${why}` };
  }
}

/** Why no twin has taken over, as far as that is known. */
function describeFailure({ twins, enclosure }: Worker, exit: Exit): string | null {
  if (exit.isGone) return exit.cause;
  if (twins.wakeProblem !== null) return `its twin did not take over: ${enclosure.endReason ?? twins.wakeProblem}`;
  return twins.problem === null ? null : `there was no twin: ${twins.problem}`;
}
