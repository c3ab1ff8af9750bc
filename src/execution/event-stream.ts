import type { Event, Listener, Summary } from './event.ts';
import { acknowledge } from './state.ts';

/**
 * The events of a run as an async iterator, `done` last. The run begins with the first pull; leaving early stops it. Only
 * a consumer that stays until `done` has received the receipt.
 */
export async function* streamEvents(
  run: (listener: Listener) => Promise<Summary>,
): AsyncGenerator<Event, void, undefined> {
  const handover = new Handover();
  const running = run((event) => handover.give(event));
  running.then(handover.end, handover.end);
  try {
    for (let event = await handover.take(); event !== null; event = await handover.take()) yield event;
    const summary = await running;
    acknowledge(summary.state);
    yield { type: 'done', summary };
  } finally {
    handover.leave();
    await running.catch((error: unknown) => {
      if (error !== handover.left) throw error;
    });
  }
}

/** Passes events from a giver to a taker. An event counts as received when the next one is asked for. */
class Handover {
  /** What the giver fails with when the taker leaves. */
  readonly left = new Error('nobody listens any more');
  #event: Event | null = null;
  #received: PromiseWithResolvers<void> | null = null;
  #wake: (() => void) | null = null;
  #isOver = false;

  give(event: Event): Promise<void> {
    this.#event = event;
    this.#received = Promise.withResolvers<void>();
    this.#wake?.();
    return this.#received.promise;
  }

  /** Null when nothing more comes. */
  async take(): Promise<Event | null> {
    if (this.#event === null) {
      this.#received?.resolve();
      if (!this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const event = this.#event;
    this.#event = null;
    return event;
  }

  readonly end = (): void => {
    this.#isOver = true;
    this.#wake?.();
  };

  leave(): void {
    this.#received?.reject(this.left);
  }
}
