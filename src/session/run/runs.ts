import { randomUUID } from 'node:crypto';
import type { Artifact } from '../../artifact/artifact.ts';
import type { EngineSession, Rollback, RunRequest, TableFormat } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { Event, Summary } from '../../execution/event.ts';
import type { Execution, Variable } from '../../execution/execution.ts';
import { Transcript } from '../../execution/transcript.ts';
import { History, type Start } from '../../notebook/history.ts';
import type { Ending } from '../endings.ts';
import type { Cancellable, SessionFiles } from './files.ts';
import { InitCode } from './init-code.ts';
import type { Run, Settings } from '../options.ts';
import type { Products } from './products.ts';
import { Turns } from './turns.ts';

export interface TableOptions extends Cancellable {
  readonly format?: TableFormat;
}

export interface RunsParts {
  readonly inner: EngineSession;
  readonly files: SessionFiles;
  readonly products: Products;
  readonly settings: Settings;
  readonly maxQueue: number;
  /** How an earlier session of the same key ended, for the first run to say. */
  readonly loss: Ending | undefined;
  /** The engine has failed the session; nothing will work any more. */
  readonly onFailure: (message: string) => void;
}

/** What is done in a session, one thing after the other: init code, runs, and what is asked between them. */
export class Runs {
  readonly #inner: EngineSession;
  readonly #files: SessionFiles;
  readonly #products: Products;
  readonly #settings: Settings;
  readonly #onFailure: (message: string) => void;
  readonly #turns: Turns;
  readonly #initCode: InitCode;
  readonly #history = new History();
  readonly #closed = new AbortController();
  #lastUsedMs = performance.now();
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
    return this.isBusy ? 0 : performance.now() - this.#lastUsedMs;
  }

  get executions(): number {
    return this.#executions;
  }

  get queued(): number {
    return this.#turns.waiting;
  }

  async execute(run: Run, kind?: Start['kind']): Promise<Execution> {
    const transcript = this.#transcript();
    for await (const _ of this.#stream(run, transcript, kind)); // the transcript hears everything
    return transcript.execution();
  }

  stream(run: Run): AsyncGenerator<Event, void, undefined> {
    return this.#stream(run, this.#transcript());
  }

  /** The turn is over before `done` is told: whoever hears it may go on with the session at once. */
  async *#stream(
    run: Run,
    transcript: Transcript,
    kind: Start['kind'] = 'run',
  ): AsyncGenerator<Event, void, undefined> {
    const request = this.#request(run);
    let summary: Summary | undefined;
    try {
      using _ = await this.#take(run);
      await this.#initialise(request.signal);
      this.#executions += 1;
      await this.#files.beginRun();
      await using products = this.#products.begin({ number: this.#executions, executionId: request.id });
      const record = this.#history.begin({ code: request.code, echo: request.echo, kind });
      for await (const event of this.#inner.stream(request)) {
        if (event.type === 'done') {
          summary = this.#account(event.summary);
          record(transcript.items(), summary);
        } else {
          transcript.add(event);
          await products.hear(event);
          yield event;
        }
      }
      if (summary !== undefined && !this.isClosed) {
        for await (const event of products.collect(summary)) {
          transcript.add(event);
          yield event;
        }
        summary = products.complete(summary);
      }
    } catch (error) {
      if (run.signal?.aborted !== true || error !== run.signal.reason) throw this.#examine(error);
      summary = this.#neverRan(request.id);
    }
    if (summary === undefined) return;
    const done = { type: 'done', summary } as const;
    transcript.add(done);
    yield done;
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

  async #initialise(signal = this.#closed.signal): Promise<void> {
    if (await this.#inner.revive()) this.#initCode.begunAnew();
    await this.#initCode.run(signal);
  }

  #request({ code, echo, timeoutMs, resultVariable, svg, signal }: Run): RunRequest & { readonly signal: AbortSignal } {
    const closed = this.#closed.signal;
    return {
      id: randomUUID(),
      code,
      echo: echo ?? this.#settings.echo,
      timeoutMs: timeoutMs ?? this.#settings.limits.timeoutMs,
      ...(resultVariable !== undefined && { resultVariable }),
      ...(svg !== undefined && { svg }),
      signal: signal ? AbortSignal.any([signal, closed]) : closed,
    };
  }

  /** Whoever waits for a turn may give it up; what was begun is finished. */
  async #inTurn<T>(options: Cancellable, work: () => Promise<T>): Promise<T> {
    using _ = await this.#take({ whenBusy: 'queue', ...options });
    try {
      return await work();
    } catch (error) {
      throw this.#examine(error);
    }
  }

  async #take(options: Pick<Run, 'whenBusy' | 'signal'>): Promise<Disposable> {
    const turn = await this.#turns.take(options);
    return {
      [Symbol.dispose]: () => {
        this.#lastUsedMs = performance.now();
        turn[Symbol.dispose]();
      },
    };
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
