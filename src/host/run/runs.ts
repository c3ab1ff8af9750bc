import { randomUUID } from 'node:crypto';
import type { Artifact } from '../../artifact/artifact.ts';
import type { EngineSession, Rollback, RunRequest } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { Event, Listener, Summary } from '../../execution/event.ts';
import type { Execution, Variable } from '../../execution/execution.ts';
import { pulled } from '../../execution/pulled.ts';
import { Transcript } from '../../execution/transcript.ts';
import { History, type Start } from '../../notebook/history.ts';
import type { Ending } from '../endings.ts';
import type { HostedFiles } from './files.ts';
import { InitCode } from './init-code.ts';
import type { Cancellable, ParsedRun, SessionSettings, TableOptions } from '../options.ts';
import type { Products } from './products.ts';
import { Turns } from './turns.ts';

export interface RunsParts {
  readonly inner: EngineSession;
  readonly files: HostedFiles;
  readonly products: Products;
  readonly settings: SessionSettings;
  readonly maxQueue: number;
  /** How an earlier session of the same key ended, for the first run to say. */
  readonly loss: Ending | undefined;
  /** The engine has failed the session; nothing will work any more. */
  readonly onFailure: (message: string) => void;
}

/** Who hears of a run. */
interface Audience {
  /** What the run is to the session's history. */
  readonly kind: Start['kind'];
  readonly transcript: Transcript;
  /** Who wants to know while it happens. */
  readonly hear?: Listener;
}

/** What is done in a session, one thing after the other: init code, runs, and what is asked between them. */
export class Runs {
  readonly #inner: EngineSession;
  readonly #files: HostedFiles;
  readonly #products: Products;
  readonly #settings: SessionSettings;
  readonly #onFailure: (message: string) => void;
  readonly #turns: Turns;
  readonly #initCode: InitCode;
  readonly #history = new History();
  readonly #closed = new AbortController();
  #executions = 0;
  #generation = 1;
  #loss: Ending | undefined;

  constructor({ inner, files, products, settings, maxQueue, loss, onFailure }: RunsParts) {
    this.#inner = inner;
    this.#files = files;
    this.#products = products;
    this.#settings = settings;
    this.#onFailure = onFailure;
    this.#turns = new Turns(inner.id, maxQueue);
    this.#initCode = new InitCode(inner, settings, this.#history);
    this.#loss = loss;
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  get isBusy(): boolean {
    return this.#turns.isTaken;
  }

  /** For how long nothing was asked; 0 while something goes on. */
  get idleForMs(): number {
    return this.isBusy ? 0 : performance.now() - this.#turns.freeSinceMs;
  }

  get executions(): number {
    return this.#executions;
  }

  get queued(): number {
    return this.#turns.waiting;
  }

  async execute(run: ParsedRun, kind: Start['kind'] = 'run'): Promise<Execution> {
    const transcript = this.#transcript();
    const summary = await this.#conduct(run, { kind, transcript });
    transcript.add({ type: 'done', summary });
    return transcript.execution();
  }

  stream(run: ParsedRun): AsyncGenerator<Event, void, undefined> {
    return pulled((hear) => this.#conduct(run, { kind: 'run', transcript: this.#transcript(), hear }));
  }

  /** The turn is over before the end is told: whoever hears of it may go on with the session at once. */
  async #conduct(run: ParsedRun, audience: Audience): Promise<Summary> {
    const request = this.#request(run);
    let turn: Disposable | undefined;
    try {
      turn = await this.#turns.take(run);
      await this.#initialise(run.signal);
      this.#executions += 1;
      await this.#files.beginRun();
      return await this.#run(request, audience);
    } catch (error) {
      if (run.signal?.aborted !== true || error !== run.signal.reason) throw this.#examine(error);
      return this.#neverRan(request.id);
    } finally {
      turn?.[Symbol.dispose]();
    }
  }

  async #run(request: RunRequest, { kind, transcript, hear }: Audience): Promise<Summary> {
    const products = this.#products.begin({ number: this.#executions, executionId: request.id });
    try {
      const running = this.#inner.run(request, (event) => {
        transcript.add(event);
        return inTurn(event, products.hear(event), hear);
      });
      const record = this.#history.begin({ code: request.code, echo: request.echo, kind }); // while it runs
      const summary = this.#account(await running);
      record(transcript.items(), summary);
      if (this.isClosed) return summary;
      await products.collect(summary, (event) => {
        transcript.add(event);
        return hear?.(event);
      });
      return products.complete(summary);
    } finally {
      await products.close();
    }
  }

  #transcript(): Transcript {
    return new Transcript(this.#settings.limits.outputBytes);
  }

  async interrupt(): Promise<void> {
    this.#closed.signal.throwIfAborted();
    if (this.isBusy) await this.#inner.interrupt();
  }

  rollback(options: Cancellable = {}): Promise<Rollback> {
    return this.#inTurn(options, async () => {
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
      this.#initCode.begunAnew();
      await this.#initialise();
    });
  }

  inspect(options: Cancellable = {}): Promise<readonly Variable[]> {
    return this.#inTurn(options, async () => {
      await this.#initialise();
      return this.#inner.inspect();
    });
  }

  exportTable(name: string, { format = 'csv', ...options }: TableOptions = {}): Promise<Artifact> {
    return this.#inTurn(options, async () => {
      await this.#initialise();
      return this.#files.takeOut(`${name}.${format}`, (path) => this.#inner.writeTable({ name, format, path }));
    });
  }

  /** What ran so far. */
  get history(): History {
    return this.#history;
  }

  prepare(): Promise<void> {
    return this.#inTurn({}, () => this.#initialise());
  }

  /** Cancels what runs; what waits and what comes later gets this error. */
  close(error: VivariumError): void {
    this.#turns.close(error);
    this.#closed.abort(error);
  }

  async #initialise(signal?: AbortSignal): Promise<void> {
    if (await this.#inner.revive()) this.#initCode.begunAnew();
    if (!this.#initCode.isDue) return;
    const closed = this.#closed.signal;
    await this.#initCode.run(signal ? AbortSignal.any([signal, closed]) : closed);
  }

  /** Closing needs no signal here: an engine's session that closes stops its run by itself. */
  #request({ code, echo, timeoutMs, resultVariable, svg, signal }: ParsedRun): RunRequest {
    return {
      id: randomUUID(),
      code,
      echo: echo ?? this.#settings.echo,
      timeoutMs: timeoutMs ?? this.#settings.limits.timeoutMs,
      ...(resultVariable !== undefined && { resultVariable }),
      ...(svg !== undefined && { svg }),
      ...(signal !== undefined && { signal }),
    };
  }

  /** Whoever waits for a turn may give it up; what was begun is finished. */
  async #inTurn<T>(options: Cancellable, work: () => Promise<T>): Promise<T> {
    using _ = await this.#turns.take(options);
    try {
      return await work();
    } catch (error) {
      throw this.#examine(error);
    }
  }

  /** A state that is not what its user believes it to be is called lost, once. */
  #account(summary: Summary): Summary {
    const { state } = summary;
    this.#generation = state.generation;
    if (state.status === 'lost') this.#initCode.begunAnew();
    const loss = this.#loss && `the session before ${this.#loss.what}`;
    this.#loss = undefined;
    const reason = this.isClosed ? 'the session was closed while this ran' : loss;
    return reason === undefined ? summary : { ...summary, state: { ...state, status: 'lost', reason } };
  }

  /** What is to be said of a run that was cancelled before any of its code ran. */
  #neverRan(id: string): Summary {
    const variables = { added: [], changed: [], removed: [] };
    return {
      id,
      sessionId: this.#inner.id,
      outcome: { status: 'cancelled' },
      dataframes: [],
      state: { status: 'preserved', generation: this.#generation, variables },
      durationMs: 0,
      isolation: this.#inner.isolation,
      outputBytes: { stdout: 0, stderr: 0 },
      mayHaveWritten: false,
    };
  }

  /** Who is failed by a session that ends hears of that, not of what broke on the way. */
  #examine(error: unknown): unknown {
    if (this.isClosed) return this.#closed.signal.reason;
    const isFinal =
      error instanceof VivariumError && (error.code === 'ENGINE_FAILED' || error.code === 'ENGINE_CLOSED');
    if (isFinal) this.#onFailure(error.message);
    return error;
  }
}

/** One after the other, and at once where the first takes no time. */
function inTurn(event: Event, first: Promise<void> | void, hear?: Listener): Promise<void> | void {
  if (first === undefined || hear === undefined) return first ?? hear?.(event);
  return first.then(() => hear(event));
}
