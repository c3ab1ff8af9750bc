import type { Socket } from 'node:net';
import { z } from 'zod';
import { encodeFrame, FrameReader, parseEvent, readFrames } from '../protocol/frames.ts';

/** Orders of many sessions are sent together: each costs a wake-up on both sides. */
const BATCH_MS = 5;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 2000;
/** It may name many files; see python/_vivarium/surveyor/following.py. */
const MAX_HEADER_BYTES = 16 << 20;

const Overstep = z.object({
  event: z.literal('overstepped'),
  enclosure: z.string(),
  /** The number of the order under which it was seen. */
  order: z.int(),
  cause: z.enum(['memory', 'cpu', 'workspace', 'busy']),
  leftovers: z.int().nonnegative(),
});
/** A session has passed one of its limits. */
export type Overstep = z.infer<typeof Overstep>;

const Unmeasured = z.object({ event: z.literal('unmeasured'), enclosure: z.string(), problem: z.string() });
/** A session could not be measured as it was ordered. */
export type Unmeasured = z.infer<typeof Unmeasured>;

const SurveyorEvent = z.discriminatedUnion('event', [
  Overstep,
  Unmeasured,
  z.object({ event: z.literal('answer'), request: z.int(), problem: z.string().nullable(), value: z.unknown() }),
]);

/** What an enclosure is to be measured against from now on; it replaces the order before. */
export interface SurveyOrder {
  readonly op: 'watch' | 'rest' | 'unwatch';
  readonly [field: string]: unknown;
}

/** What the surveyor answers to a question: a value, or why there is none. */
export interface SurveyAnswer {
  readonly value: unknown;
  readonly problem: string | null;
}

interface SurveyorEvents {
  readonly overstepped: (overstep: Overstep) => void;
  readonly unmeasured: (unmeasured: Unmeasured) => void;
  /** Has another surveyor forked, which goes on in the stream behind `token`. */
  readonly replace: (token: string) => void;
}

/** The process that measures sessions, seen from outside. When it ends, another one takes over its orders. */
export class Surveyor implements Disposable {
  readonly #socket: Socket;
  readonly #events: SurveyorEvents;
  readonly #reader = new FrameReader({ maxHeaderBytes: MAX_HEADER_BYTES });
  /** What is to be measured, for a successor. */
  readonly #orders = new Map<string, SurveyOrder>();
  readonly #unsent = new Map<string, SurveyOrder>();
  readonly #questions = new Map<number, (answer: SurveyAnswer) => void>();
  #nextRequest = 1;
  #batch: NodeJS.Timeout | null = null;
  #replacing: NodeJS.Timeout | null = null;
  #startedMs = 0;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(socket: Socket, events: SurveyorEvents) {
    this.#socket = socket;
    this.#events = events;
    readFrames(socket, this.#reader, {
      frame: (frame) => {
        if (this.#replacing === null) this.#onEvent(parseEvent(SurveyorEvent, frame));
      },
      violation: () => this.restart(),
    });
  }

  /** Has an enclosure measured, or not any more. */
  order(enclosure: string, order: SurveyOrder): void {
    if (order.op === 'unwatch') this.#orders.delete(enclosure);
    else this.#orders.set(enclosure, order);
    this.#unsent.set(enclosure, order);
    this.#batch ??= setTimeout(() => this.#send(), BATCH_MS).unref();
  }

  /** An enclosure is gone. */
  forget(enclosure: string): void {
    if (this.#orders.has(enclosure)) this.order(enclosure, { op: 'unwatch' });
  }

  /** Has the surveyor do something, and answer. A surveyor that ends meanwhile leaves the question unanswered, which is told as a problem. */
  ask(op: string, fields: Readonly<Record<string, unknown>>): Promise<SurveyAnswer> {
    if (this.#socket.destroyed || this.#replacing !== null) return Promise.resolve(unanswered());
    const request = this.#nextRequest;
    this.#nextRequest += 1;
    const { promise, resolve } = Promise.withResolvers<SurveyAnswer>();
    this.#questions.set(request, resolve);
    this.#socket.write(encodeFrame({ ...fields, op, request }));
    return promise;
  }

  /** Replaces a surveyor that has ended. One that ends again and again is replaced after longer and longer pauses. */
  restart(): void {
    this.#leaveUnanswered();
    if (this.#replacing !== null || this.#socket.destroyed) return;
    const hasLasted = performance.now() - this.#startedMs > LONGEST_PAUSE_MS;
    this.#pauseMs = hasLasted ? FIRST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#replacing = setTimeout(() => this.#replace(), this.#pauseMs).unref();
  }

  [Symbol.dispose](): void {
    if (this.#batch !== null) clearTimeout(this.#batch);
    if (this.#replacing !== null) clearTimeout(this.#replacing);
    this.#socket.destroy();
    this.#leaveUnanswered();
  }

  /** Both directions go on behind a token that the last surveyor never saw, so half a frame of it does no harm. */
  #replace(): void {
    this.#replacing = null;
    this.#startedMs = performance.now();
    const token = `${this.#startedMs}-${Math.random()}-${Math.random()}`;
    void this.#reader.skipTo(Buffer.from(token));
    this.#socket.write(token);
    this.#events.replace(token);
    for (const [enclosure, order] of this.#orders) this.#unsent.set(enclosure, order);
    this.#send();
  }

  #send(): void {
    this.#batch = null;
    if (this.#replacing !== null) return; // its successor gets all orders
    const frames = this.#unsent.entries().map(([enclosure, order]) => encodeFrame({ enclosure, ...order }));
    if (!this.#socket.destroyed) this.#socket.write(Buffer.concat([...frames]));
    this.#unsent.clear();
  }

  #leaveUnanswered(): void {
    for (const answer of this.#questions.values()) answer(unanswered());
    this.#questions.clear();
  }

  #onEvent(event: z.infer<typeof SurveyorEvent>): void {
    switch (event.event) {
      case 'overstepped':
        this.#orders.delete(event.enclosure);
        this.#events.overstepped(event);
        break;
      case 'unmeasured':
        this.#orders.delete(event.enclosure);
        this.#events.unmeasured(event);
        break;
      case 'answer': {
        const { request, value, problem } = event;
        this.#questions.get(request)?.({ value, problem });
        this.#questions.delete(request);
      }
    }
  }
}

function unanswered(): SurveyAnswer {
  return { value: null, problem: 'the surveyor ended' };
}
