import type { Event } from '../../execution/event.ts';
import type { NetworkConnection, ResultTruncation } from '../../execution/execution.ts';
import type { EventQueue } from '../event-queue.ts';
import { ProtocolViolation } from '../hostile-json.ts';
import { MAX_SAVED, MAX_TABLES } from '../python-words.ts';
import type { RunReport } from '../run-end.ts';
import type { ReportFrame, ResultFrame } from './protocol/worker-frame.ts';

/**
 * Above what our worker sends between two calls of `clear_output()`; see python/_vivarium/display/budget.py. A worker that
 * exceeds them is forging frames.
 */
const MAX_RESULTS = 10_000;
const MAX_RESULT_BYTES = 48 << 20;
/** Of parsing all of it, which is how much memory it takes. */
const MAX_COST = 2_000_000;
/** What each result takes besides what it shows. */
const RESULT_BYTES = 100;

/** What a run reports piece by piece, before it is done. */
type Reported = { -readonly [K in 'value' | 'dataframes' | 'saved']: RunReport[K] };

/** What a run prints and shows, in order. A forger cannot make it grow without end. */
export class RunResults {
  readonly #queue: EventQueue<Event>;
  #results = 0;
  #bytes = 0;
  #isToBeCleared = false;
  #cut: ResultTruncation | null = null;
  #cost = 0;
  #reportedBytes = 0;
  #reportedCost = 0;
  #value: RunReport['value'] = null;
  readonly #dataframes: RunReport['dataframes'][number][] = [];
  readonly #saved: RunReport['saved'][number][] = [];

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

  /** Passes on what the gate has reported, which is bounded there. */
  tell(connection: NetworkConnection): void {
    this.#queue.push({ type: 'network', connection }, RESULT_BYTES + (connection.reason?.length ?? 0));
  }

  add(frame: ResultFrame): void {
    if (frame.kind === 'clear') {
      this.#isToBeCleared = true;
      if (!frame.wait) this.#clear();
      return;
    }
    if (this.#isToBeCleared) this.#clear();
    const { kind, data, chart, chartBytes, cost, title, picture } = frame;
    let size = RESULT_BYTES + chartBytes + (title?.length ?? 0);
    for (const mime in data) size += mime.length + (data[mime]?.length ?? 0);
    this.#results += 1;
    this.#bytes += size;
    this.#cost += cost;
    this.#checkSize();
    const result = { kind, data, ...(chart !== null && { chart }), ...(title !== null && { title }) };
    this.#queue.push({ type: 'result', result, ...(picture !== null && { picture }) }, size);
  }

  /** Takes a piece of the report. It counts like a result, and is not cleared. */
  report(frame: ReportFrame): void {
    this.#reportedBytes += RESULT_BYTES + frame.size;
    this.#reportedCost += frame.cost;
    if ('saved' in frame) this.#saved.push(frame.saved);
    else if ('dataframe' in frame) this.#dataframes.push(frame.dataframe);
    else this.#value = { json: frame.value };
    if (this.#saved.length > MAX_SAVED || this.#dataframes.length > MAX_TABLES) {
      throw new ProtocolViolation(`${this.#saved.length} saved figures and ${this.#dataframes.length} tables`);
    }
    this.#checkSize();
  }

  get reported(): Reported {
    return { value: this.#value, dataframes: this.#dataframes, saved: this.#saved };
  }

  #checkSize(): void {
    const bytes = this.#bytes + this.#reportedBytes;
    const cost = this.#cost + this.#reportedCost;
    if (this.#results > MAX_RESULTS || bytes > MAX_RESULT_BYTES || cost > MAX_COST) {
      throw new ProtocolViolation(`${this.#results} results of ${bytes} bytes and a cost of ${cost}`);
    }
  }

  /** What nobody has received yet and would have to drop again is not passed on: a progress bar may change quickly. */
  #clear(): void {
    this.#isToBeCleared = false;
    this.#results = this.#bytes = this.#cost = 0;
    this.#cut = null;
    this.#queue.retract(
      ({ type }) => type === 'result',
      ({ type }) => type === 'clear',
    );
    this.#queue.push({ type: 'clear' }, 0);
  }
}
