import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { VivariumError } from '../errors.ts';
import type { Event, Listener, Summary } from '../execution/event.ts';
import type { Execution } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import { untouchedReceipt } from '../execution/state.ts';
import { Transcript } from '../execution/transcript.ts';
import { readEvent } from '../wire/event.ts';
import { ExecutionSchema } from '../wire/execution.ts';
import { RunViewSchema } from '../wire/http/run.ts';
import { readAnswer, readBody } from './http/answer.ts';
import { Reconnection } from './http/reconnection.ts';
import type { Call } from './http/call.ts';
import type { Connection } from './http/connection.ts';
import { encodeBody } from './http/encode-body.ts';
import { followEvents } from './http/event-follower.ts';
import type { UnderWay } from './under-way.ts';

/** A run may be cancelled before the request that begins it has arrived. */
const UNKNOWN_YET_MS = [10, 20, 50, 100, 200, 500, 1000, 2000] as const;
/** Between looks at a run that nobody reads. */
const LOOK_MS = 50;

/** What is to be run, and how. All else in it is sent as it is. */
export interface RunOrder {
  readonly code: string;
  readonly executionId?: string | undefined;
  readonly onEvent?: Listener | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface RemoteRunParts {
  readonly connection: Connection;
  readonly underWay: UnderWay;
  /** The route that begins it. */
  readonly path: string;
  /** What is known of the session without asking. */
  readonly session: { readonly id: string; readonly generation: number; readonly isolation: Isolation };
}

/**
 * One run of code on a server. The request that begins it has a key of its own, so that a lost answer can be asked for
 * again without running the code again.
 */
export class RemoteRun {
  readonly #parts: RemoteRunParts;
  readonly #id: string;
  readonly #post: Call;
  readonly #signal: AbortSignal | undefined;
  readonly #onEvent: Listener | undefined;
  readonly #over = Promise.withResolvers<void>();
  #isOver = false;
  /** Whether somebody waits for what comes next. */
  #isAwaited = false;
  #cancelling: Promise<void> | undefined;

  constructor(parts: RemoteRunParts, { signal, onEvent, executionId = randomUUID(), ...others }: RunOrder) {
    this.#parts = parts;
    this.#id = executionId;
    this.#signal = signal;
    this.#onEvent = onEvent;
    this.#post = {
      method: 'POST',
      path: parts.path,
      json: encodeBody({ ...others, executionId }),
      headers: { 'idempotency-key': randomUUID() },
    };
  }

  /** Everything that it produced. */
  async execution(): Promise<Execution> {
    if (this.#signal?.aborted === true) return this.#neverRan();
    if (this.#onEvent !== undefined) return this.#listenedTo(this.#onEvent);
    using _ = this.#begin();
    this.#isAwaited = true;
    const { connection } = this.#parts;
    const reconnection = new Reconnection(this.#what);
    for (;;) {
      try {
        const response = await connection.exchange(this.#post);
        reconnection.onAnswer();
        return readAnswer(ExecutionSchema, await readBody(response, this.#post, connection), this.#post, connection);
      } catch (error) {
        await reconnection.onFailure(error);
      }
    }
  }

  /** The events as they happen. Leaving early cancels the run and waits for its end. */
  async *events(): AsyncGenerator<Event, void, undefined> {
    if (this.#signal?.aborted === true) {
      yield { type: 'done', summary: this.#untouched() };
      return;
    }
    using _ = this.#begin();
    const events = followEvents(this.#parts.connection, {
      what: this.#what,
      first: this.#post,
      path: `/v1/runs/${encodeURIComponent(this.#id)}/events`,
      read: readEvent,
      last: 'done',
    });
    try {
      for (let next = await this.#awaited(events.next()); next.done !== true; next = await this.#awaited(events.next()))
        yield next.value;
      this.#isOver = true;
    } catch (error) {
      this.#isOver = true;
      throw error;
    } finally {
      if (!this.#isOver) await this.#leave(events);
    }
  }

  /** Cancels it and returns when it has ended, whether anybody reads its events or not. */
  async stop(): Promise<void> {
    await this.#cancel();
    const { connection } = this.#parts;
    const call: Call = { method: 'GET', path: `/v1/runs/${encodeURIComponent(this.#id)}` };
    while (!this.#isOver && !connection.isClosed) {
      if (!this.#isAwaited && (await connection.ask(call, RunViewSchema)).status === 'ended') return;
      await Promise.race([this.#over.promise, pause(LOOK_MS)]);
    }
  }

  get #what(): string {
    return `run ${this.#id}`;
  }

  /** From now on the signal cancels it, and closing the host stops it. */
  #begin(): Disposable {
    const { underWay } = this.#parts;
    const abort = (): void => void this.#cancel();
    const signal = this.#signal;
    signal?.addEventListener('abort', abort, { once: true });
    underWay.add(this);
    return {
      [Symbol.dispose]: () => {
        this.#isOver = true;
        this.#over.resolve();
        signal?.removeEventListener('abort', abort);
        underWay.delete(this);
      },
    };
  }

  async #awaited<T>(next: Promise<T>): Promise<T> {
    this.#isAwaited = true;
    try {
      return await next;
    } finally {
      this.#isAwaited = false;
    }
  }

  /** The server keeps an execution as a whole, too: what was cut from its output is cut as it is there. */
  async #listenedTo(onEvent: Listener): Promise<Execution> {
    for await (const event of this.events()) await onEvent(event);
    const call: Call = { method: 'GET', path: `/v1/runs/${encodeURIComponent(this.#id)}` };
    const { execution } = await this.#parts.connection.ask(call, RunViewSchema);
    if (execution !== undefined) return execution;
    throw new VivariumError('OUTCOME_UNKNOWN', `The server has ended ${this.#what} but does not say how.`);
  }

  /** The rest is read as well, or else a program that prints would wait for its reader. */
  async #leave(events: AsyncGenerator<Event, void, undefined>): Promise<void> {
    const cancelling = this.#cancel();
    for await (const event of events) if (event.type === 'done') break;
    await cancelling;
  }

  /** Asks once, for as long as it runs. That nothing can be cancelled any more is no error. */
  #cancel(): Promise<void> {
    return (this.#cancelling ??= this.#tryToCancel());
  }

  async #tryToCancel(): Promise<void> {
    const { connection } = this.#parts;
    const path = `/v1/runs/${encodeURIComponent(this.#id)}/cancel`;
    for (const pauseMs of UNKNOWN_YET_MS) {
      try {
        await connection.tell({ method: 'POST', path, isRepeatable: true });
        return;
      } catch (error) {
        if (!(error instanceof VivariumError)) throw error;
        if (this.#isOver || connection.isClosed) return;
        await Promise.race([this.#over.promise, pause(pauseMs)]);
      }
    }
  }

  #neverRan(): Execution {
    const transcript = new Transcript(1);
    transcript.add({ type: 'done', summary: this.#untouched() });
    return transcript.execution();
  }

  /** Nothing of it was sent. */
  #untouched(): Summary {
    const { id: sessionId, generation, isolation } = this.#parts.session;
    return {
      id: this.#id,
      sessionId,
      outcome: { status: 'cancelled' },
      dataframes: [],
      state: untouchedReceipt(generation),
      durationMs: 0,
      isolation,
      outputBytes: { stdout: 0, stderr: 0 },
      mayHaveWritten: false,
    };
  }
}
