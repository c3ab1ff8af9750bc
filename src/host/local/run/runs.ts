import { randomUUID } from 'node:crypto';
import type { Artifact } from '../../../artifact/artifact.ts';
import type { Limits } from '../../../config.ts';
import {
  Unanswered,
  type Completion,
  type Echo,
  type EngineSession,
  type PackageInstallation,
  type Rollback,
  type RunRequest,
} from '../../../engine/engine.ts';
import { VivariumError } from '../../../errors.ts';
import type { Event, Listener, Summary } from '../../../execution/event.ts';
import { streamEvents } from '../../../execution/event-stream.ts';
import type { Execution, StateReceipt, Variable } from '../../../execution/execution.ts';
import type { PythonError } from '../../../execution/outcome.ts';
import { acknowledge, closedReceipt, untouchedReceipt } from '../../../execution/state.ts';
import { Transcript, type TranscriptItem } from '../../../execution/transcript.ts';
import { RunHistory, type RunStart } from '../../../notebook/history.ts';
import type { Requirement } from '../../../requirement/requirement.ts';
import type { SessionArtifacts } from './artifacts.ts';
import type { HostedFiles } from './files.ts';
import { InitCode } from './init-code.ts';
import type { Cancellable, TableOptions } from '../../options.ts';
import { Turns } from './turns.ts';

/** How often an interpreter that is lost while it is asked something is replaced. */
const ATTEMPTS = 3;

/** The settings of a session that its runs depend on. */
export interface RunSettings {
  readonly limits: Limits;
  readonly echo: Echo;
  readonly initCode: string | null;
}

/** A run that was asked for, with its options checked. */
export interface RunInput {
  readonly code: string;
  readonly filename?: string | undefined;
  readonly echo?: Echo | undefined;
  readonly timeoutMs?: number | undefined;
  readonly resultVariable?: string | undefined;
  readonly stdin?: string | undefined;
  readonly svg?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly whenBusy?: 'queue' | 'refuse';
  readonly executionId?: string | undefined;
  readonly onEvent?: Listener | undefined;
}

export interface RunsParts {
  readonly inner: EngineSession;
  readonly files: HostedFiles;
  /** Null where nothing that runs produce is kept. */
  readonly artifacts: SessionArtifacts | null;
  readonly settings: RunSettings;
  readonly maxQueue: number;
  /** How an earlier session of the same key ended ("was …"). The first run says so. */
  readonly loss: string | undefined;
  /** The engine is closed, and the session will not work any more. */
  readonly onFailure: (message: string) => void;
  /** A run of the caller has ended with an error of Python. */
  readonly onError?: ((error: PythonError) => void) | undefined;
  /** A run of the caller has ended. */
  readonly onRun?: ((run: EndedRun) => void) | undefined;
}

/** A run that has ended. */
export interface EndedRun {
  readonly code: string;
  readonly items: readonly TranscriptItem[];
  readonly summary: Summary;
}

/** The recipients of a run's events. */
interface Recipients {
  /** What the run is to the session's history. */
  readonly kind: RunStart['kind'];
  readonly transcript: Transcript;
  /** Gets the events while they happen. */
  readonly listener?: Listener;
}

/** Does everything that is asked of a session, one thing after the other: init code, runs, and questions between them. */
export class Runs {
  readonly #inner: EngineSession;
  readonly #files: HostedFiles;
  readonly #artifacts: SessionArtifacts | null;
  readonly #settings: RunSettings;
  readonly #onFailure: (message: string) => void;
  readonly #onError: ((error: PythonError) => void) | undefined;
  readonly #onRun: ((run: EndedRun) => void) | undefined;
  readonly #turns: Turns;
  readonly #initCode: InitCode;
  readonly #history = new RunHistory();
  readonly #closed = new AbortController();
  #executions = 0;
  #generation = 1;

  constructor({ inner, files, artifacts, settings, maxQueue, loss, onFailure, onError, onRun }: RunsParts) {
    this.#inner = inner;
    this.#files = files;
    this.#artifacts = artifacts;
    this.#settings = settings;
    this.#onFailure = onFailure;
    this.#onError = onError;
    this.#onRun = onRun;
    this.#turns = new Turns(inner.id, maxQueue);
    this.#initCode = new InitCode(inner, settings, this.#history);
    if (loss !== undefined) inner.note({ status: 'lost', reason: `the session before ${loss}` });
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  get isBusy(): boolean {
    return this.#turns.isTaken;
  }

  /** For how long nothing was asked of the session; 0 while something goes on. */
  get idleForMs(): number {
    return this.isBusy ? 0 : performance.now() - this.#turns.freeSinceMs;
  }

  get executions(): number {
    return this.#executions;
  }

  get queued(): number {
    return this.#turns.waiting;
  }

  async execute(run: RunInput, kind: RunStart['kind'] = 'run'): Promise<Execution> {
    const transcript = this.#transcript();
    const { onEvent } = run;
    const summary = await this.#conduct(run, { kind, transcript, ...(onEvent && { listener: onEvent }) });
    const done = { type: 'done', summary } as const;
    transcript.add(done);
    const execution = transcript.execution();
    await onEvent?.(done);
    if (kind === 'run') acknowledge(execution.state); // nobody reads the receipt of our own code
    return execution;
  }

  stream(run: RunInput): AsyncGenerator<Event, void, undefined> {
    return streamEvents((listener) => this.#conduct(run, { kind: 'run', transcript: this.#transcript(), listener }));
  }

  /** The turn is over before the caller gets the summary, so that it can use the session again at once. */
  async #conduct(run: RunInput, recipients: Recipients): Promise<Summary> {
    const request = this.#request(run, recipients.kind);
    let turn: Disposable | undefined;
    try {
      turn = await this.#turns.take(run);
      await this.#files.lateCopies.settled(run.signal);
      await this.#initialise(run.signal);
      this.#executions += 1;
      await this.#files.beginRun();
      await this.#initialise(run.signal); // it may have been lost meanwhile
      return await this.#run(request, recipients);
    } catch (error) {
      if (run.signal?.aborted !== true || error !== run.signal.reason) throw this.#examine(error);
      return this.#neverRan(request.id);
    } finally {
      turn?.[Symbol.dispose]();
    }
  }

  async #run(request: RunRequest, { kind, transcript, listener }: Recipients): Promise<Summary> {
    const artifacts = this.#artifacts?.beginRun({ number: this.#executions, executionId: request.id });
    try {
      const running = this.#inner.run(request, (event) => {
        transcript.add(event);
        return inTurn(event, artifacts?.onEvent(event), listener);
      });
      const record = this.#history.begin({ code: request.code, echo: request.echo, kind }); // while it runs
      const end = await running;
      const summary: Summary = { ...end, state: this.#settle(end.state) };
      record(transcript.items(), summary);
      if (summary.error !== undefined) this.#onError?.(summary.error);
      if (kind === 'run') this.#onRun?.({ code: request.code, items: transcript.items(), summary });
      if (this.isClosed || artifacts === undefined) return summary;
      await artifacts.collect(summary, (event) => {
        transcript.add(event);
        return listener?.(event);
      });
      return artifacts.complete(summary);
    } finally {
      await artifacts?.close();
    }
  }

  #transcript(): Transcript {
    return new Transcript(this.#settings.limits.outputBytes);
  }

  /** Throws the reason once the session has ended. */
  assertOpen(): void {
    this.#closed.signal.throwIfAborted();
  }

  async interrupt(): Promise<void> {
    this.assertOpen();
    if (this.isBusy) await this.#inner.interrupt();
  }

  rollback(options: Cancellable = {}): Promise<Rollback> {
    return this.#inTurn(options, async () => {
      this.#files.onChangedBetweenRuns(); // also if it fails half-way
      const rollback = await this.#inner.rollback();
      this.#generation = rollback.generation;
      this.#history.undo();
      return rollback;
    });
  }

  reset(options: Cancellable = {}): Promise<void> {
    return this.#inTurn(options, async () => {
      await this.#inner.reset();
      this.#generation += 1;
      this.#history.restart('it was reset');
      this.#initCode.onFreshState();
      await this.#initialise();
    });
  }

  inspect(options: Cancellable = {}): Promise<readonly Variable[]> {
    return this.#inTurn(options, () => this.#ask(() => this.#inner.inspect()));
  }

  complete(code: string, cursor: number, options: Cancellable = {}): Promise<Completion> {
    return this.#inTurn(options, () => this.#ask(() => this.#inner.complete(code, cursor)));
  }

  exportTable(name: string, { format = 'csv', ...options }: TableOptions = {}): Promise<Artifact> {
    return this.#inTurn(options, async () => {
      return this.#files.takeOut(`${name}.${format}`, async (path) => {
        await this.#initialise();
        await this.#inner.writeTable({ name, format, path });
      });
    });
  }

  install(requirements: readonly Requirement[], { signal }: Cancellable = {}): Promise<PackageInstallation> {
    return this.#inTurn(signal === undefined ? {} : { signal }, async () => {
      const ended = this.#closed.signal;
      const stopped = signal === undefined ? ended : AbortSignal.any([signal, ended]);
      const installation = await this.#inner.install(requirements, { signal: stopped });
      this.#history.addPackages(installation.installed);
      return installation;
    });
  }

  /** What ran so far. */
  get history(): RunHistory {
    return this.#history;
  }

  prepare(): Promise<void> {
    return this.#inTurn({}, () => this.#initialise());
  }

  /** Cancels the current run. What waits and what comes later gets this error. */
  close(error: VivariumError): void {
    this.#turns.close(error);
    this.#closed.abort(error);
  }

  /** Asks an interpreter that has run its init code. If it is lost meanwhile, the next one is asked. */
  async #ask<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#initialise();
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof Unanswered) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Makes sure that there is a live interpreter that has run its init code. Comes right before anything that is asked of
   * the interpreter: what is awaited in between gives it time to be lost, and to be replaced by one that is not prepared.
   */
  async #initialise(signal?: AbortSignal): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (await this.#inner.revive()) {
        this.#history.onFreshInterpreter();
        this.#initCode.onFreshState();
      }
      if (!this.#initCode.isDue) return;
      const closed = this.#closed.signal;
      this.#files.onChangedBetweenRuns();
      await this.#initCode.run(signal ? AbortSignal.any([signal, closed]) : closed);
    }
    throw new VivariumError(
      'ENGINE_FAILED',
      `The process of session ${this.#inner.id} ended ${ATTEMPTS} times right after its init code. The session and its files are kept, and the next call tries again.`,
    );
  }

  /** Closing needs no signal here: a session of an engine stops its run when it closes. */
  #request(
    { code, filename, echo, timeoutMs, resultVariable, stdin, svg, signal, executionId }: RunInput,
    kind: RunStart['kind'],
  ): RunRequest {
    return {
      id: executionId ?? randomUUID(),
      code,
      echo: echo ?? this.#settings.echo,
      timeoutMs: timeoutMs ?? this.#settings.limits.timeoutMs,
      ...(filename !== undefined && { filename }),
      ...(resultVariable !== undefined && { resultVariable }),
      ...(stdin !== undefined && { stdin }),
      ...(svg !== undefined && { svg }),
      ...(signal !== undefined && { signal }),
      ...(kind !== 'run' && { isInternal: true }),
    };
  }

  /** The signal gives up waiting for a turn. Work that has begun is finished. */
  async #inTurn<T>(options: Cancellable, work: () => Promise<T>): Promise<T> {
    using _ = await this.#turns.take(options);
    await this.#files.lateCopies.settled(options.signal);
    try {
      return await work();
    } catch (error) {
      throw this.#examine(error);
    }
  }

  #settle(state: StateReceipt): StateReceipt {
    this.#generation = state.generation;
    return this.isClosed ? closedReceipt(state, 'the session was closed while this ran') : state;
  }

  /** The summary of a run that was cancelled before any of its code ran. */
  #neverRan(id: string): Summary {
    return {
      id,
      sessionId: this.#inner.id,
      outcome: { status: 'cancelled' },
      dataframes: [],
      state: untouchedReceipt(this.#generation),
      durationMs: 0,
      isolation: this.#inner.isolation,
      outputBytes: { stdout: 0, stderr: 0 },
      mayHaveWritten: false,
    };
  }

  /**
   * A caller whose session ends gets that error, not the one of what broke on the way. An engine that fails may work
   * again later, so that the session and its files are kept until the engine is closed.
   */
  #examine(error: unknown): unknown {
    if (this.isClosed) return this.#closed.signal.reason;
    if (error instanceof VivariumError && error.code === 'ENGINE_CLOSED') this.#onFailure(error.message);
    return error;
  }
}

/** Passes an event to the listener once `first` is done, and at once if there is nothing to wait for. */
function inTurn(event: Event, first: Promise<void> | void, listener?: Listener): Promise<void> | void {
  if (first === undefined || listener === undefined) return first ?? listener?.(event);
  return first.then(() => listener(event));
}
