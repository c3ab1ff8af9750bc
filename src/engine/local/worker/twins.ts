import { within } from '../../deadline.ts';
import type { Enclosure } from '../enclosure/enclosure.ts';
import type { WorkerFrame } from '../protocol/worker-frame.ts';
import type { WorkerChannel } from './channel.ts';

/** Far above what it takes on a busy machine: to give up a twin is to lose the state. */
export const TWIN_TIMEOUT_MS = 10_000;
/** Far above what our worker sends between two runs. */
const MAX_FAILURES = 1000;
const FILES_OUTDATED =
  'files were uploaded or removed before the run, or a command may have written some, and no copy of them could be made then';

interface Twin {
  readonly pid: number;
  readonly token: Buffer;
}

type AnswerType = 'renewed' | 'resumed' | 'cleared';
type AnswerFrame<T extends AnswerType> = Extract<WorkerFrame, { type: T }>;

/** The twin that took over, and what became of the files. */
export type Resumed = AnswerFrame<'resumed'>;

/** The dormant copies of a worker: one of the present state, one of the state before the last change. */
export class Twins {
  readonly #enclosure: Enclosure;
  readonly #channel: WorkerChannel;
  #present: Twin | null = null;
  #previous: Twin | null = null;
  /** Changes of the state since the interpreter was fresh. Infinite if that state is out of reach for another reason. */
  #changes = 0;
  /** Why the present state has no twin, as far as the worker has said so. */
  #problem: string | null = null;
  /** Why the previous state has no twin. */
  #previousProblem: string | null = null;
  /** Files were written from outside since the twin of the present state was made. It would undo that. */
  #isOutdated = false;
  /** The same for the twin of the previous state. */
  #isPreviousOutdated = false;
  #failures = 0;
  /** Why the last twin that was to take over did not, if it did not. */
  #wakeProblem: string | null = null;
  #awaited: { readonly type: AnswerType; readonly resolve: (frame: WorkerFrame | null) => void } | null = null;

  constructor(enclosure: Enclosure, channel: WorkerChannel) {
    this.#enclosure = enclosure;
    this.#channel = channel;
  }

  /** Whether a twin of the present state could take over. */
  get isProtected(): boolean {
    return this.#present !== null;
  }

  /** Whether the worker is still to make the twin of the present state, which it does before it begins a run. */
  get isPending(): boolean {
    return this.#present === null && this.#problem === null && !this.isPristine;
  }

  /** Why the last twin that was to take over did not, if it did not. */
  get wakeProblem(): string | null {
    return this.#wakeProblem;
  }

  /** The twin of the state before the last change, if there is one. */
  get previousPid(): number | null {
    return this.#previous?.pid ?? null;
  }

  /** Whether the state is still that of a fresh interpreter. */
  get isPristine(): boolean {
    return this.#changes === 0;
  }

  /** Whether the state before the last change was that of a fresh interpreter. */
  get isOneChangeOld(): boolean {
    return this.#changes === 1;
  }

  /** Why there is no twin of the present state, if that is known. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Why there is no twin of the previous state, if that is known. */
  get previousProblem(): string | null {
    return this.#previousProblem;
  }

  /** Whether a run that begins now must have the worker renew the twin first, or make one if it has none. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Why files cannot be restored to the state before the last change, if that is known. */
  get filesProblem(): string | null {
    return this.#isPreviousOutdated ? FILES_OUTDATED : null;
  }

  get pids(): number[] {
    return [this.#present, this.#previous].flatMap((twin) => (twin === null ? [] : [twin.pid]));
  }

  /** Takes a frame that concerns twins and was expected. False if it is another one. */
  accept(frame: WorkerFrame): boolean {
    if (frame.type === 'twin' && (this.#present === null || (this.#isOutdated && frame.refreshed))) {
      if (frame.refreshed) this.#isOutdated = false;
      this.#present = { pid: frame.pid, token: Buffer.from(frame.token, 'hex') };
      this.#problem = null;
      if (frame.dropped !== null) this.#dropPrevious(frame.dropped);
      return true;
    }
    if (frame.type === 'unprotected' && this.#present === null && this.#failures < MAX_FAILURES) {
      this.#failures += 1;
      this.#problem = frame.reason;
      return true;
    }
    const awaited = this.#awaited;
    if (awaited === null || awaited.type !== frame.type) return false;
    if (frame.type === 'renewed') this.#present = null; // at once: the next frame may name the new twin
    this.#awaited = null;
    awaited.resolve(frame);
    return true;
  }

  /** Files were written from outside, before the run that is about to begin. */
  outdate(): void {
    this.#isOutdated = true;
  }

  /** A run has ended. If it has changed the state, the twin of the present state is one of the previous state now. */
  onDone({ changed, unprotected }: { readonly changed: boolean; readonly unprotected: string | null }): void {
    if (changed) {
      this.#changes += 1;
      this.#previous = this.#present;
      this.#previousProblem = this.#present === null ? this.#problem : null;
      this.#present = null;
      this.#isPreviousOutdated = this.#isOutdated;
      this.#isOutdated = false;
    }
    this.#failures = 0;
    if (this.#present === null) this.#problem = unprotected;
  }

  /** The state that the last run made was lost before it had a twin. The state before that run is the present one again. */
  discardChange(): void {
    this.#present = this.#previous;
    this.#isOutdated = this.#isPreviousOutdated;
    this.#previous = null;
    this.#changes -= 1;
  }

  /** Whether the state of before the run that has just ended can be had again. */
  canUndo({ changed }: { readonly changed: boolean }): boolean {
    return (changed ? this.#previous : this.#present) !== null || this.#changes === (changed ? 1 : 0);
  }

  /** From now on nothing before the present state can be rolled back to. */
  forgetPrevious(): void {
    this.#previous = null;
    this.#changes = Number.POSITIVE_INFINITY;
  }

  #dropPrevious(reason: string): void {
    this.#previous = null;
    this.#previousProblem = reason;
  }

  /** No process is left that could answer. */
  onExit(): void {
    this.#awaited?.resolve(null);
    this.#awaited = null;
  }

  /** Has the worker make another twin of the present state. False if it does not answer: what it says later is out of turn. */
  async renew(): Promise<boolean> {
    const renewed = this.#expect('renewed');
    this.#channel.send({ type: 'renew' });
    return (await renewed) !== null;
  }

  /** Has the worker remove every file. Says what became of them, or null if it does not answer. */
  async clearFiles(): Promise<string | null> {
    const cleared = this.#expect('cleared');
    this.#channel.send({ type: 'clear' });
    return (await cleared)?.files ?? null;
  }

  /** The twin of the present state takes over. Null if there is none, or it is lost too. */
  async wakePresent(): Promise<Resumed | null> {
    return this.#present === null ? null : this.#wake(this.#present, false);
  }

  /** The twin of the previous state takes over, with the files of that time if it knows them. Null if it is lost. */
  async wakePrevious(): Promise<Resumed | null> {
    const { filesProblem } = this;
    const resumed = this.#previous === null ? null : await this.#wake(this.#previous, filesProblem === null);
    return resumed === null || filesProblem === null ? resumed : { ...resumed, files: `kept: ${filesProblem}` };
  }

  async #wake(twin: Twin, restoresFiles: boolean): Promise<Resumed | null> {
    const mark = this.#channel.replaceMark();
    const dormant = this.pids.filter((pid) => pid !== twin.pid);
    this.#previous = this.#present = null;
    this.#problem = this.#previousProblem = null;
    this.#isOutdated = this.#isPreviousOutdated = false; // the worker that takes over makes a twin at once
    const resumed = this.#expect('resumed');
    const inStep = this.#channel.skipTo(twin.token);
    this.#wakeProblem = await this.#enclosure.wake(twin.pid, dormant);
    if (this.#wakeProblem !== null) {
      this.onExit();
      return null;
    }
    this.#channel.writeToken(twin.token);
    void inStep.then(() => this.#channel.send({ type: 'resume', files: restoresFiles, mark }));
    const answer = await resumed;
    if (answer !== null) this.#changes = Number.POSITIVE_INFINITY;
    else this.#wakeProblem = 'it ended, or did not answer in time';
    return answer;
  }

  /** The next frame of a type. Null if the process that should send it ends, or takes too long. */
  async #expect<T extends AnswerType>(type: T): Promise<AnswerFrame<T> | null> {
    const { promise, resolve } = Promise.withResolvers<WorkerFrame | null>();
    const awaited = { type, resolve };
    this.#awaited = awaited;
    const frame = await within(TWIN_TIMEOUT_MS, promise, null);
    if (this.#awaited === awaited) this.#awaited = null;
    return frame as AnswerFrame<T> | null;
  }
}
