import type { Limits } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Event, Listener, Summary } from '../../execution/event.ts';
import type { Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { pulled } from '../../execution/pulled.ts';
import type { HostSession, Rollback, RunRequest, TableRequest, Workspace } from '../engine.ts';
import type { Exit, LinkOptions, Place } from './link/options.ts';
import type { Link } from './link/link.ts';
import { crashedBy, Run, type RunFacts } from './run.ts';
import type { WorkerFrame } from './link/worker-frame.ts';
import type { Overstep } from './zygote/zygote.ts';

const INSPECT_ATTEMPTS = 3;

/** What a session needs of its engine. */
export interface SessionHost {
  readonly isolation: Isolation;
  openLink(options: LinkOptions): Promise<Link>;
  removePlace(place: Place): Promise<void>;
}

/** What a worker ends with whose own machinery has failed; see python/_vivarium/worker/main.py. */
const EXIT_BROKEN = 70;
const MAX_BREAKDOWNS = 2;

/** Something that happened to the state and has not been told yet. */
interface Notice {
  readonly status: 'preserved' | 'restored' | 'lost';
  readonly reason: string;
}

/** An interpreter with state on this machine. It outlives its processes: what is lost is opened anew, and said. */
export class LocalSession implements HostSession {
  readonly id: string;
  readonly isolation: Isolation;
  readonly #host: SessionHost;
  readonly #environment: Readonly<Record<string, string>>;
  #link: Link;
  #generation = 1;
  #notice: Notice | null = null;
  #run: Run | null = null;
  #recovering: Promise<void> | null = null;
  #opening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #questions = 0;
  #cells = 0;
  #isFresh = false;
  /** How often in a row the worker's own machinery has failed: a state that breaks it is not worth restoring. */
  #breakdowns = 0;
  /** Why we ended the worker between runs. */
  #verdict: string | null = null;

  constructor(id: string, host: SessionHost, link: Link, environment: Readonly<Record<string, string>>) {
    this.id = id;
    this.#host = host;
    this.#link = link;
    this.#environment = environment;
    link.setEnvironment(environment);
    this.isolation = { ...host.isolation, network: link.options.network ? 'host' : host.isolation.network };
    this.#guard(link);
  }

  get isClosing(): boolean {
    return this.#closing !== null;
  }

  get workspace(): Workspace {
    const { workspacePath, place, wasBornEmpty } = this.#link;
    return { path: workspacePath, uid: place.uid, wasBornEmpty };
  }

  async revive(): Promise<boolean> {
    if (this.#readyLink === null) await this.#liveLink();
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    return isFresh;
  }

  stream(request: RunRequest): AsyncGenerator<Event, void, undefined> {
    return pulled((hear) => this.run(request, hear));
  }

  async run(request: RunRequest, hear: Listener): Promise<Summary> {
    const link = this.#readyLink ?? (await this.#liveLink());
    this.#assertOpen(); // whoever closes it now finds the run, and stops it
    const strays = { stdout: link.stdout.takeStrayBytes(), stderr: link.stderr.takeStrayBytes() };
    this.#cells += 1;
    const run = new Run(link, { filename: `<cell ${this.#cells}>`, ...request }, hear);
    this.#run = run;
    try {
      const facts = await run.finished;
      if (!run.isHeard) await run.heard();
      return this.#summarise(request, await this.#settle(link, facts), strays);
    } finally {
      this.#run = null;
    }
  }

  async interrupt(): Promise<void> {
    this.#run?.stop('cancelled');
    await this.#run?.finished;
  }

  async rollback(): Promise<Rollback> {
    const link = await this.#liveLink();
    if (!link.canRollBack && link.isOneStepOld) return this.#beginAgain(link);
    if (!link.canRollBack) {
      throw new VivariumError(
        'NOTHING_TO_ROLL_BACK',
        'There is no earlier state to go back to: nothing has changed the state since the session began, was restored or was rolled back. Only the last change can be undone.',
      );
    }
    let files: string | null = null;
    await this.#recoverBy(async () => {
      files = await link.rollBack();
      this.#generation += 1;
      if (files === null) await this.#lose(link, 'the twin to roll back to was lost');
      else this.#guard(link);
    });
    if (files === null) {
      throw new VivariumError(
        'NOTHING_TO_ROLL_BACK',
        'The earlier state was lost when it was needed; the session starts afresh.',
      );
    }
    return { generation: this.#generation, files };
  }

  /** Before the first change there was a fresh interpreter, and another one is just the same. */
  async #beginAgain(link: Link): Promise<Rollback> {
    await link.close();
    await (this.#opening = this.#reopen());
    this.#isFresh = false;
    this.#generation += 1;
    return { generation: this.#generation, files: await this.#link.clearFiles(link.wasBornEmpty) };
  }

  async reset(): Promise<void> {
    this.#assertOpen();
    await this.#recovering;
    await this.#link.close();
    this.#notice = null;
    this.#generation += 1;
    await (this.#opening = this.#reopen());
  }

  async inspect(): Promise<readonly Variable[]> {
    for (let attempt = 0; attempt < INSPECT_ATTEMPTS; attempt += 1) {
      const answer = await this.#ask(await this.#liveLink(), { type: 'inspect' });
      if (answer?.type === 'variables') return answer.variables;
    }
    throw new VivariumError(
      'ENGINE_FAILED',
      `The process of session ${this.id} ends whenever its variables are looked at. Reset the session.`,
    );
  }

  async writeTable(request: TableRequest): Promise<void> {
    const answer = await this.#ask(await this.#liveLink(), { type: 'table', ...request });
    if (answer?.type !== 'table') {
      const { timeoutMs } = this.#link.options.limits;
      throw new VivariumError(
        'TABLE_UNAVAILABLE',
        `The process was lost while it wrote the table "${request.name}", or took longer than ${timeoutMs} ms. The variables are as they were; export fewer rows, or raise the limits.`,
      );
    }
    if (answer.problem !== null) throw new VivariumError('TABLE_UNAVAILABLE', answer.problem);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#run?.stop('cancelled');
    await this.#link.close();
    await this.#run?.finished;
    await this.#recovering;
    await this.#opening?.catch(() => undefined); // whoever waits for it hears why
    await this.#host.removePlace(this.#link.place);
  }

  /** Asks for something that is no run. Null when the worker is lost meanwhile; one that does not answer is ended, and so lost. */
  async #ask(link: Link, question: Readonly<Record<string, unknown>>): Promise<WorkerFrame | null> {
    this.#questions += 1;
    const id = `question-${this.#questions}`;
    const { promise, resolve } = Promise.withResolvers<WorkerFrame>();
    link.onFrame = (frame: WorkerFrame): void => {
      if ('id' in frame && frame.id === id) resolve(frame);
    };
    const timer = setTimeout(() => void link.endWorker(), link.options.limits.timeoutMs);
    try {
      link.send({ ...question, id });
      return await Promise.race([promise, link.exited.then(() => null)]);
    } finally {
      clearTimeout(timer);
      link.onFrame = null;
      link.vigil.rest(false);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== null) {
      throw new VivariumError(
        'SESSION_CLOSED',
        `Session ${this.id} is closed. Open a new one; its variables are gone.`,
      );
    }
  }

  /** The link, when there is nothing to wait for: as a rule. */
  get #readyLink(): Link | null {
    return this.#recovering === null && this.#closing === null && this.#link.isAlive ? this.#link : null;
  }

  /** The link to run on, after whatever recovery is going on; a lost one is opened anew on the same files. */
  async #liveLink(): Promise<Link> {
    this.#assertOpen();
    await this.#recovering;
    const link = this.#link;
    if (!link.isAlive && !link.isClosing) await this.#recoverIdle(link, await link.exited); // lost as a run was told its end
    if (!this.#link.isAlive) await (this.#opening = this.#reopen());
    return this.#link;
  }

  /** Sees to the state outside of runs, one thing after the other. */
  #recoverBy(work: () => Promise<void>): Promise<void> {
    const recovering: Promise<void> = (this.#recovering ?? Promise.resolve()).then(work).then(() => {
      if (this.#recovering === recovering) this.#recovering = null;
    });
    this.#recovering = recovering;
    return recovering;
  }

  async #reopen(): Promise<void> {
    const link = await this.#host.openLink({ ...this.#link.options, place: this.#link.place });
    this.#link = link;
    this.#isFresh = true;
    link.setEnvironment(this.#environment);
    this.#guard(link);
    if (this.#closing !== null) await link.close();
    this.#assertOpen();
  }

  /** Watches for a worker that is lost while nothing runs; a loss during a run is the run's own business. */
  #guard(link: Link): void {
    link.onBackground = (overstep): void => {
      void this.#recoverBy(() => this.#endBackground(link, overstep));
    };
    void link.exited.then((exit) => {
      if (this.#run !== null || this.#closing !== null || link.isClosing) return;
      void this.#recoverBy(() => this.#recoverIdle(link, exit));
    });
  }

  /** Something of the session has passed a limit while no run was on. First goes what runs have left behind, then the worker. */
  async #endBackground(link: Link, { cause, leftovers }: Overstep): Promise<void> {
    if (this.#run !== null || this.#closing !== null || !link.isAlive || link.isClosing) return;
    const what = describeOverstep(cause, link.options.limits);
    if (leftovers > 0 && cause !== 'busy') {
      await link.endLeftovers();
      this.#notice ??= { status: 'preserved', reason: `between runs, what was left running was ended: it ${what}` };
    } else {
      this.#verdict = `the program went on after its run and was ended: it ${what}`;
      await link.endWorker();
    }
    link.vigil.rest(true);
  }

  async #recoverIdle(link: Link, exit: Exit): Promise<void> {
    if (link.isAlive || link.isClosing || this.#closing !== null) return;
    const outcome = crashedBy(exit);
    const how = this.#verdict ?? (outcome.status === 'crashed' ? outcome.reason : outcome.status);
    this.#verdict = null;
    const reason = `between runs, ${how}`;
    this.#generation += 1;
    if (exit.code === EXIT_BROKEN) this.#breakdowns += 1;
    if (!exit.isGone && this.#breakdowns < MAX_BREAKDOWNS && (await link.recover())) {
      this.#notice ??= { status: 'restored', reason };
      this.#guard(link);
    } else if (isGuardedBirth(link)) {
      this.#notice ??= { status: 'restored', reason };
      await link.close();
    } else await this.#lose(link, reason);
  }

  /** Sees what a loss really cost: at birth nothing, since any fresh interpreter is the same; a broken state is given up. */
  async #settle(link: Link, facts: RunFacts): Promise<RunFacts> {
    const isBroken = facts.outcome.status === 'crashed' && facts.outcome.exitCode === EXIT_BROKEN;
    this.#breakdowns = isBroken ? this.#breakdowns + 1 : 0;
    if (facts.status === 'restored' && this.#breakdowns >= MAX_BREAKDOWNS) {
      await link.close();
      return {
        ...facts,
        status: 'lost',
        reason: 'what the program has done to Python breaks every run: a fresh interpreter',
      };
    }
    if (facts.status !== 'lost' || this.#closing !== null || !isGuardedBirth(link)) return facts;
    await (this.#opening = this.#reopen());
    return { ...facts, status: 'restored' };
  }

  async #lose(link: Link, reason: string): Promise<void> {
    this.#notice = { status: 'lost', reason };
    await link.close();
  }

  /** The result's last part: what became of the state, worst news first. */
  #summarise(request: RunRequest, facts: RunFacts, strays: { stdout: number; stderr: number }): Summary {
    const isLoss = facts.status !== 'preserved';
    if (isLoss) {
      this.#generation += 1;
      if (facts.status === 'restored') this.#guard(this.#link);
    }
    const notice = facts.status === 'lost' || this.#notice === null ? null : this.#notice;
    this.#notice = null;
    const reason = notice?.reason ?? facts.reason;
    return {
      id: request.id,
      sessionId: this.id,
      outcome: facts.outcome,
      dataframes: facts.dataframes,
      state: {
        status: notice === null || notice.status === 'preserved' ? facts.status : notice.status,
        generation: this.#generation,
        variables: facts.variables,
        ...(facts.unprotected !== null && { unprotected: facts.unprotected }),
        ...(reason !== null && { reason }),
      },
      durationMs: facts.durationMs,
      isolation: this.isolation,
      outputBytes: facts.outputBytes,
      mayHaveWritten: facts.mayHaveWritten,
      savedFigures: facts.saved,
      ...(facts.error !== null && { error: facts.error }),
      ...(facts.value !== null && { value: facts.value.json }),
      ...(strays.stdout + strays.stderr > 0 && { background: strays }),
    };
  }
}

function describeOverstep(cause: Overstep['cause'], { memoryMb, workspaceMb, cpuMs, timeoutMs }: Limits): string {
  switch (cause) {
    case 'memory':
      return `used more than the ${memoryMb} MB of the session`;
    case 'workspace':
      return `wrote more than the ${workspaceMb} MB that the workspace may hold`;
    case 'cpu':
      return `used more than ${cpuMs} ms of processor time`;
    case 'busy':
      return `used more than ${timeoutMs} ms of processor time after it had said that it was done`;
  }
}

/** A session that is to keep its state, and has none yet but that of a fresh interpreter. */
function isGuardedBirth(link: Link): boolean {
  return link.options.twins && link.isPristine;
}
