import type { Event, Listener, Summary } from './event.ts';

/** What a run tells, for who would rather pull. It begins with the first pull; leaving early stops the program. */
export async function* pulled(run: (hear: Listener) => Promise<Summary>): AsyncGenerator<Event, void, undefined> {
  const handover = new Handover();
  const running = run((event) => handover.give(event));
  running.then(handover.end, handover.end);
  try {
    for (let event = await handover.take(); event !== null; event = await handover.take()) yield event;
    yield { type: 'done', summary: await running };
  } finally {
    handover.leave();
    await running.catch((error: unknown) => {
      if (error !== handover.left) throw error;
    });
  }
}

/** Between one who gives and one who takes: an event counts as heard when the next one is asked for. */
class Handover {
  /** What the giver is failed with. */
  readonly left = new Error('nobody listens any more');
  #event: Event | null = null;
  #heard: PromiseWithResolvers<void> | null = null;
  #wake: (() => void) | null = null;
  #isOver = false;

  give(event: Event): Promise<void> {
    this.#event = event;
    this.#heard = Promise.withResolvers<void>();
    this.#wake?.();
    return this.#heard.promise;
  }

  /** Null when nothing more comes. */
  async take(): Promise<Event | null> {
    if (this.#event === null) {
      this.#heard?.resolve();
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
    this.#heard?.reject(this.left);
  }
}
