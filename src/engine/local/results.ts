import type { Event } from '../../execution/event.ts';
import type { ResultTruncation } from '../../execution/execution.ts';
import type { EventQueue } from '../event-queue.ts';
import { ProtocolViolation } from '../hostile-json.ts';
import type { ResultFrame } from './protocol/worker-frame.ts';

/**
 * Above what our worker sends between two calls of `clear_output()`; see python/_vivarium/display/budget.py. A worker that
 * exceeds them is forging frames.
 */
const MAX_RESULTS = 10_000;
const MAX_RESULT_BYTES = 32 << 20;

/** What a run prints and shows, in order. A forger cannot make it grow without end. */
export class RunResults {
  readonly #queue: EventQueue<Event>;
  #results = 0;
  #bytes = 0;
  #isToBeCleared = false;
  #cut: ResultTruncation | null = null;

  constructor(queue: EventQueue<Event>) {
    this.#queue = queue;
  }

  /** How much the worker has left out, as far as it has said so. */
  get cut(): ResultTruncation | null {
    return this.#cut;
  }

  note(cut: ResultTruncation | null): void {
    this.#cut = cut;
  }

  print(stream: 'stdout' | 'stderr', text: string): void {
    if (this.#isToBeCleared) this.#clear();
    this.#queue.push({ type: 'output', stream, text }, text.length);
  }

  add(frame: ResultFrame): void {
    if (frame.kind === 'clear') {
      this.#isToBeCleared = true;
      if (!frame.wait) this.#clear();
      return;
    }
    if (this.#isToBeCleared) this.#clear();
    const { kind, data, chart, chartBytes, title, picture } = frame;
    let size = chartBytes;
    for (const mime in data) size += data[mime]?.length ?? 0;
    this.#results += 1;
    this.#bytes += size;
    if (this.#results > MAX_RESULTS || this.#bytes > MAX_RESULT_BYTES) {
      throw new ProtocolViolation(`${this.#results} results of ${this.#bytes} bytes`);
    }
    const result = { kind, data, ...(chart !== null && { chart }), ...(title !== null && { title }) };
    this.#queue.push({ type: 'result', result, ...(picture !== null && { picture }) }, size);
  }

  /** What nobody has received yet and would have to drop again is not passed on: a progress bar may change quickly. */
  #clear(): void {
    this.#isToBeCleared = false;
    this.#results = this.#bytes = 0;
    this.#cut = null;
    this.#queue.retract(
      ({ type }) => type === 'result',
      ({ type }) => type === 'clear',
    );
    this.#queue.push({ type: 'clear' }, 0);
  }
}
