import type { Progressed, ServiceEvent } from '../../service/service.ts';
import type { Output } from '../terminal/output.ts';
import { Frame } from '../review/frame.ts';

const REFRESH_MS = 100;

/** Shows the progress of a request and the output of its code. */
export class ProgressDisplay {
  readonly #output: Output;
  #frame: Frame | undefined;
  #title = '';
  #tokens = 0;
  #shownAt = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows progress until the request ends or waits for approval. Throws if it fails. */
  async watch(events: AsyncIterable<ServiceEvent>): Promise<Progressed> {
    try {
      for await (const event of events) {
        if (event.type === 'settled') return event;
        await this.#show(event);
      }
    } finally {
      await this.#closeLine();
    }
    throw new TypeError('the events of the service ended without `settled`');
  }

  async #show(event: Exclude<ServiceEvent, { type: 'settled' }>): Promise<void> {
    switch (event.type) {
      case 'status':
        return this.#begin(event.text, event.stage === 'generation');
      case 'token':
        return this.#count();
      case 'output':
        this.#frame ??= new Frame(this.#output.columns);
        await this.#output.write(this.#frame.add(event.text));
    }
  }

  async #begin(title: string, isCounted: boolean): Promise<void> {
    await this.#closeLine();
    this.#title = this.#output.style('cyan', title);
    this.#tokens = 0;
    await this.#output.write(this.#title);
    if (!isCounted || !this.#output.isTerminal) await this.#output.endLine();
  }

  /** Counts what a model writes. The code is shown as a whole when approval is asked for. */
  async #count(): Promise<void> {
    this.#tokens += 1;
    const now = Date.now();
    if (!this.#output.isTerminal || now - this.#shownAt < REFRESH_MS) return;
    this.#shownAt = now;
    await this.#output.write(`\r${this.#title} ${this.#tokens} tokens`);
  }

  async #closeLine(): Promise<void> {
    const rest = this.#frame?.end() ?? '';
    this.#frame = undefined;
    await this.#output.write(rest);
    await this.#output.endLine();
  }
}
