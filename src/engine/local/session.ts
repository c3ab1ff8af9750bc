import type { Limits } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Command } from '../../execution/command.ts';
import type { Listener } from '../../execution/event.ts';
import type { StreamBytes, Variable } from '../../execution/execution.ts';
import { withNetwork, type Isolation } from '../../execution/isolation.ts';
import { keepAlive } from '../../process-life.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { BaseSession } from '../base-session.ts';
import type { Requirement } from '../../requirement/requirement.ts';
import { LocalCommand } from './command/command.ts';
import {
  Unanswered,
  type CommandRequest,
  type PackageInstallation,
  type Rollback,
  type RunRequest,
  type TableRequest,
} from '../engine.ts';
import type { FoundNames } from '../python-words.ts';
import type { RunEnd } from '../run-end.ts';
import type { Shaped } from '../shape.ts';
import { outcomeOfExit, type Exit } from './enclosure/exit.ts';
import { describeExcess, type EnclosureOptions, type Home } from './enclosure/options.ts';
import type { WorkerSocket } from './instance/worker-socket.ts';
import type { Load } from './load.ts';
import { Recovery } from './recovery.ts';
import type { SessionPackages } from './packages/session-packages.ts';
import { LocalRun } from './run.ts';
import type { WorkerFrame } from './protocol/worker-frame.ts';
import type { Worker } from './worker/worker.ts';
import type { Overstep } from './zygote/surveyor.ts';

const ASK_ATTEMPTS = 3;
/** The path of the workspace in a session that has a root of its own. */
const WORKSPACE = '/workspace';

/** What a session needs of its engine. */
export interface SessionSupport {
  readonly isolation: Isolation;
  readonly load: Load;
  readonly workerSocket: WorkerSocket;
  openWorker(options: EnclosureOptions): Promise<Worker>;
  removeHome(home: Home): Promise<void>;
}

interface LocalSessionParts {
  readonly id: string;
  readonly support: SessionSupport;
  readonly worker: Worker;
  readonly env: Readonly<Record<string, string>>;
  readonly packages: SessionPackages;
  /** Is disposed of when the session has ended. */
  readonly owned: Disposable;
}

/** A session on this machine. It outlives its processes: a lost one is replaced, and the next receipt says so. */
export class LocalSession extends BaseSession {
  readonly workspace: DirectoryWorkspace;
  readonly #support: SessionSupport;
  readonly #env: Readonly<Record<string, string>>;
  readonly #packages: SessionPackages;
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

  constructor({ id, support, worker, env, packages, owned }: LocalSessionParts) {
    const { home, options, workspacePath: path } = worker.enclosure;
    const { isolation } = support;
    super(id, withNetwork(isolation, options.network));
    const sessionPath = isolation.files === 'private-root' ? WORKSPACE : path;
    this.workspace = new DirectoryWorkspace({
      path,
      uid: home.uid,
      startedEmpty: worker.startedEmpty,
      sessionPath,
      askTouched: () => keepAlive(this.#worker.enclosure.touched()),
      onChange: () => (this.#hasForeignFiles = true),
    });
    this.#support = support;
    this.#env = env;
    this.#packages = packages;
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
    this.#worker.enclosure.explainCommands('the session was reset');
    await this.#recovery.retire(this.#worker);
    if (options?.keepsNotices !== true) this.state.reset();
    await this.#replaceFor('a reset');
  }

  async inspect(): Promise<readonly Variable[]> {
    const answer = await this.#ask({ type: 'inspect' }, 'variables');
    return answer.variables;
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

  /** A command runs beside Python, also beside a run, whose own loss the run deals with. */
  async start(request: CommandRequest): Promise<Command> {
    if (this.isRunning) this.assertOpen();
    else await this.#liveWorker();
    const worker = this.#worker;
    const { enclosure } = worker;
    const variables = { ...enclosure.network?.variables, ...this.#env };
    const { workerSocket } = this.#support;
    this.#hasForeignFiles = true;
    const command = await LocalCommand.start({ enclosure, workerSocket, variables, request });
    if (!worker.isInUse) enclosure.watch.rest(false);
    return command;
  }

  async install(
    requirements: readonly Requirement[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<PackageInstallation> {
    this.assertOpen();
    return keepAlive(this.#packages.install(requirements, signal));
  }

  protected async findNames(text: string): Promise<Shaped<typeof FoundNames>> {
    const { found } = await this.#ask({ type: 'complete', text }, 'completion');
    return found;
  }

  protected ensureInterpreter(): Promise<void> | undefined {
    if (this.#recovering === null && !this.isClosing && this.#worker.isAlive) return undefined;
    return this.#liveWorker().then(() => undefined);
  }

  protected beginRun(request: RunRequest, listener: Listener): LocalRun {
    const worker = this.#worker;
    this.#cells += 1;
    if (this.#hasForeignFiles) worker.twins.outdate(); // they are part of the state before this run
    this.#hasForeignFiles = worker.enclosure.runningCommands > 0; // which may go on writing
    return new LocalRun({
      worker,
      request: { filename: `<cell ${this.#cells}>`, ...request },
      listener,
      load: this.#support.load,
      packages: this.#packages,
      recover: (exit, reason) => this.#recovery.recover(worker, exit, this.#takeEndReason() ?? reason),
    });
  }

  /**
   * A state that any fresh interpreter restores is restored at once, so that the next run need not wait for it. A twin
   * that took over and was lost since is left to the next call: this receipt must not tell it as something before the run.
   */
  protected afterRun({ event }: RunEnd): Promise<void> | undefined {
    if (event === null) this.#recovery.clear();
    const isReplaceable = event?.status === 'restored' && this.#recovery.isRetired(this.#worker);
    if (!isReplaceable || this.isClosing) return undefined;
    return this.#reopen().catch(() => undefined); // the run has its answer; the next call opens it, or reports why not
  }

  protected takeBackground(): StreamBytes {
    const { stdout, stderr } = this.#worker.channel;
    return { stdout: stdout.takeBackgroundBytes(), stderr: stderr.takeBackgroundBytes() };
  }

  protected async release(): Promise<void> {
    this.#packages[Symbol.dispose]();
    const ended = this.stopRun();
    this.#worker.enclosure.explainCommands('the session was closed');
    await this.#worker.close();
    await ended;
    await this.#recovered();
    await this.#opening?.catch(() => undefined); // the call that waits for it reports it
    this.#owned[Symbol.dispose]();
    await this.#support.removeHome(this.#worker.enclosure.home);
  }

  /** Asks about the variables. A twin that takes over meanwhile has the same ones. */
  async #ask<T extends WorkerFrame['type']>(question: Question, type: T): Promise<Extract<WorkerFrame, { type: T }>> {
    const worker = await this.#liveWorker();
    for (let attempt = 0; attempt < ASK_ATTEMPTS && worker.isAlive; attempt += 1) {
      const answer = await worker.ask(question);
      if (isOf(answer, type)) return answer;
      await this.#recovered();
    }
    throw new Unanswered(
      `The process of session ${this.id} ended while it was asked about its variables. If that happens again and again, reset the session.`,
    );
  }

  /** Before the first change there was a fresh interpreter, and another one is just the same. */
  async #beginAgain(worker: Worker): Promise<Rollback> {
    worker.enclosure.explainCommands('the session was rolled back');
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

  /** One at a time: a command may be started while a run is about to begin. */
  #reopen(): Promise<void> {
    this.#opening ??= this.#openAgain().finally(() => (this.#opening = null));
    return this.#opening;
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
    const earlier = this.#worker.enclosure.network;
    if (earlier !== null) worker.enclosure.network?.log.inherit(earlier.log);
    this.#worker = worker;
    this.isFresh = true;
    this.#adopt(worker);
    if (this.isClosing) await worker.close();
    this.assertOpen();
  }

  /** A run deals with the loss of its worker itself. A loss at another time is dealt with here. */
  #adopt(worker: Worker): void {
    const { network } = worker.enclosure;
    worker.setEnvironment({ ...network?.variables, ...this.#env });
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
      await worker.endLeftovers(`the session ${what}`);
      this.state.note({ status: 'preserved', reason: `between runs, what was left running was ended: it ${what}` });
    } else {
      this.#endReason = `the program went on after its run and was ended: it ${what}`;
      await worker.end();
    }
    watch.rest(true);
  }

  async #recoverIdle(worker: Worker, exit: Exit): Promise<void> {
    if (worker.isAlive || this.#recovery.isRetired(worker) || this.isClosing) return;
    const how = this.#takeEndReason() ?? outcomeOfExit(exit).reason;
    this.state.note(await this.#recovery.recover(worker, exit, `between runs, ${how}`));
  }

  #takeEndReason(): string | null {
    const reason = this.#endReason;
    this.#endReason = null;
    return reason;
  }
}

type Question = Readonly<Record<string, unknown>>;

function isOf<T extends WorkerFrame['type']>(
  frame: WorkerFrame | null,
  type: T,
): frame is Extract<WorkerFrame, { type: T }> {
  return frame?.type === type;
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
