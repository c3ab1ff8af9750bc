import type { Event, Summary } from './event.ts';
import type { Execution, ProducedFile, ProducedFigure, Result, TranscriptEntry } from './execution.ts';
import { OutputBudget } from './output-budget.ts';

/** What a run printed or showed. */
export type TranscriptItem =
  | { readonly type: 'text'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Result };

interface OrderedItem {
  readonly order: number;
  readonly timeMs: number;
  readonly item: TranscriptItem;
}

/** Collects the events of a run into its result, within a budget of bytes for each stream. */
export class Transcript {
  readonly #maxOutputBytes: number;
  /** Most runs print nothing. */
  readonly #streams: { stdout?: OutputBudget; stderr?: OutputBudget } = {};
  readonly #files: ProducedFile[] = [];
  readonly #figures: ProducedFigure[] = [];
  #results: { readonly order: number; readonly timeMs: number; readonly result: Result }[] = [];
  #ordered: readonly OrderedItem[] | undefined;
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
      case 'network': // the summary has them with what became of them
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

  /** Text and results in the order in which they came, without what `clear_output()` removed. */
  items(): readonly TranscriptItem[] {
    return this.#inOrder().map(({ item }) => item);
  }

  execution(): Execution {
    if (this.#summary === undefined) throw new TypeError('an event stream ended without `done`');
    const { outputBytes: _, mayHaveWritten: __, savedFigures: ___, ...rest } = this.#summary;
    const { dropped, cut: results, unseenFiles, omittedConnections, ...summary } = rest;
    const { stdout, stderr } = this.#streams;
    const truncated = {
      ...cut('stdout', stdout),
      ...cut('stderr', stderr),
      ...(results !== undefined && { results }),
      ...(dropped !== undefined && { dropped }),
      ...(omittedConnections !== undefined && { network: omittedConnections }),
      ...(unseenFiles !== undefined && { files: unseenFiles }),
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

  /** Sorted once, however often it is asked for. */
  #inOrder(): readonly OrderedItem[] {
    return (this.#ordered ??= this.#sort());
  }

  #sort(): readonly OrderedItem[] {
    const shown = this.#shown();
    if (this.#streams.stdout === undefined && this.#streams.stderr === undefined) return shown; // already in order
    return [...this.#texts('stdout'), ...this.#texts('stderr'), ...shown]
      .filter(({ order }) => order > this.#clearedAt)
      .toSorted((a, b) => a.order - b.order)
      .reduce<OrderedItem[]>(joined, []);
  }

  #texts(stream: 'stdout' | 'stderr'): OrderedItem[] {
    const pieces = this.#streams[stream]?.pieces() ?? [];
    return pieces.map(({ order, timeMs, text }) => ({ order, timeMs, item: { type: 'text', stream, text } }));
  }

  #shown(): OrderedItem[] {
    return this.#results.map(({ order, timeMs, result }) => ({ order, timeMs, item: { type: 'result', result } }));
  }

  /** Text of one stream without anything in between is one item. */
  #advance(source: 'stdout' | 'stderr' | 'other'): void {
    this.#ordered = undefined;
    if (source === 'other' || source !== this.#lastSource) this.#order += 1;
    this.#lastSource = source;
  }
}

/** Folds a stream of events into its result, which keeps at most `maxOutputBytes` of each stream. */
export async function foldExecution(events: AsyncIterable<Event>, maxOutputBytes: number): Promise<Execution> {
  const transcript = new Transcript(maxOutputBytes);
  for await (const event of events) transcript.add(event);
  return transcript.execution();
}

/** Results are listed elsewhere, so that an entry only names one. */
function toEntries(items: readonly OrderedItem[]): TranscriptEntry[] {
  let results = 0;
  return items.map(({ timeMs, item }) => {
    if (item.type === 'text') return { timeMs, ...item };
    results += 1;
    return { timeMs, type: 'result', index: results - 1 };
  });
}

/** Joins the head and the tail of one text. */
function joined(all: OrderedItem[], next: OrderedItem): OrderedItem[] {
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
