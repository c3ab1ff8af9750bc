import type { SavedFigure, Summary } from '../execution/event.ts';
import type {
  DataFrameSummary,
  InstalledPackage,
  Json,
  NetworkConnection,
  ResultTruncation,
  StateReceipt,
  StreamBytes,
} from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { Outcome, PythonError } from '../execution/outcome.ts';
import { NO_CHANGES, type RunEffect, type RunEvents, type StateEvent } from '../execution/state.ts';

/** What Python reports of a run at its end. User code can forge it. */
export interface RunReport extends RunEffect {
  readonly error: PythonError | null;
  /** The result variable, if it was asked for and exists. */
  readonly value: { readonly json: Json } | null;
  readonly dataframes: readonly DataFrameSummary[];
  readonly saved: readonly SavedFigure[];
  /** False if the code only looked at things, and so wrote no file either. */
  readonly touched: boolean;
  /** How many threads the run has started that still run. */
  readonly threads: number;
}

/** The report of a run that ended before Python could report anything. */
export const NO_REPORT: RunReport = {
  error: null,
  value: null,
  dataframes: [],
  saved: [],
  touched: true,
  threads: 0,
  variables: NO_CHANGES,
  unprotected: null,
  remedy: null,
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
  /** How much of what it showed is missing, if some is. */
  readonly cut: ResultTruncation | null;
  /** The hosts that it wanted to reach, where that is known. */
  readonly network?: NetworkUse | null;
  /** What was installed meanwhile. */
  readonly packages?: readonly InstalledPackage[];
}

/** The hosts that a run wanted to reach, and how many more. */
export interface NetworkUse {
  readonly connections: readonly NetworkConnection[];
  readonly omitted: number;
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

/** What the receipt of a run says besides its variables. */
export function eventsOf(end: RunEnd, { isInternal = false }: { readonly isInternal?: boolean }): RunEvents {
  const { event } = end;
  const notice = event === null ? describeStop(end) : null;
  return { event, notice, ifUntold: isInternal ? preparation(event) : unreceived(event, notice) };
}

/** What became of the work of a run that was stopped in time. */
function describeStop({ outcome, report }: RunEnd): string | null {
  if (outcome.status !== 'timed-out' && outcome.status !== 'cancelled') return null;
  const threads = report.threads === 0 ? '' : `, and ${report.threads} threads that it started go on`;
  return report.touched
    ? `what the run had done before it was stopped is kept${threads}`
    : `the run was stopped before it changed anything${threads}`;
}

function preparation(event: StateEvent | null): StateEvent | null {
  return event && { ...event, reason: `while the session was being prepared, ${event.reason}` };
}

/** What the next receipt says of a run whose own receipt nobody got. */
function unreceived(event: StateEvent | null, notice: string | null): StateEvent {
  const subject = 'the result of an earlier run was not received:';
  if (event === null) {
    return { status: 'preserved', reason: `${subject} ${notice ?? 'it ran to its end, and what it did is kept'}` };
  }
  const consequence = event.status === 'restored' ? ', and what it did is undone' : '';
  return { ...event, reason: `${subject} ${event.reason}${consequence}` };
}

/** The end of a run as every engine reports it. */
export function summarise(end: RunEnd, parts: SummaryParts): Summary {
  const { report, dropped, cut, network, packages = [] } = end;
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
    ...(cut !== null && { cut }),
    ...(network && network.connections.length > 0 && { network: network.connections }),
    ...(network && network.omitted > 0 && { omittedConnections: network.omitted }),
    ...(packages.length > 0 && { packages }),
    ...(background.stdout + background.stderr > 0 && { background }),
  };
}
