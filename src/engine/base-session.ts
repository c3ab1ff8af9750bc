import { VivariumError } from '../errors.ts';
import type { Command } from '../execution/command.ts';
import type { Event, Listener, Summary } from '../execution/event.ts';
import { streamEvents } from '../execution/event-stream.ts';
import type { StreamBytes, Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import { StateAccount, type StateEvent } from '../execution/state.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { completionAt, textBefore } from './completion.ts';
import type { Requirement } from '../requirement/requirement.ts';
import type {
  CommandRequest,
  Completion,
  EngineSession,
  PackageInstallation,
  Rollback,
  RunRequest,
  TableRequest,
} from './engine.ts';
import type { FoundNames } from './python-words.ts';
import type { Shaped } from './shape.ts';
import { eventsOf, summarise, type RunEnd } from './run-end.ts';

/** A run that is under way. */
export interface ActiveRun {
  /** Resolves when the run has ended, even if its listener has not received every event yet. */
  readonly ended: Promise<RunEnd>;
  /** Whether the listener has received every event. */
  readonly isDelivered: boolean;
  /** Waits for that. Throws what the listener has thrown. */
  delivered(): Promise<void>;
  stop(cause: 'cancelled'): void;
}

/** What the sessions of all engines have in common: one run at a time, its summary, and an end. */
export abstract class BaseSession implements EngineSession {
  readonly id: string;
  readonly isolation: Isolation;
  abstract readonly workspace: Workspace;
  protected readonly state = new StateAccount();
  /** A fresh interpreter has replaced a lost one, and `revive` has not said so yet. */
  protected isFresh = false;
  #run: ActiveRun | null = null;
  #closing: Promise<void> | null = null;

  constructor(id: string, isolation: Isolation) {
    this.id = id;
    this.isolation = isolation;
  }

  /** Replaces a lost interpreter. Undefined if there is nothing to wait for. */
  protected abstract ensureInterpreter(): Promise<void> | undefined;
  protected abstract beginRun(request: RunRequest, listener: Listener): ActiveRun;
  /** A run has ended, and its summary is about to be written. */
  protected abstract afterRun(end: RunEnd): Promise<void> | undefined;
  /** The number of bytes that were printed since the last run. */
  protected abstract takeBackground(): StreamBytes;
  protected abstract release(): Promise<void>;
  /** Has the interpreter complete what stands at the end of a text. */
  protected abstract findNames(text: string): Promise<Shaped<typeof FoundNames>>;

  abstract rollback(): Promise<Rollback>;
  abstract reset(options?: { readonly keepsNotices?: boolean }): Promise<void>;
  abstract inspect(): Promise<readonly Variable[]>;
  abstract writeTable(request: TableRequest): Promise<void>;
  abstract start(request: CommandRequest): Promise<Command>;
  abstract install(
    requirements: readonly Requirement[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<PackageInstallation>;

  get isClosing(): boolean {
    return this.#closing !== null;
  }

  async complete(code: string, cursor: number): Promise<Completion> {
    return completionAt(code, cursor, await this.findNames(textBefore(code, cursor)));
  }

  note(event: StateEvent): void {
    this.state.note(event);
  }

  async revive(): Promise<boolean> {
    const waiting = this.ensureInterpreter();
    if (waiting !== undefined) await waiting;
    const { isFresh } = this;
    this.isFresh = false;
    return isFresh;
  }

  stream(request: RunRequest): AsyncGenerator<Event, void, undefined> {
    return streamEvents((listener) => this.run(request, listener));
  }

  async run(request: RunRequest, listener: Listener): Promise<Summary> {
    const waiting = this.ensureInterpreter();
    if (waiting !== undefined) await waiting;
    this.assertOpen(); // from here on, closing the session finds the run and stops it
    const background = this.takeBackground();
    const run = this.beginRun(request, listener);
    this.#run = run;
    try {
      const end = await run.ended;
      const following = this.afterRun(end);
      if (following !== undefined) await following;
      // Also for a run whose listener has left: the next receipt tells what became of it.
      const state = this.state.receipt(eventsOf(end, request), end.report);
      if (!run.isDelivered) await run.delivered();
      return summarise(end, { id: request.id, sessionId: this.id, isolation: this.isolation, state, background });
    } finally {
      this.#run = null;
    }
  }

  async interrupt(): Promise<void> {
    await this.stopRun();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.release());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Stops the run that is under way, and returns its end. */
  protected stopRun(): Promise<RunEnd> | undefined {
    this.#run?.stop('cancelled');
    return this.#run?.ended;
  }

  protected get isRunning(): boolean {
    return this.#run !== null;
  }

  protected assertOpen(): void {
    if (this.#closing === null) return;
    throw new VivariumError('SESSION_CLOSED', `Session ${this.id} is closed. Open a new one; its variables are gone.`);
  }
}
