import type { Artifact } from '../../artifact/artifact.ts';
import type { ArtifactWriter } from '../../artifact/store.ts';
import type { Completion, EngineSession, PackageInstallation, Rollback } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { Command, ExecResult } from '../../execution/command.ts';
import type { Event } from '../../execution/event.ts';
import type { Execution, Json, Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { PythonError } from '../../execution/outcome.ts';
import { toNotebook } from '../../notebook/export.ts';
import type { Notebook } from '../../notebook/nbformat.ts';
import { linesOfRequirements, readRequirements } from '../../requirement/requirement.ts';
import { CLOSED, evictedAfter, failedWith, sessionClosed, type Ending } from './endings.ts';
import { IdleWatch } from './idle-watch.ts';
import {
  parseCommand,
  parseRun,
  parseStreamedRun,
  type Cancellable,
  type ExecOptions,
  type ParsedRun,
  type RunOptions,
  type SessionSettings,
  type SpawnOptions,
  type StreamedRunOptions,
  type TableOptions,
} from '../options.ts';
import { SessionArtifacts } from './run/artifacts.ts';
import { Commands } from './run/commands.ts';
import { HostedFiles } from './run/files.ts';
import { Runs, type EndedRun } from './run/runs.ts';
import { assignments, contextAssignment } from './run/variables.ts';
import type { NotebookOptions, Session, SessionInfo } from '../session.ts';

export interface HostedSessionParts {
  readonly inner: EngineSession;
  readonly key: string;
  readonly settings: SessionSettings;
  readonly maxQueue: number;
  readonly artifacts: ArtifactWriter;
  /** No copies are kept of what runs produce. */
  readonly keepsNothing?: boolean;
  /** The version of the Python that it runs on. */
  readonly pythonVersion: string;
  /** How an earlier session of this key ended; the first run reports it. */
  readonly loss?: Ending | undefined;
  readonly isForOneRun?: boolean | undefined;
}

export interface HostedSessionHooks {
  /** The session takes no more calls. */
  readonly onEnd: (ending: Ending) => void;
  /** Its processes and files are gone. */
  readonly onGone: () => void;
  /** A run has ended with an error of Python. */
  readonly onError?: ((error: PythonError) => void) | undefined;
  /** A run of the caller has ended. */
  readonly onRun?: ((run: EndedRun) => void) | undefined;
}

/** A session of this host: an engine's session with turns, history, files and an end. */
export class HostedSession implements Session {
  readonly id: string;
  readonly key: string;
  readonly clientId: string | null;
  readonly files: HostedFiles;
  readonly #inner: EngineSession;
  readonly #hooks: HostedSessionHooks;
  readonly #runs: Runs;
  readonly #commands: Commands;
  readonly #idleWatch: IdleWatch;
  readonly #pythonVersion: string;
  readonly #createdAt = new Date();
  #closing: Promise<void> | undefined;

  constructor(parts: HostedSessionParts, hooks: HostedSessionHooks) {
    const { inner, key, settings, maxQueue, artifacts, keepsNothing, pythonVersion, loss, isForOneRun } = parts;
    this.#pythonVersion = pythonVersion;
    this.id = inner.id;
    this.key = key;
    this.clientId = settings.clientId ?? null;
    this.#inner = inner;
    this.#hooks = hooks;
    const onFailure = (message: string): void => this.#endUnasked(failedWith(message));
    this.files = new HostedFiles(inner, artifacts, settings, isForOneRun);
    const { files } = this;
    const { limits } = settings;
    const kept = keepsNothing ? null : new SessionArtifacts({ sessionId: inner.id, store: artifacts, files, limits });
    const { onError, onRun } = hooks;
    const own = { inner, files, artifacts: kept, settings, maxQueue, loss: loss?.what };
    this.#runs = new Runs({ ...own, onFailure, onError, onRun });
    this.#commands = new Commands({ inner, files, limits, assertOpen: () => this.#runs.assertOpen() });
    this.#idleWatch = new IdleWatch({
      idleMs: settings.idleMs,
      idleForMs: () => Math.min(this.#runs.idleForMs, this.#commands.idleForMs),
      onIdle: (idleMs) => this.#endUnasked(evictedAfter(idleMs)),
    });
  }

  get isolation(): Isolation {
    return this.#inner.isolation;
  }

  get isClosed(): boolean {
    return this.#runs.isClosed;
  }

  async info(): Promise<SessionInfo> {
    const { isClosed, isBusy, executions, queued } = this.#runs;
    const idleForMs = Math.min(this.#runs.idleForMs, this.#commands.idleForMs);
    return {
      id: this.id,
      key: this.key,
      clientId: this.clientId,
      status: isClosed ? 'closed' : isBusy ? 'running' : 'idle',
      createdAt: this.#createdAt,
      // The idle time comes from another clock, which may be a millisecond off.
      lastUsedAt: new Date(Math.max(this.#createdAt.getTime(), Date.now() - idleForMs)),
      executions,
      queued,
      workspace: this.files.location,
    };
  }

  async runCode(code: string, options: RunOptions = {}): Promise<Execution> {
    return this.execute(parseRun(code, options));
  }

  /** `runCode` for options that have been parsed. */
  execute(run: ParsedRun): Promise<Execution> {
    return this.#runs.execute(run);
  }

  async *stream(code: string, options: StreamedRunOptions = {}): AsyncGenerator<Event, void, undefined> {
    yield* this.#runs.stream(parseStreamedRun(code, options));
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return this.#commands.exec(parseCommand(argv, options));
  }

  async spawn(argv: readonly string[], options: SpawnOptions = {}): Promise<Command> {
    return this.#commands.spawn(parseCommand(argv, options));
  }

  interrupt(): Promise<void> {
    return this.#runs.interrupt();
  }

  rollback(options: Cancellable = {}): Promise<Rollback> {
    return this.#runs.rollback(options);
  }

  reset(options: Cancellable = {}): Promise<void> {
    return this.#runs.reset(options);
  }

  inspect(options: Cancellable = {}): Promise<readonly Variable[]> {
    return this.#runs.inspect(options);
  }

  async complete(code: string, cursor = code.length, options: Cancellable = {}): Promise<Completion> {
    if (!Number.isInteger(cursor) || cursor < 0 || cursor > code.length) {
      throw new VivariumError('CONFIG_INVALID', `cursor: ${cursor} is not a position in ${code.length} characters.`);
    }
    return this.#runs.complete(code, cursor, options);
  }

  exportTable(name: string, options: TableOptions = {}): Promise<Artifact> {
    return this.#runs.exportTable(name, options);
  }

  async install(requirements: string | readonly string[], options: Cancellable = {}): Promise<PackageInstallation> {
    const lines = typeof requirements === 'string' ? linesOfRequirements(requirements) : requirements;
    const read = readRequirements(lines);
    if (typeof read === 'string') throw new VivariumError('PACKAGE_REFUSED', read);
    return this.#runs.install(read, options);
  }

  async setVariables(variables: Readonly<Record<string, Json>>, options: Cancellable = {}): Promise<void> {
    await this.#assign(assignments(variables), options);
  }

  async setContext(data: Readonly<Record<string, Json>>, options: Cancellable = {}): Promise<void> {
    await this.#assign(await contextAssignment(data), options);
  }

  async exportNotebook(options: NotebookOptions = {}): Promise<Notebook> {
    return toNotebook(this.#runs.history, { pythonVersion: this.#pythonVersion, ...options });
  }

  /** Runs the init code now instead of before the first run. */
  prepare(): Promise<void> {
    return this.#runs.prepare();
  }

  close(): Promise<void> {
    return this.end(CLOSED);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `close`, with the reason why the session ends. */
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
    this.end(ending).catch(() => undefined); // nobody waits for it; closing the session reports the same error
  }
}
