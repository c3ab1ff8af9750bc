import type { Summary } from '../execution/event.ts';
import type { InstalledPackage } from '../execution/execution.ts';
import type { Outcome, PythonError } from '../execution/outcome.ts';
import { effectsOf } from '../execution/state.ts';
import type { TranscriptItem } from '../execution/transcript.ts';
import { reachedBy, type Reached } from './reached.ts';

/** Code that is about to run in a session. */
export interface RunStart {
  readonly code: string;
  /** Which top-level expressions are shown: all of them printed, the last one as a result, or none. */
  readonly echo: 'all' | 'last' | 'none';
  /** `init`: the session's init code. `variables`: assignments of `setVariables`. */
  readonly kind: 'run' | 'init' | 'variables';
  readonly startedAt?: Date;
}

/** What is known about a run when it has ended. */
export type RecordEnd = Pick<
  Summary,
  'outcome' | 'error' | 'state' | 'durationMs' | 'mayHaveWritten' | 'network' | 'omittedConnections' | 'packages'
>;

/** One run of a session. */
export interface HistoryEntry extends RunStart {
  /** The number that tracebacks show, as in `<cell 3>`. */
  readonly executionCount: number;
  readonly startedAt: Date;
  readonly outputs: readonly TranscriptItem[];
  /** Size of outputs that were dropped. */
  readonly omittedBytes: number;
  /** Absent while it runs, and if nobody waited for its end. */
  readonly ending?: EntryOutcome;
  /** Whether the run is part of the present state of the session, was undone, or belongs to a state that is gone. */
  readonly standing: 'present' | 'undone' | 'past';
}

export interface EntryOutcome {
  readonly outcome: Outcome;
  readonly error?: PythonError;
  readonly reached?: Reached;
  readonly durationMs: number;
  /** What became of that which the run did. */
  readonly effects: 'kept' | 'undone' | 'lost';
  readonly mayHaveChanged: boolean;
}

/** Most runs in a history, and most bytes of their code and outputs. */
export interface HistoryBounds {
  readonly maxRuns: number;
  readonly maxBytes: number;
}

/** Entries can be changed only in this file. */
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** More runs than anybody reads, and an amount of memory that 200 sessions can have at once. */
const BOUNDS: HistoryBounds = { maxRuns: 1000, maxBytes: 8 << 20 };

/** The runs of a session in order, and which of them led to its present state. */
export class RunHistory {
  readonly #bounds: HistoryBounds;
  #entries: Writable<HistoryEntry>[] = [];
  readonly #packages = new Map<string, InstalledPackage>();
  #bytes = 0;
  #begun = 0;
  #omittedRuns = 0;
  #restartReason: string | undefined;
  /** The number of the first run in the present interpreter. */
  #freshSince = 0;
  /** The value of `#freshSince` up to which runs were marked as past. */
  #separatedAt = 0;

  constructor(bounds: Partial<HistoryBounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** Runs of the present state that were dropped. */
  get omittedRuns(): number {
    return this.#omittedRuns;
  }

  /** Why the present state began with a fresh interpreter; undefined for the first one of the session. */
  get restartReason(): string | undefined {
    return this.#restartReason;
  }

  /** What was installed for the session. It outlives the interpreters of the session. */
  get packages(): readonly InstalledPackage[] {
    return [...this.#packages.values()];
  }

  addPackages(packages: readonly InstalledPackage[]): void {
    for (const one of packages) this.#packages.set(one.name, one);
  }

  /** Records the start of a run. The returned function records its end. */
  begin({
    code,
    echo,
    kind,
    startedAt = new Date(),
  }: RunStart): (outputs: readonly TranscriptItem[], end: RecordEnd) => void {
    this.#begun += 1;
    const executionCount = this.#begun;
    const entry: Writable<HistoryEntry> = {
      code,
      echo,
      kind,
      startedAt,
      executionCount,
      outputs: [],
      omittedBytes: 0,
      standing: 'present',
    };
    this.#entries.push(entry);
    this.#bytes += Buffer.byteLength(code);
    this.#trim();
    return (outputs, end) => this.#end(executionCount, outputs, end);
  }

  /** The last run that may have changed the state was rolled back. It and the runs after it no longer count. */
  undo(): void {
    const last = this.#entries.findLastIndex((entry) => entry.standing === 'present' && isUndoable(entry));
    if (last !== -1) this.#move((entry, index) => index >= last && entry.standing === 'present', 'undone');
  }

  /** The session has a fresh interpreter: no earlier run is part of its state. */
  restart(reason: string): void {
    this.#beginAgain(reason, this.#entries.length);
  }

  /** The next run is the first one in a new interpreter. The receipts say why. */
  onFreshInterpreter(): void {
    this.#freshSince = this.#begun + 1;
  }

  #end(executionCount: number, outputs: readonly TranscriptItem[], end: RecordEnd): void {
    this.addPackages(end.packages ?? []);
    const index = this.#entries.findLastIndex((entry) => entry.executionCount === executionCount);
    const entry = this.#entries[index];
    if (entry === undefined || entry.ending !== undefined) return;
    entry.outputs = outputs.map(withoutChart);
    entry.ending = toEnding(end);
    this.#bytes += sizeOfOutputs(entry);
    const { status, earlier, reason = 'the state was lost' } = end.state;
    if (status === 'lost' && earlier === undefined) this.#beginAgain(reason, index + 1);
    else if (earlier?.status === 'lost') this.#separateFresh(earlier.reason);
    this.#trim();
  }

  /** Several runs tell of the same loss if nobody received the first receipt. Only the first one changes anything. */
  #separateFresh(reason: string): void {
    if (this.#freshSince === this.#separatedAt) return;
    this.#separatedAt = this.#freshSince;
    this.#beginAgain(reason, this.#entries.filter(({ executionCount }) => executionCount < this.#freshSince).length);
  }

  /** Marks the first `count` entries as belonging to a state that is gone. */
  #beginAgain(reason: string, count: number): void {
    if (count > 0 || this.#omittedRuns > 0) this.#restartReason = reason;
    this.#omittedRuns = 0;
    this.#move((_, index) => index < count, 'past');
  }

  #move(isMoved: (entry: HistoryEntry, index: number) => boolean, standing: HistoryEntry['standing']): void {
    this.#entries = this.#entries.map((entry, index) => (isMoved(entry, index) ? { ...entry, standing } : entry));
  }

  /** Drops the oldest outputs first: running the code again can recreate them. */
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
    const { error: _, reached: __, ...ending } = entry.ending;
    this.#entries[index] = { ...entry, outputs: [], omittedBytes, ending };
    this.#bytes -= omittedBytes;
  }

  #omitOldestRun(): void {
    const entry = this.#entries.shift();
    if (entry === undefined) return;
    this.#bytes -= Buffer.byteLength(entry.code) + sizeOfOutputs(entry);
    if (entry.standing === 'present') this.#omittedRuns += 1;
  }
}

/** The same rule as in the engine: a lost run has changed nothing, and init code is never undone. */
function isUndoable({ kind, ending }: HistoryEntry): boolean {
  if (kind === 'init' || ending === undefined) return false;
  return ending.mayHaveChanged && ending.effects === 'kept';
}

function toEnding(end: RecordEnd): EntryOutcome {
  const { outcome, error, durationMs, state, mayHaveWritten, network, omittedConnections } = end;
  const reached = reachedBy(network, omittedConnections);
  return {
    outcome,
    durationMs,
    effects: effectsOf(state),
    mayHaveChanged: mayHaveWritten,
    ...(error && { error }),
    ...(reached && { reached }),
  };
}

/** Notebooks do not use the data behind a figure, which can be large. */
function withoutChart(item: TranscriptItem): TranscriptItem {
  if (item.type === 'text' || item.result.chart === undefined) return item;
  const { chart: _, ...result } = item.result;
  return { type: 'result', result };
}

function sizeOfOutputs({ outputs, ending }: HistoryEntry): number {
  let bytes = sizeOfTexts(Object.values<string>({ ...ending?.error }));
  if (ending?.reached !== undefined) bytes += Buffer.byteLength(JSON.stringify(ending.reached));
  for (const item of outputs)
    bytes += sizeOfTexts(item.type === 'text' ? [item.text] : Object.values(item.result.data));
  return bytes;
}

function sizeOfTexts(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
