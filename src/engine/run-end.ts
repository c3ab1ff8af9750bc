import type { SavedFigure, Summary } from '../execution/event.ts';
import type { DataFrameSummary, Json, StateReceipt, StreamBytes } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { Outcome, PythonError } from '../execution/outcome.ts';
import { NO_CHANGES, type RunEffect, type StateEvent } from '../execution/state.ts';

/** What Python reports of a run at its end. User code can forge it. */
export interface RunReport extends RunEffect {
  readonly error: PythonError | null;
  /** The result variable, if it was asked for and exists. */
  readonly value: { readonly json: Json } | null;
  readonly dataframes: readonly DataFrameSummary[];
  readonly saved: readonly SavedFigure[];
  /** False if the code only looked at things, and so wrote no file either. */
  readonly touched: boolean;
}

/** The report of a run that ended before Python could report anything. */
export const NO_REPORT: RunReport = {
  error: null,
  value: null,
  dataframes: [],
  saved: [],
  touched: true,
  variables: NO_CHANGES,
  unprotected: null,
};

/** All that an engine knows of a run that has ended. */
export interface RunEnd {
  readonly outcome: Outcome;
  readonly report: RunReport;
  /** What happened to the state besides what the code did. */
  readonly event: StateEvent | null;
  readonly durationMs: number;
  readonly outputBytes: StreamBytes;
  /** Why output is missing, if some is. */
  readonly dropped: string | null;
}

/** What a run knows of its end by itself. */
export type RunResult = Pick<RunEnd, 'outcome' | 'report' | 'event'>;

interface SummaryParts {
  readonly id: string;
  readonly sessionId: string;
  readonly isolation: Isolation;
  readonly state: StateReceipt;
  /** What was printed since the run before. */
  readonly background: StreamBytes;
}

/** The end of a run as every engine reports it. */
export function summarise(end: RunEnd, parts: SummaryParts): Summary {
  const { report, dropped } = end;
  const { id, sessionId, isolation, state, background } = parts;
  return {
    id,
    sessionId,
    outcome: end.outcome,
    dataframes: report.dataframes,
    state,
    durationMs: end.durationMs,
    isolation,
    outputBytes: end.outputBytes,
    mayHaveWritten: report.touched,
    savedFigures: report.saved,
    ...(report.error !== null && { error: report.error }),
    ...(report.value !== null && { value: report.value.json }),
    ...(dropped !== null && { dropped }),
    ...(background.stdout + background.stderr > 0 && { background }),
  };
}
