import type { Isolation } from './isolation.ts';
import type { Outcome, PythonError } from './outcome.ts';

/** Everything that one run of code produced, and what became of the session's state. */
export interface Execution {
  readonly id: string;
  readonly sessionId: string;
  readonly outcome: Outcome;
  readonly logs: { readonly stdout: string; readonly stderr: string };
  readonly results: readonly Result[];
  /** What was printed and shown, in order, without what `clear_output()` removed. */
  readonly transcript: readonly TranscriptEntry[];
  readonly error?: PythonError;
  /** The value of `resultVariable`, if it was asked for and exists; see docs/values.md. */
  readonly value?: Json;
  readonly dataframes: readonly DataFrameSummary[];
  /** Every picture of the run that was shown, left open or saved, in order and each once. */
  readonly figures: readonly ProducedFigure[];
  /** The files that the run created or changed in the workspace. */
  readonly files: readonly ProducedFile[];
  readonly state: StateReceipt;
  /** Present if something is missing here. */
  readonly truncated?: Truncated;
  /** Files with the whole output of each stream that is too long for a model. */
  readonly spills?: { readonly stdout?: Spill; readonly stderr?: Spill };
  /** Bytes that were printed since the run before. They belong to no run and are not kept. */
  readonly background?: StreamBytes;
  /** The hosts that the run wanted to reach, allowed or not, in order. Only where the network is a list. */
  readonly network?: readonly NetworkConnection[];
  /** The packages that were installed for the session since the run before; see docs/packages.md. */
  readonly packages?: readonly InstalledPackage[];
  readonly durationMs: number;
  readonly isolation: Isolation;
}

/** A package that was installed for a session; see docs/packages.md. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** Where its wheel came from. */
  readonly url: string;
  /** Of the wheel. */
  readonly sha256: string;
}

/** A connection that a program wanted to make where the network is a list; see docs/network.md. */
export interface NetworkConnection {
  /** The name or address that the program asked for; empty if it asked for none that was understood. */
  readonly host: string;
  /** 0 if none was understood. */
  readonly port: number;
  /** The address that the name led to. */
  readonly address?: string;
  readonly decision: 'allowed' | 'refused';
  /** Why it was refused, or failed although it was allowed. */
  readonly reason?: string;
  /** Bytes that the program sent, known at the end of the run. */
  readonly sentBytes?: number;
  /** Bytes that the program received, known at the end of the run. */
  readonly receivedBytes?: number;
}

/** Something that the run showed. */
export interface Result {
  /** `result`: the value of the last expression. `display`: asked for by `display()`. `figure`: a plot, shown or left open. */
  readonly kind: 'result' | 'display' | 'figure';
  /** Its forms by MIME type, at least `text/plain`. Pictures are base64, JSON types are JSON text. */
  readonly data: Readonly<Record<string, string>>;
  /** The data behind a picture: titles, axes, series. */
  readonly chart?: Json;
  readonly title?: string;
}

/** Text of one stream without anything in between, or one of the results. */
export type TranscriptEntry = {
  /** When it arrived, or when text began to arrive, in milliseconds since 1970. */
  readonly timeMs: number;
} & (
  | { readonly type: 'text'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** `index` is its position in `results`. */
  | { readonly type: 'result'; readonly index: number }
);

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * A file that a run wrote or changed. A copy is kept under `id` until its retention ends. A large file is copied after the
 * answer: then `sha256` is absent, and `artifacts.get(id)` has it.
 */
export interface ProducedFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly mime: string;
  readonly change: 'created' | 'changed';
  readonly id?: string;
  readonly sha256?: string;
  /** Why there is no copy. */
  readonly notKept?: string;
}

/** A picture that a run made. A copy is kept under `id` until its retention ends. */
export interface ProducedFigure {
  /** Which of `results` shows it; absent if it was saved but never shown. */
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
  /** The name of its class, which may be a subclass of DataFrame. */
  readonly type: string;
  readonly rows: number;
  readonly columnCount: number;
  readonly columns: readonly { readonly name: string; readonly dtype: string; readonly missing: number | null }[];
  /** The first rows, with values as described in docs/values.md. */
  readonly preview: readonly (readonly Json[])[];
  /** Labels of these rows, if they are more than numbers. */
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

/** What an execution does not tell. */
export interface Truncated {
  /** Set if the output went over its budget. */
  readonly stdout?: Truncation;
  readonly stderr?: Truncation;
  /** Set if the run showed more than is kept of one run. */
  readonly results?: ResultTruncation;
  /** Why some output never arrived. */
  readonly dropped?: string;
  /** How many further connections are not in `network`. */
  readonly network?: number;
  /** How many files of the workspace at least were not looked at, because it has too many. Changes to them are not in `files`. */
  readonly files?: number;
}

export interface Truncation {
  readonly totalBytes: number;
  readonly keptBytes: number;
}

/**
 * How much of what a run showed is in `results`. What `clear_output()` removed does not count. If the process was lost,
 * there may have been more.
 */
export interface ResultTruncation {
  /** How many results the run showed. */
  readonly total: number;
  /** How many of them were kept: the first and the last. */
  readonly kept: number;
  /** How many of those lack a form or the data behind a chart, because it is too large. */
  readonly reduced: number;
  /** The size of all results. Pictures above the number that is drawn do not count. */
  readonly totalBytes: number;
  readonly keptBytes: number;
}

/** A whole output as a file. */
export interface Spill {
  /** The path by which the session's code opens it from any working directory; absent if no later run can read it. */
  readonly path?: string;
  /** The id of the copy that outlives the session. */
  readonly id?: string;
  readonly sizeBytes: number;
  /** Set if the file reached its own limit and holds only the beginning. */
  readonly isCut?: true;
  /** Why there is no file. `sizeBytes` is that of the output then. */
  readonly notKept?: string;
}

/** What became of the session's state. Receipts are made in state.ts. */
export interface StateReceipt {
  /**
   * `preserved`: nothing happened to the state during the run besides what the code did. `restored`: the run lost the
   * process, and a twin took over; the variables are those from before the run. `lost`: the variables from before are
   * gone. With `earlier` they were gone before the run, and what the run did is kept; without it the run lost them.
   */
  readonly status: 'preserved' | 'restored' | 'lost';
  /** What happened to the state since the last receipt that a caller has received, and before this run. */
  readonly earlier?: EarlierEvent;
  /** Grows by one whenever the state did not simply continue: restore, loss, reset, rollback. */
  readonly generation: number;
  readonly variables: VariableChanges;
  /** Why a crash of the next run could not be undone, if so. */
  readonly unprotected?: string;
  /** What can be done about `unprotected`. Only on the first receipt with this kind of reason. */
  readonly remedy?: string;
  /** Why the state was restored or lost, what became of a run that was stopped, or what else needs attention. */
  readonly reason?: string;
}

/** A loss of the process before a run. `restored`: a twin took over and no variable was lost. `lost`: all were. */
export interface EarlierEvent {
  readonly status: 'restored' | 'lost';
  readonly reason: string;
}

/** Names of variables that the run touched; bounded, see `omitted`. */
export interface VariableChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** How many further names did not fit. */
  readonly omitted?: number | undefined;
  /** How many further variables may have changed; there was no time to look at them. */
  readonly unseen?: number | undefined;
}

/** A variable as `inspect` shows it. Of more than 5,000 the newest are shown, and a last entry `…` counts the others. */
export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly sizeBytes: number | null;
}
