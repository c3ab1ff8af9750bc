import type { Event, Summary } from './event.ts';
import type { Execution, ProducedFile, ProducedFigure, Result, TranscriptEntry } from './execution.ts';
import { OutputBudget } from './output-budget.ts';

/** What a run printed or showed. */
export type TranscriptItem =
  | { readonly type: 'text'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Result };

interface Heard {
  readonly order: number;
  readonly timeMs: number;
  readonly item: TranscriptItem;
}

/** Keeps what a run told, within a budget of bytes for each stream: as the one result, and in the order in which it came. */
export class Transcript {
  readonly #maxOutputBytes: number;
  /** Most runs print nothing. */
  readonly #streams: { stdout?: OutputBudget; stderr?: OutputBudget } = {};
  readonly #files: ProducedFile[] = [];
  readonly #figures: ProducedFigure[] = [];
  #results: { readonly order: number; readonly timeMs: number; readonly result: Result }[] = [];
  #ordered: readonly Heard[] | undefined;
  #order = 0;
  #lastSource: 'stdout' | 'stderr' | 'other' = 'other';
  #clearedAt = 0;
  #summary: Summary | undefined;

  constructor(maxOutputBytes: number) {
    this.#maxOutputBytes = maxOutputBytes;
  }

  add(event: Event): void {
    switch (event.type) {
      case 'output':
        this.#advance(event.stream);
        this.#streams[event.stream] ??= new OutputBudget(this.#maxOutputBytes);
        this.#streams[event.stream]?.add(event.text, this.#order, Date.now());
        break;
      case 'result':
        this.#advance('other');
        this.#results.push({ order: this.#order, timeMs: Date.now(), result: event.result });
        break;
      case 'clear':
        this.#advance('other');
        this.#clearedAt = this.#order;
        this.#results = [];
        break;
      case 'file':
        this.#files.push(event.file);
        break;
      case 'figure':
        this.#figures.push(event.figure);
        break;
      case 'done':
        this.#summary = event.summary;
    }
  }

  /** Text and results in the order in which they came; what `clear_output()` took away is not among them. */
  items(): readonly TranscriptItem[] {
    return this.#inOrder().map(({ item }) => item);
  }

  execution(): Execution {
    if (this.#summary === undefined) throw new TypeError('an event stream ended without `done`');
    const { outputBytes: _, mayHaveWritten: __, savedFigures: ___, dropped, ...summary } = this.#summary;
    const { stdout, stderr } = this.#streams;
    const truncated = {
      ...cut('stdout', stdout),
      ...cut('stderr', stderr),
      ...(dropped !== undefined && { dropped }),
    };
    return {
      ...summary,
      logs: { stdout: stdout?.text() ?? '', stderr: stderr?.text() ?? '' },
      results: this.#results.map(({ result }) => result),
      transcript: toEntries(this.#inOrder()),
      figures: this.#figures,
      files: this.#files,
      ...(Object.keys(truncated).length > 0 && { truncated }),
    };
  }

  /** Put together once, however often it is asked for. */
  #inOrder(): readonly Heard[] {
    return (this.#ordered ??= this.#putInOrder());
  }

  #putInOrder(): readonly Heard[] {
    const shown = this.#shown();
    if (this.#streams.stdout === undefined && this.#streams.stderr === undefined) return shown; // in order as they are
    return [...this.#texts('stdout'), ...this.#texts('stderr'), ...shown]
      .filter(({ order }) => order > this.#clearedAt)
      .toSorted((a, b) => a.order - b.order)
      .reduce<Heard[]>(joined, []);
  }

  #texts(stream: 'stdout' | 'stderr'): Heard[] {
    const pieces = this.#streams[stream]?.pieces() ?? [];
    return pieces.map(({ order, timeMs, text }) => ({ order, timeMs, item: { type: 'text', stream, text } }));
  }

  #shown(): Heard[] {
    return this.#results.map(({ order, timeMs, result }) => ({ order, timeMs, item: { type: 'result', result } }));
  }

  /** Text of one stream that nothing came between is one item. */
  #advance(source: 'stdout' | 'stderr' | 'other'): void {
    this.#ordered = undefined;
    if (source === 'other' || source !== this.#lastSource) this.#order += 1;
    this.#lastSource = source;
  }
}

/** Results are told once: here only which of them. */
function toEntries(heard: readonly Heard[]): TranscriptEntry[] {
  let results = 0;
  return heard.map(({ timeMs, item }) => {
    if (item.type === 'text') return { timeMs, ...item };
    results += 1;
    return { timeMs, type: 'result', index: results - 1 };
  });
}

/** Head and tail of one text are one item. */
function joined(all: Heard[], next: Heard): Heard[] {
  const last = all.at(-1);
  const { item } = next;
  if (item.type === 'text' && last?.item.type === 'text' && last.item.stream === item.stream) {
    all[all.length - 1] = { ...last, item: { ...last.item, text: last.item.text + item.text } };
  } else all.push(next);
  return all;
}

function cut(name: 'stdout' | 'stderr', budget: OutputBudget | undefined): Execution['truncated'] {
  const numbers = budget?.truncation();
  return numbers && { [name]: numbers };
}
