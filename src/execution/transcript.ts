import type { Event, Summary } from './event.ts';
import type { Execution, ProducedFile, ProducedFigure, Result } from './execution.ts';
import { OutputBudget } from './output-budget.ts';

/** What a run printed or showed. */
export type TranscriptItem =
  | { readonly type: 'text'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Result };

/** Keeps what a run told, within a budget of bytes for each stream: as the one result, and in the order in which it came. */
export class Transcript {
  readonly #streams;
  readonly #files: ProducedFile[] = [];
  readonly #figures: ProducedFigure[] = [];
  #results: { readonly order: number; readonly result: Result }[] = [];
  #order = 0;
  #lastSource: 'stdout' | 'stderr' | 'other' = 'other';
  #clearedAt = 0;
  #summary: Summary | undefined;

  constructor(maxOutputBytes: number) {
    this.#streams = { stdout: new OutputBudget(maxOutputBytes), stderr: new OutputBudget(maxOutputBytes) };
  }

  add(event: Event): void {
    switch (event.type) {
      case 'output':
        this.#advance(event.stream);
        this.#streams[event.stream].add(event.text, this.#order);
        break;
      case 'result':
        this.#advance('other');
        this.#results.push({ order: this.#order, result: event.result });
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
    const texts = (['stdout', 'stderr'] as const).flatMap((stream) =>
      this.#streams[stream]
        .pieces()
        .map(({ order, text }) => ({ order, item: { type: 'text', stream, text } as const })),
    );
    const results = this.#results.map(({ order, result }) => ({ order, item: { type: 'result', result } as const }));
    return [...texts, ...results]
      .filter(({ order }) => order > this.#clearedAt)
      .toSorted((a, b) => a.order - b.order)
      .reduce<TranscriptItem[]>((items, { item }) => joined(items, item), []);
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
      logs: { stdout: stdout.text(), stderr: stderr.text() },
      results: this.#results.map(({ result }) => result),
      figures: this.#figures,
      files: this.#files,
      ...(Object.keys(truncated).length > 0 && { truncated }),
    };
  }

  /** Text of one stream that nothing came between is one item. */
  #advance(source: 'stdout' | 'stderr' | 'other'): void {
    if (source === 'other' || source !== this.#lastSource) this.#order += 1;
    this.#lastSource = source;
  }
}

/** Head and tail of one text are one item. */
function joined(items: TranscriptItem[], item: TranscriptItem): TranscriptItem[] {
  const last = items.at(-1);
  if (item.type === 'text' && last?.type === 'text' && last.stream === item.stream) {
    items[items.length - 1] = { ...last, text: last.text + item.text };
  } else items.push(item);
  return items;
}

function cut(name: 'stdout' | 'stderr', budget: OutputBudget): Execution['truncated'] {
  const numbers = budget.truncation();
  return numbers && { [name]: numbers };
}
