import type { Limits } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Listener } from '../../execution/event.ts';
import type { StreamBytes, Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { BaseSession } from '../base-session.ts';
import { Unanswered, type Rollback, type RunRequest, type TableRequest } from '../engine.ts';
import type { RunEnd } from '../run-end.ts';
import { outcomeOfExit, type Exit } from './enclosure/exit.ts';
import { describeExcess, type EnclosureOptions, type Home } from './enclosure/options.ts';
import type { Load } from './load.ts';
import { Recovery } from './recovery.ts';
import { LocalRun } from './run.ts';
import type { Worker } from './worker/worker.ts';
import type { Overstep } from './zygote/surveyor.ts';

const INSPECT_ATTEMPTS = 3;
/** The path of the workspace in a session that has a root of its own. */
const WORKSPACE = '/workspace';

/** What a session needs of its engine. */
export interface SessionSupport {
  readonly isolation: Isolation;
  readonly load: Load;
  openWorker(options: EnclosureOptions): Promise<Worker>;
  removeHome(home: Home): Promise<void>;
}

interface LocalSessionParts {
  readonly id: string;
  readonly support: SessionSupport;
  readonly worker: Worker;
  readonly environment: Readonly<Record<string, string>>;
  /** Is disposed of when the session has ended. */
  readonly owned: Disposable;
}

/** A session on this machine. It outlives its processes: a lost one is replaced, and the next receipt says so. */
export class LocalSession extends BaseSession {
  readonly workspace: DirectoryWorkspace;
  readonly #support: SessionSupport;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #owned: Disposable;
  readonly #recovery = new Recovery(() => this.isClosing);
  #worker: Worker;
  #recovering: Promise<void> | null = null;
  #opening: Promise<void> | null = null;
  #cells = 0;
  /** Files were written or removed from outside since the last run began. */
  #hasForeignFiles = false;
  /** Why we ended the worker between runs. */
  #endReason: string | null = null;

  constructor({ id, support, worker, environment, owned }: LocalSessionParts) {
    const { home, options, workspacePath: path } = worker.enclosure;
    const { isolation } = support;
    super(id, { ...isolation, network: options.network ? 'host' : isolation.network });
    const sessionPath = isolation.files === 'private-root' ? WORKSPACE : path;
    this.workspace = new DirectoryWorkspace({
      path,
      uid: home.uid,
      startedEmpty: worker.startedEmpty,
      sessionPath,
      askTouched: () => this.#worker.enclosure.touched(),
      onChange: () => (this.#hasForeignFiles = true),
    });
    this.#support = support;
    this.#environment = environment;
    this.#owned = owned;
    this.#worker = worker;
    this.#adopt(worker);
  }

  async rollback(): Promise<Rollback> {
    const worker = await this.#liveWorker();
    const { previousPid, isOneChangeOld, previousProblem } = worker.twins;
    if (previousPid === null && isOneChangeOld) return this.#beginAgain(worker);
    if (previousPid === null) throw nothingToRollBack(previousProblem);
    let files: string | null = null;
    await this.#recoverBy(async () => {
      files = await worker.rollBack();
      if (files !== null) return;
      await this.#recovery.retire(worker);
      this.state.note({ status: 'lost', reason: 'the twin to roll back to was lost' });
    });
    if (files === null) {
      throw new VivariumError(
        'NOTHING_TO_ROLL_BACK',
        'The earlier state was lost when it was needed; the session starts afresh.',
      );
    }
    return { generation: this.state.rollBack(), files };
  }

  async reset(options?: { readonly keepsNotices?: boolean }): Promise<void> {
    this.assertOpen();
    await this.#recovered();
    await this.#recovery.retire(this.#worker);
    this.state.reset(options);
    await this.#replaceFor('a reset');
  }

  async inspect(): Promise<readonly Variable[]> {
    const worker = await this.#liveWorker();
    for (let attempt = 0; attempt < INSPECT_ATTEMPTS && worker.isAlive; attempt += 1) {
      const answer = await worker.ask({ type: 'inspect' });
      if (answer?.type === 'variables') return answer.variables;
      await this.#recovered(); // a twin has the same variables
    }
    throw new Unanswered(
      `The process of session ${this.id} ended while its variables were inspected. If that happens again and again, reset the session.`,
    );
  }

  async writeTable(request: TableRequest): Promise<void> {
    const worker = await this.#liveWorker();
    const answer = await worker.ask({ type: 'table', ...request });
    if (answer?.type !== 'table') {
      await this.#recovered();
      const { timeoutMs } = worker.enclosure.options.limits;
      const consequence = worker.isAlive ? 'The variables are as they were' : 'The variables are lost';
      throw new VivariumError(
        'TABLE_UNAVAILABLE',
        `The process was lost while it wrote the table "${request.name}", or took longer than ${timeoutMs} ms. ${consequence}; export fewer rows, or raise the limits.`,
      );
    }
    if (answer.problem !== null) throw new VivariumError('TABLE_UNAVAILABLE', answer.problem);
  }

  protected ensureInterpreter(): Promise<void> | undefined {
    if (this.#recovering === null && !this.isClosing && this.#worker.isAlive) return undefined;
    return this.#liveWorker().then(() => undefined);
  }

  protected beginRun(request: RunRequest, listener: Listener): LocalRun {
    const worker = this.#worker;
    this.#cells += 1;
    if (this.#hasForeignFiles) worker.twins.outdate(); // they are part of the state before this run
    this.#hasForeignFiles = false;
    return new LocalRun({
      worker,
      request: { filename: `<cell ${this.#cells}>`, ...request },
      listener,
      load: this.#support.load,
      recover: (exit, reason) => this.#recovery.recover(worker, exit, reason),
    });
  }

  /** A state that any fresh interpreter restores is restored at once, so that the next run need not wait for it. */
  protected afterRun({ event }: RunEnd): Promise<void> | undefined {
    if (event === null) this.#recovery.clear();
    if (event?.status !== 'restored' || this.#worker.isAlive || this.isClosing) return undefined;
    return this.#reopen().catch(() => undefined); // the run has its answer; the next call opens it, or reports why not
  }

  protected takeBackground(): StreamBytes {
    const { stdout, stderr } = this.#worker.channel;
    return { stdout: stdout.takeBackgroundBytes(), stderr: stderr.takeBackgroundBytes() };
  }

  protected async release(): Promise<void> {
    const ended = this.stopRun();
    await this.#worker.close();
    await ended;
    await this.#recovered();
    await this.#opening?.catch(() => undefined); // reported to whoever waits for it
    this.#owned[Symbol.dispose]();
    await this.#support.removeHome(this.#worker.enclosure.home);
  }

  /** Before the first change there was a fresh interpreter, and another one is just the same. */
  async #beginAgain(worker: Worker): Promise<Rollback> {
    await this.#recovery.retire(worker);
    await this.#replaceFor('a rollback to the state before the first run');
    this.isFresh = false;
    const problem = worker.startedEmpty
      ? worker.twins.filesProblem
      : 'the workspace was not empty when the session began';
    const files = problem === null ? await this.#worker.clearFiles() : `kept: ${problem}`;
    return { generation: this.state.rollBack(), files };
  }

  /** The worker to run on, after any recovery that is going on. A lost one is replaced by a new one on the same files. */
  async #liveWorker(): Promise<Worker> {
    this.assertOpen();
    await this.#recovered();
    const worker = this.#worker;
    while (!worker.isAlive && !this.#recovery.isRetired(worker)) {
      const exit = await worker.exited; // asked for now: later it may be that of a twin, which lives on
      await this.#recoverBy(() => this.#recoverIdle(worker, exit)); // lost as its run ended
      this.assertOpen();
    }
    if (!this.#worker.isAlive) await this.#reopen();
    return this.#worker;
  }

  #reopen(): Promise<void> {
    return (this.#opening = this.#openAgain());
  }

  /** Opens a fresh interpreter that was asked for. If that fails, the variables are gone all the same. */
  async #replaceFor(what: string): Promise<void> {
    try {
      await this.#reopen();
    } catch (error) {
      if (!this.isClosing) this.state.note({ status: 'lost', reason: `${what} could not be finished at first` });
      throw error;
    }
  }

  /** Nothing but this replaces an interpreter, and none is replaced in silence. */
  async #openAgain(): Promise<void> {
    const { options, home } = this.#worker.enclosure;
    if (!this.#recovery.isRetired(this.#worker)) {
      this.state.note({ status: 'lost', reason: 'between runs, the process was lost' });
      await this.#recovery.retire(this.#worker);
    }
    const worker = await this.#support.openWorker({ ...options, home }).catch((error: unknown) => {
      throw isFailure(error) ? notReopened(this.id, error) : error;
    });
    this.#worker = worker;
    this.isFresh = true;
    this.#adopt(worker);
    if (this.isClosing) await worker.close();
    this.assertOpen();
  }

  /** A run deals with the loss of its worker itself. A loss at another time is dealt with here. */
  #adopt(worker: Worker): void {
    worker.setEnvironment(this.#environment);
    worker.belongTo({
      onOverstep: (overstep) => void this.#recoverBy(() => this.#endBackground(worker, overstep)),
      onExit: (exit) => {
        if (this.isRunning || this.isClosing || this.#recovery.isRetired(worker)) return;
        void this.#recoverBy(() => this.#recoverIdle(worker, exit));
      },
    });
  }

  /** Does something to the state outside of runs, one thing after the other. */
  #recoverBy(work: () => Promise<void>): Promise<void> {
    const recovering: Promise<void> = (this.#recovering ?? Promise.resolve()).then(work).then(() => {
      if (this.#recovering === recovering) this.#recovering = null;
    });
    this.#recovering = recovering;
    return recovering;
  }

  /** Waits for everything that is done to the state outside of runs: one thing can lead to the next. */
  async #recovered(): Promise<void> {
    while (this.#recovering !== null) await this.#recovering;
  }

  /** The session has passed a limit while no run was on. What runs left behind is ended first, then the worker. */
  async #endBackground(worker: Worker, { cause, leftovers }: Overstep): Promise<void> {
    if (worker.isInUse || this.isClosing || !worker.isAlive || this.#recovery.isRetired(worker)) return;
    const { options, watch } = worker.enclosure;
    const what = describeOverstep(cause, options.limits);
    if (leftovers > 0 && cause !== 'busy') {
      await worker.endLeftovers();
      this.state.note({ status: 'preserved', reason: `between runs, what was left running was ended: it ${what}` });
    } else {
      this.#endReason = `the program went on after its run and was ended: it ${what}`;
      await worker.end();
    }
    watch.rest(true);
  }

  async #recoverIdle(worker: Worker, exit: Exit): Promise<void> {
    if (worker.isAlive || this.#recovery.isRetired(worker) || this.isClosing) return;
    const how = this.#endReason ?? outcomeOfExit(exit).reason;
    this.#endReason = null;
    this.state.note(await this.#recovery.recover(worker, exit, `between runs, ${how}`));
  }
}

function nothingToRollBack(problem: string | null): VivariumError {
  return new VivariumError(
    'NOTHING_TO_ROLL_BACK',
    problem === null
      ? 'There is no earlier state to go back to: nothing has changed the state since the session began, was restored or was rolled back. Only the last change can be undone.'
      : `The last change cannot be undone, because there is no copy of the state before it: ${problem}.`,
  );
}

function isFailure(error: unknown): error is VivariumError {
  return error instanceof VivariumError && error.code === 'ENGINE_FAILED';
}

function notReopened(id: string, cause: VivariumError): VivariumError {
  return new VivariumError(
    'ENGINE_FAILED',
    `The process of session ${id} was lost, and no new one could be opened: ${cause.message} The session and its files are kept, and the next call tries again.`,
    { cause },
  );
}

function describeOverstep(cause: Overstep['cause'], limits: Limits): string {
  const { memoryMb, cpuMs, timeoutMs } = limits;
  switch (cause) {
    case 'memory':
      return `used more than the ${memoryMb} MB of the session`;
    case 'workspace':
      return describeExcess(limits);
    case 'cpu':
      return `used more than ${cpuMs} ms of processor time`;
    case 'busy':
      return `used more than ${timeoutMs} ms of processor time after it had said that it was done`;
  }
}
