import type { Isolation } from './isolation.ts';
import type { Outcome, PythonError } from './outcome.ts';

/** Everything that one run of code produced, and what became of the session's state. */
export interface Execution {
  readonly id: string;
  readonly sessionId: string;
  readonly outcome: Outcome;
  readonly logs: { readonly stdout: string; readonly stderr: string };
  readonly results: readonly Result[];
  /** What was printed and shown, in the order in which it came; without what `clear_output()` took away. */
  readonly transcript: readonly TranscriptEntry[];
  readonly error?: PythonError;
  /** Of `resultVariable`, when it was asked for and exists; see docs/values.md. */
  readonly value?: Json;
  readonly dataframes: readonly DataFrameSummary[];
  /** Every picture of the run, shown, left open or saved, in order and each once. */
  readonly figures: readonly ProducedFigure[];
  /** What the run wrote or changed in the workspace; not what was there before. */
  readonly files: readonly ProducedFile[];
  readonly state: StateReceipt;
  /** Present when output went over its budget: what was printed, what was kept. `dropped`: why some of it never arrived. */
  readonly truncated?: { readonly stdout?: Truncation; readonly stderr?: Truncation; readonly dropped?: string };
  /** Files with all of an output: of each stream of which a model may not be told everything. */
  readonly spills?: { readonly stdout?: Spill; readonly stderr?: Spill };
  /** Bytes that leftover processes printed since the run before; they belong to no run and are not kept. */
  readonly background?: StreamBytes;
  readonly durationMs: number;
  readonly isolation: Isolation;
}

/** Something that the run showed. */
export interface Result {
  /** `result`: the value of the last expression. `display`: asked for by `display()`. `figure`: a plot, shown or left open. */
  readonly kind: 'result' | 'display' | 'figure';
  /** Its forms by MIME type, at least `text/plain`; pictures are base64, JSON types are JSON text. */
  readonly data: Readonly<Record<string, string>>;
  /** The data behind a picture: titles, axes, series. */
  readonly chart?: Json;
  readonly title?: string;
}

/** Text of one stream that nothing came between, or one of the results. */
export type TranscriptEntry = {
  /** When it arrived, in milliseconds since 1970; of text its beginning. */
  readonly timeMs: number;
} & (
  | { readonly type: 'text'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** `index` is its place in `results`. */
  | { readonly type: 'result'; readonly index: number }
);

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A file that a run wrote or changed. Its copy is kept under `id` until its retention ends. */
export interface ProducedFile {
  /** In the workspace. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly mime: string;
  readonly change: 'created' | 'changed';
  readonly id?: string;
  readonly sha256?: string;
  /** Why there is no copy. */
  readonly notKept?: string;
}

/** A picture that a run made. Its copy is kept under `id` until its retention ends. */
export interface ProducedFigure {
  /** Which of `results` shows it; absent for one that was saved and never shown. */
  readonly result?: number;
  /** Where in the workspace the run saved it, if it did. */
  readonly path?: string;
  readonly mime: string;
  readonly sizeBytes: number;
  readonly title?: string;
  /** The data behind the picture, as in `results`. */
  readonly chart?: Json;
  readonly id?: string;
  readonly sha256?: string;
  /** Why there is no copy. */
  readonly notKept?: string;
}

/** A DataFrame that the run created or changed. */
export interface DataFrameSummary {
  readonly name: string;
  /** Its class: a subclass of DataFrame keeps its name. */
  readonly type: string;
  readonly rows: number;
  readonly columnCount: number;
  readonly columns: readonly { readonly name: string; readonly dtype: string; readonly missing: number | null }[];
  /** The first rows; values as docs/values.md has them. */
  readonly preview: readonly (readonly Json[])[];
  /** Labels of these rows, when they are more than numbers. */
  readonly index?: readonly Json[] | undefined;
  readonly repr: string;
  /** What was left out. */
  readonly note?: string | undefined;
}

/** Bytes per stream. */
export interface StreamBytes {
  readonly stdout: number;
  readonly stderr: number;
}

export interface Truncation {
  readonly totalBytes: number;
  readonly keptBytes: number;
}

/** All of an output, as a file. */
export interface Spill {
  /** Where the session's code finds it, whatever its working directory; absent where no later run can read it. */
  readonly path?: string;
  /** Of the copy that outlives the session. */
  readonly id: string;
  readonly sizeBytes: number;
  /** Even the file has a limit, and this is no more than the beginning. */
  readonly isCut?: true;
}

/** What the session's variables are worth after this run. */
export interface StateReceipt {
  /**
   * `preserved`: nothing happened to the state besides what the code did. `restored`: the process was lost and a twin
   * took over; the variables are those from before the run. `lost`: a fresh interpreter.
   */
  readonly status: 'preserved' | 'restored' | 'lost';
  /** Grows by one whenever the state did not simply continue: restore, loss, reset, rollback. */
  readonly generation: number;
  readonly variables: VariableChanges;
  /** Why a crash of the next run could not be undone, if so. */
  readonly unprotected?: string;
  /** Why the state was restored or lost; or what else of the session calls for attention. */
  readonly reason?: string;
}

/** Names of variables that the run touched; bounded, see `omitted`. */
export interface VariableChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** How many further names did not fit. */
  readonly omitted?: number | undefined;
}

/** A variable as `inspect` shows it. */
export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly sizeBytes: number | null;
}
