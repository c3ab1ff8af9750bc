import type { ErrorCode } from '../../errors.ts';
import type { Event, Summary } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import type { RunOptions } from '../../host/options.ts';
import { describeError } from '../http/errors.ts';
import { Attendance } from './attendance.ts';
import type { EventLog } from './event-log.ts';

/** How a run ended, as it is answered. What is not needed for that is let go of: the answer is kept for minutes. */
export interface ServedEnd {
  /** 200, or that of the error. */
  readonly status: number;
  /** The execution, or the error if there is none, as JSON. */
  readonly body: string;
  /** Null if there is no execution. */
  readonly ran: RunFacts | null;
  /** Of the error. */
  readonly code: ErrorCode | null;
}

export interface RunFacts extends Pick<Execution, 'sessionId' | 'durationMs'> {
  readonly outcome: Execution['outcome']['status'];
  readonly state: Execution['state']['status'];
  readonly mayHaveWritten: boolean;
}

/** What the host is told about a run besides its code and options. */
export type RunHooks = Required<Pick<RunOptions, 'executionId' | 'onEvent' | 'signal'>>;

/** A run to be made. */
export interface RunPlan {
  readonly id: string;
  /** Who may see it; null: only the owner of the server. */
  readonly owner: string | null;
  /** Null if that is known only at the end. */
  readonly sessionId: string | null;
  readonly code: string;
  readonly echo: 'all' | 'last' | 'none' | null;
  /** It goes on whether anybody waits for it or not. */
  readonly isBackground: boolean;
  /** Has the host run it. */
  readonly work: (hooks: RunHooks) => Promise<Execution>;
}

export interface ServerRunParts {
  readonly log: EventLog;
  /** How long it goes on while nobody waits for it. */
  readonly reattachMs: number;
  /** Keeps the end of the run before anybody is told about it. */
  readonly keep: (run: ServerRun, end: ServedEnd) => Promise<void>;
  /** Called when everybody has been told. */
  readonly onEnd: (run: ServerRun, end: ServedEnd) => void;
}

/** A run that this server makes, or has made a short time ago. */
export class ServerRun {
  /** Without the work: it would keep a session alive that has been closed. */
  readonly plan: Omit<RunPlan, 'work'>;
  readonly startedAt: Date = new Date();
  readonly log: EventLog;
  /** Never rejects. */
  readonly ended: Promise<ServedEnd>;
  readonly #parts: ServerRunParts;
  readonly #cancelled = new AbortController();
  readonly #attendance: Attendance;
  #end: ServedEnd | undefined;

  constructor(plan: RunPlan, parts: ServerRunParts) {
    const { work, ...rest } = plan;
    this.plan = rest;
    this.log = parts.log;
    this.#parts = parts;
    this.#attendance = new Attendance(parts.reattachMs, () => this.plan.isBackground || this.cancel());
    this.ended = this.#run(work);
  }

  get id(): string {
    return this.plan.id;
  }

  get sessionId(): string | null {
    return this.#end?.ran?.sessionId ?? this.plan.sessionId;
  }

  /** Undefined while it runs. */
  get end(): ServedEnd | undefined {
    return this.#end;
  }

  /** Stops the program, or takes it out of the queue. It ends as `cancelled`. */
  cancel(): void {
    this.#cancelled.abort();
  }

  /** Somebody waits for the run. When nobody does any more for a while, it is cancelled, unless it is in the background. */
  watch(): Disposable {
    return this.#attendance.join();
  }

  async #run(work: RunPlan['work']): Promise<ServedEnd> {
    let summary: Summary | undefined;
    const onEvent = (event: Event): Promise<void> | undefined => {
      if (event.type !== 'done') return this.log.append(event.type, JSON.stringify(event));
      ({ summary } = event);
      return undefined; // nobody hears that it has ended before that is kept
    };
    const hooks = { executionId: this.id, onEvent, signal: this.#cancelled.signal };
    const end = await work(hooks)
      .then((execution) => toEnd(execution, summary))
      .catch(toFailure);
    this.#attendance.end();
    await this.#parts.keep(this, end);
    this.#end = end;
    if (summary === undefined) void this.log.append('error', end.body);
    else void this.log.append('done', JSON.stringify({ type: 'done', summary }));
    this.log.end();
    this.#parts.onEnd(this, end);
    return end;
  }
}

function toEnd(execution: Execution, summary: Summary | undefined): ServedEnd {
  const { sessionId, durationMs, outcome, state } = execution;
  const mayHaveWritten = summary?.mayHaveWritten ?? true;
  const ran = { sessionId, durationMs, outcome: outcome.status, state: state.status, mayHaveWritten };
  return { status: 200, body: JSON.stringify(execution), ran, code: null };
}

function toFailure(error: unknown): ServedEnd {
  const { status, body } = describeError(error);
  return { status, body: JSON.stringify(body), ran: null, code: body.code };
}
