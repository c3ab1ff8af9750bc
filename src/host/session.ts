import type { Artifact } from '../artifact/artifact.ts';
import type { EngineSession, Rollback } from '../engine/engine.ts';
import { VivariumError } from '../errors.ts';
import type { Event } from '../execution/event.ts';
import type { Execution, Json, Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { ArtifactStore } from '../artifact/store.ts';
import { toNotebook, type ExportOptions } from '../notebook/export.ts';
import type { Notebook } from '../notebook/nbformat.ts';
import { CLOSED, evictedAfter, failedWith, sessionClosed, type Ending } from './endings.ts';
import { SessionFiles, type Cancellable } from './run/files.ts';
import { IdleWatch } from './idle-watch.ts';
import { parseRun, type Run, type RunOptions, type Settings } from './options.ts';
import { Products } from './run/products.ts';
import { Runs, type TableOptions } from './run/runs.ts';
import { assignments, contextAssignment } from './run/variables.ts';

/** What is known of a session without asking its interpreter. */
export interface SessionInfo {
  readonly id: string;
  /** What it is found by: its id, a chat, a client, or `default`. */
  readonly key: string;
  readonly clientId: string | null;
  readonly status: 'idle' | 'running' | 'closed';
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  /** Runs that were begun. */
  readonly executions: number;
  /** Calls that wait for their turn. */
  readonly queued: number;
  /** Its files: a path of the host, or the address of those that are elsewhere. */
  readonly workspace: string;
}

export interface SessionParts {
  readonly inner: EngineSession;
  readonly key: string;
  readonly settings: Settings;
  readonly maxQueue: number;
  readonly store: ArtifactStore;
  /** No copies of what runs produce are kept. */
  readonly keepsNothing?: boolean;
  /** Of the Python that it runs on. */
  readonly pythonVersion: string;
  /** How an earlier session of this key ended, for the first run to say. */
  readonly loss?: Ending | undefined;
  readonly isForOneRun?: boolean | undefined;
}

export interface SessionHooks {
  /** It takes no more calls. */
  readonly onEnd: (ending: Ending) => void;
  /** Its processes and files are no more. */
  readonly onGone: () => void;
}

/** An interpreter with state. What is asked of it takes turns, and each run sees what the ones before it left. */
export class Session implements AsyncDisposable {
  readonly id: string;
  readonly key: string;
  readonly clientId: string | null;
  readonly files: SessionFiles;
  readonly #inner: EngineSession;
  readonly #hooks: SessionHooks;
  readonly #runs: Runs;
  readonly #idleWatch: IdleWatch;
  readonly #pythonVersion: string;
  readonly #createdAt = new Date();
  #closing: Promise<void> | undefined;

  constructor(parts: SessionParts, hooks: SessionHooks) {
    const { inner, key, settings, maxQueue, store, keepsNothing, pythonVersion, loss, isForOneRun } = parts;
    this.#pythonVersion = pythonVersion;
    this.id = inner.id;
    this.key = key;
    this.clientId = settings.clientId ?? null;
    this.#inner = inner;
    this.#hooks = hooks;
    const onFailure = (message: string): void => this.#endUnasked(failedWith(message));
    this.files = new SessionFiles(inner, store, settings, isForOneRun);
    const { files } = this;
    const products = keepsNothing ? null : new Products({ sessionId: inner.id, store, files, settings });
    this.#runs = new Runs({ inner, files, products, settings, maxQueue, loss, onFailure });
    this.#idleWatch = new IdleWatch({
      idleMs: settings.idleMs,
      idleForMs: () => this.#runs.idleForMs,
      onIdle: (idleMs) => this.#endUnasked(evictedAfter(idleMs)),
    });
  }

  /** What confines it, as observed. */
  get isolation(): Isolation {
    return this.#inner.isolation;
  }

  get isClosed(): boolean {
    return this.#runs.isClosed;
  }

  info(): SessionInfo {
    const { isClosed, isBusy, idleForMs, executions, queued } = this.#runs;
    return {
      id: this.id,
      key: this.key,
      clientId: this.clientId,
      status: isClosed ? 'closed' : isBusy ? 'running' : 'idle',
      createdAt: this.#createdAt,
      lastUsedAt: new Date(Date.now() - idleForMs),
      executions,
      queued,
      workspace: this.files.location,
    };
  }

  /** Runs code and gives everything that it produced. What the code does is in the result, never an exception. */
  async runCode(code: string, options: RunOptions = {}): Promise<Execution> {
    return this.execute(parseRun(code, options));
  }

  /** `runCode` for options that were parsed already. */
  execute(run: Run): Promise<Execution> {
    return this.#runs.execute(run);
  }

  /** Runs code and tells what happens while it happens. Breaking out of the loop stops the program. */
  async *stream(code: string, options: RunOptions = {}): AsyncGenerator<Event, void, undefined> {
    yield* this.#runs.stream(parseRun(code, options));
  }

  /** Stops the code that runs now, if any does, and keeps the state. Waits for no turn. */
  interrupt(): Promise<void> {
    return this.#runs.interrupt();
  }

  /** Undoes the last run that changed the state. */
  rollback(options: Cancellable = {}): Promise<Rollback> {
    return this.#runs.rollback(options);
  }

  /** A fresh interpreter on the same files. */
  reset(options: Cancellable = {}): Promise<void> {
    return this.#runs.reset(options);
  }

  /** The variables, each with its type and a short description. */
  inspect(options: Cancellable = {}): Promise<readonly Variable[]> {
    return this.#runs.inspect(options);
  }

  /** All rows of a DataFrame as a file; `interpreter.artifacts.open(id)` gives its content. Changes nothing in the session. */
  exportTable(name: string, options: TableOptions = {}): Promise<Artifact> {
    return this.#runs.exportTable(name, options);
  }

  /** Sets variables to JSON values, as a run of its own that can be rolled back. */
  async setVariables(variables: Readonly<Record<string, Json>>, options: Cancellable = {}): Promise<void> {
    await this.#assign(assignments(variables), options);
  }

  /** Gives the code `context`, whose data it reads by dots: `context.TYPE.key.field`. A run of its own, as above. */
  async setContext(data: Readonly<Record<string, Json>>, options: Cancellable = {}): Promise<void> {
    await this.#assign(await contextAssignment(data), options);
  }

  /** What the session has run, with what it showed, as a notebook of Jupyter: nbformat 4.5. */
  exportNotebook(options: Omit<ExportOptions, 'pythonVersion'> = {}): Notebook {
    return toNotebook(this.#runs.history, { pythonVersion: this.#pythonVersion, ...options });
  }

  /** Runs the init code now rather than with the first run. */
  prepare(): Promise<void> {
    return this.#runs.prepare();
  }

  /** Stops what runs, fails what waits, ends the processes and removes the files. */
  close(): Promise<void> {
    return this.end(CLOSED);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `close`, with a word on how it came to that. */
  end(ending: Ending): Promise<void> {
    return (this.#closing ??= this.#end(ending));
  }

  async #end(ending: Ending): Promise<void> {
    this.#idleWatch.stop();
    this.#runs.close(sessionClosed(this.id, ending));
    this.#hooks.onEnd(ending);
    try {
      await this.#inner.close();
    } finally {
      this.#hooks.onGone();
    }
  }

  async #assign(code: string, { signal }: Cancellable): Promise<void> {
    const run = parseRun(code, { echo: 'none', ...(signal && { signal }) });
    const { outcome, error } = await this.#runs.execute(run, 'variables');
    if (outcome.status === 'cancelled') signal?.throwIfAborted();
    if (outcome.status !== 'succeeded') {
      throw new VivariumError('ENGINE_FAILED', `The variables could not be set: ${error?.value ?? outcome.status}.`);
    }
  }

  #endUnasked(ending: Ending): void {
    this.end(ending).catch(() => undefined); // nobody waits for it; whoever closes the session meets the same error
  }
}
