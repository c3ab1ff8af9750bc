import type { RequestProgress, ServiceEvent } from '../../service/service.ts';
import type { Output } from '../output.ts';
import { Frame } from '../review/frame.ts';

const REFRESH_MS = 100;

/** Tells on standard error how far a request is, and passes on what its code prints. */
export class ProgressDisplay {
  readonly #output: Output;
  #frame: Frame | undefined;
  #title = '';
  #tokens = 0;
  #shownAt = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows everything up to where the request ends or waits. Failures are thrown. */
  async watch(events: AsyncIterable<ServiceEvent>): Promise<RequestProgress> {
    try {
      for await (const event of events) {
        if (event.type === 'settled') return event;
        await this.#show(event);
      }
    } finally {
      await this.#closeLine();
    }
    throw new TypeError('a service ended without saying how');
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

  /** What a model writes is counted, not shown: it is shown with the question, as a whole. */
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
