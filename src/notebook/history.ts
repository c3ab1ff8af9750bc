import type { Summary } from '../execution/event.ts';
import type { StateReceipt } from '../execution/execution.ts';
import { hasEndedByItself, type Outcome, type PythonError } from '../execution/outcome.ts';
import type { TranscriptItem } from '../execution/transcript.ts';

/** Code that is about to run in a session. */
export interface Start {
  readonly code: string;
  /** Which expressions at the top level show: every one printed, the last one as a result, or none. */
  readonly echo: 'all' | 'last' | 'none';
  /** `init`: the session's init code. `variables`: assignments of `setVariables`. */
  readonly kind: 'run' | 'init' | 'variables';
  readonly startedAt?: Date;
}

/** What is known of a run when it has ended. */
export type End = Pick<Summary, 'outcome' | 'error' | 'state' | 'durationMs' | 'mayHaveWritten'>;

/** One run of a session. */
export interface Entry extends Start {
  /** The number in `<cell 3>`, which tracebacks show. */
  readonly executionCount: number;
  readonly startedAt: Date;
  readonly outputs: readonly TranscriptItem[];
  /** Size of outputs that are not kept any more. */
  readonly omittedBytes: number;
  /** Absent while it runs, and for ever if nobody waited for its end. */
  readonly ending?: Ending;
  /** Whether the session's state comes from it, or why not. */
  readonly place: 'present' | 'undone' | 'past';
}

export interface Ending {
  readonly outcome: Outcome;
  readonly error?: PythonError;
  readonly durationMs: number;
  readonly stateStatus: StateReceipt['status'];
  readonly mayHaveChanged: boolean;
}

/** What a history may hold: whole runs, and the bytes of their code and outputs. */
export interface HistoryBounds {
  readonly maxRuns: number;
  readonly maxBytes: number;
}

/** While it is ours. */
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** As many runs as anybody reads, and outputs that 200 sessions of one server can afford. */
const BOUNDS: HistoryBounds = { maxRuns: 1000, maxBytes: 8 << 20 };

/** What a session has run, in order, and which of it made the present state. */
export class History {
  readonly #bounds: HistoryBounds;
  #entries: Writable<Entry>[] = [];
  #bytes = 0;
  #begun = 0;
  #omittedRuns = 0;
  #restartReason: string | undefined;

  constructor(bounds: Partial<HistoryBounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Runs of the present state that did not fit. */
  get omittedRuns(): number {
    return this.#omittedRuns;
  }

  /** Why the present state began with a fresh interpreter, unless that was the session's first. */
  get restartReason(): string | undefined {
    return this.#restartReason;
  }

  /** Notes that code begins to run; what is returned notes how that ended. */
  begin({ code, echo, kind, startedAt = new Date() }: Start): (outputs: readonly TranscriptItem[], end: End) => void {
    this.#begun += 1;
    const executionCount = this.#begun;
    const entry: Writable<Entry> = {
      code,
      echo,
      kind,
      startedAt,
      executionCount,
      outputs: [],
      omittedBytes: 0,
      place: 'present',
    };
    this.#entries.push(entry);
    this.#bytes += Buffer.byteLength(code);
    this.#trim();
    return (outputs, end) => this.#end(executionCount, outputs, end);
  }

  /** The last run that may have changed the state was rolled back: it and what looked at its state count no more. */
  undo(): void {
    const last = this.#entries.findLastIndex((entry) => entry.place === 'present' && isUndoable(entry));
    if (last !== -1) this.#move((entry, index) => index >= last && entry.place === 'present', 'undone');
  }

  /** The state begins with a fresh interpreter: nothing that ran so far is part of it. */
  restart(reason: string): void {
    this.#beginAnew(reason, this.#entries.length);
  }

  #end(executionCount: number, outputs: readonly TranscriptItem[], end: End): void {
    const index = this.#entries.findLastIndex((entry) => entry.executionCount === executionCount);
    const entry = this.#entries[index];
    if (entry === undefined || entry.ending !== undefined) return;
    entry.outputs = outputs.map(withoutChart);
    entry.ending = toEnding(end);
    this.#bytes += sizeOfOutputs(entry);
    if (end.state.status === 'lost') {
      this.#beginAnew(end.state.reason ?? 'the state was lost', this.#lostBefore(index));
    }
    this.#trim();
  }

  /** How many entries a loss that the entry at `index` tells of has cost. */
  #lostBefore(index: number): number {
    const { ending } = this.#entries[index] ?? {};
    if (ending !== undefined && !hasEndedByItself(ending.outcome)) return index + 1;
    // A program that came to its own end ran in the state that is there now, and so did the init code right before it.
    let count = index;
    while (this.#entries[count - 1]?.kind === 'init') count -= 1;
    return count;
  }

  /** The first `count` entries belong to a state that is gone. */
  #beginAnew(reason: string, count: number): void {
    if (count > 0 || this.#omittedRuns > 0) this.#restartReason = reason;
    this.#omittedRuns = 0;
    this.#move((_, index) => index < count, 'past');
  }

  #move(isMoved: (entry: Entry, index: number) => boolean, place: Entry['place']): void {
    this.#entries = this.#entries.map((entry, index) => (isMoved(entry, index) ? { ...entry, place } : entry));
  }

  /** The oldest outputs go first: code that is kept can make them again. */
  #trim(): void {
    while (this.#entries.length > this.#bounds.maxRuns) this.#omitOldestRun();
    for (let index = 0; this.#bytes > this.#bounds.maxBytes && index < this.#entries.length; index += 1) {
      this.#omitOutputs(index);
    }
    while (this.#bytes > this.#bounds.maxBytes) this.#omitOldestRun();
  }

  #omitOutputs(index: number): void {
    const entry = this.#entries[index];
    const omittedBytes = entry === undefined ? 0 : sizeOfOutputs(entry);
    if (entry?.ending === undefined || omittedBytes === 0) return;
    const { error: _, ...ending } = entry.ending;
    this.#entries[index] = { ...entry, outputs: [], omittedBytes, ending };
    this.#bytes -= omittedBytes;
  }

  #omitOldestRun(): void {
    const entry = this.#entries.shift();
    if (entry === undefined) return;
    this.#bytes -= Buffer.byteLength(entry.code) + sizeOfOutputs(entry);
    if (entry.place === 'present') this.#omittedRuns += 1;
  }
}

/** As the engine sees it: a run that was lost has changed nothing, and init code makes a session what it is. */
function isUndoable({ kind, ending }: Entry): boolean {
  if (kind === 'init' || ending === undefined) return false;
  return ending.mayHaveChanged && (ending.stateStatus === 'preserved' || hasEndedByItself(ending.outcome));
}

function toEnding({ outcome, error, durationMs, state, mayHaveWritten }: End): Ending {
  return {
    outcome,
    durationMs,
    stateStatus: state.status,
    mayHaveChanged: mayHaveWritten,
    ...(error && { error }),
  };
}

/** A notebook has no use for the data behind a picture, which can be large. */
function withoutChart(item: TranscriptItem): TranscriptItem {
  if (item.type === 'text' || item.result.chart === undefined) return item;
  const { chart: _, ...result } = item.result;
  return { type: 'result', result };
}

function sizeOfOutputs({ outputs, ending }: Entry): number {
  let bytes = ending?.error === undefined ? 0 : sizeOfTexts(Object.values<string>({ ...ending.error }));
  for (const item of outputs)
    bytes += sizeOfTexts(item.type === 'text' ? [item.text] : Object.values(item.result.data));
  return bytes;
}

function sizeOfTexts(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
