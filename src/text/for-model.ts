import { describeOutcome, describeState } from '../execution/description.ts';
import type { DataFrameSummary, Execution, Spill, StateReceipt } from '../execution/execution.ts';
import { hasEndedByItself } from '../execution/outcome.ts';
import { TOLD_CHARS } from '../execution/output-budget.ts';
import { listSome, shorten } from './excerpt.ts';
import { inLine } from './in-line.ts';
import { orderOutput, SHARE, STREAM_SHARE } from './ordered-output.ts';
import { describeFigure } from './result-text.ts';
import { foldTraceback, hideHostPaths } from './traceback.ts';
import { cleanText } from './visible.ts';

/** The usual size of the rows of a table. */
const MAX_TABLE_CHARS = 2_000;
const DEFAULT_MAX_CHARS = TOLD_CHARS / STREAM_SHARE;
const MAX_LISTED = 20;
const MAX_NAME_CHARS = 100;
const MAX_REFUSED = 5;
const MAX_REASON_CHARS = 300;
/** What libraries say of a machine that they cannot reach. */
const UNREACHABLE =
  /name resolution|Name or service not known|No address associated with hostname|Network is unreachable|Address family not supported|Failed to resolve|[Cc]ould not resolve host|Cannot connect to host/u;

export interface ForModelOptions {
  readonly maxChars?: number;
  /** Whether rows of tables are included: useful if the session ends, and the model cannot ask for them later. */
  readonly tables?: 'named' | 'shown';
}

/**
 * A compact text about a run for a model: what it printed and showed, in order, its files and its state, without base64.
 * Output and results take up to `maxChars`. How the run ended and what happened to the state is added to that, and never
 * cut.
 */
export function forModel(execution: Execution, options: ForModelOptions = {}): string {
  const { maxChars = DEFAULT_MAX_CHARS, tables = 'named' } = options;
  const output = orderOutput(execution, maxChars, left(execution, tables), (stream, isCut) =>
    noteOn(execution, stream, isCut),
  );
  const told = [...output, ...missing(execution), ...ending(execution, maxChars)];
  const parts = [...told, ...refused(execution, told), ...unreachable(execution, told), ...state(execution)];
  return parts.length === 0 ? 'The code ran and printed nothing.' : parts.join('\n');
}

/** What a run has left besides what it showed. */
function left(execution: Execution, tables: 'named' | 'shown'): string[] {
  return [
    ...omittedResults(execution),
    ...execution.figures.filter(({ result }) => result === undefined).map(describeFigure),
    ...execution.dataframes.flatMap((table) => [
      describeTable(table),
      ...(tables === 'shown' ? rowsOf(table, execution) : []),
    ]),
    ...files(execution),
  ];
}

/** Where text is cut, here or before, a note says where the full text is. */
function noteOn({ truncated, spills }: Execution, stream: 'stdout' | 'stderr', isCut: boolean): string {
  const cut = truncated?.[stream];
  const notes = [
    ...(cut ? [`${cut.totalBytes} bytes were printed, ${cut.keptBytes} kept`] : []),
    ...(cut || isCut ? describeSpill(spills?.[stream]) : []),
  ];
  return notes.length > 0 ? `(${notes.join('; ')})` : '';
}

function missing({ truncated }: Execution): string[] {
  return [
    ...(truncated?.dropped === undefined ? [] : [`[output is missing: ${truncated.dropped}]`]),
    ...(truncated?.files === undefined
      ? []
      : [`[the workspace has too many files: ${truncated.files} or more were not checked for changes]`]),
  ];
}

function describeSpill(spill: Spill | undefined): string[] {
  if (spill === undefined) return [];
  const { path, id, sizeBytes, isCut, notKept } = spill;
  if (notKept !== undefined) return [`the rest is not kept: ${notKept}`];
  const what = isCut ? `the first ${sizeBytes} bytes are` : 'all of it is';
  return [`${what} ${path === undefined ? `kept as artifact ${id}` : `in ${inLine(path)}`}`];
}

function omittedResults({ truncated }: Execution): string[] {
  const cut = truncated?.results;
  if (cut === undefined) return [];
  const { total, kept, reduced, totalBytes, keptBytes } = cut;
  return [`[results: ${total} were shown, ${kept} kept, ${reduced} of them cut; ${keptBytes} of ${totalBytes} bytes]`];
}

function describeTable({ name, rows, columnCount, columns }: DataFrameSummary): string {
  const listed = columns.slice(0, MAX_LISTED).map((column) => `${nameOf(column.name)} ${nameOf(column.dtype)}`);
  const more = columnCount > listed.length ? `, and ${columnCount - listed.length} more` : '';
  const size = `${counted(rows, 'row')} × ${counted(columnCount, 'column')}`;
  return `[table ${nameOf(name)}: ${size}${listed.length === 0 ? '' : `: ${listed.join(', ')}${more}`}]`;
}

/** The rows as pandas prints them, unless the program printed them itself. */
function rowsOf({ repr }: DataFrameSummary, { logs }: Execution): string[] {
  return logs.stdout.includes(repr) ? [] : [shorten(cleanText(repr), MAX_TABLE_CHARS)];
}

/** Those that figures were saved as are told with the figure. */
function files({ files: all, figures }: Execution): string[] {
  const pictures = new Set(figures.map(({ path }) => path));
  const written = all.filter(({ path }) => !pictures.has(path));
  if (written.length === 0) return [];
  const named = written.slice(0, MAX_LISTED).map((file) => `${inLine(file.path)} (${counted(file.sizeBytes, 'byte')})`);
  const more = written.length > MAX_LISTED ? `, and ${written.length - MAX_LISTED} more` : '';
  return [`[files: ${named.join(', ')}${more}]`];
}

function ending({ outcome, error }: Execution, maxChars: number): string[] {
  // The caller that cancelled the run knows where it stood.
  const isShown = error !== undefined && outcome.status !== 'cancelled';
  const traceback = isShown ? hideHostPaths(foldTraceback(cleanText(error.traceback))).trimEnd() : '';
  return [
    ...(traceback === '' ? [] : [shorten(traceback, maxChars * SHARE)]),
    ...(hasEndedByItself(outcome) ? [] : [`[${describeOutcome(outcome)}]`]),
  ];
}

/** What was refused, each host once. Why is told unless the program has printed that. */
function refused({ network = [] }: Execution, told: readonly string[]): string[] {
  const lines = network.flatMap(({ decision, host, port, reason = '' }) => {
    if (decision === 'allowed') return [];
    const isTold = told.some((text) => text.includes(reason));
    return [host === '' ? reason : isTold || reason === '' ? `${host}:${port}` : `${host}:${port} (${reason})`];
  });
  const distinct = [...new Set(lines)].map((line) => inLine(line, MAX_REASON_CHARS));
  return distinct.length === 0 ? [] : [`[network refused: ${listSome(distinct, MAX_REFUSED)}]`];
}

/** The words of the kernel suggest that trying again might help. */
function unreachable({ isolation }: Execution, told: readonly string[]): string[] {
  if (isolation.network !== 'none' || !told.some((text) => UNREACHABLE.test(text))) return [];
  return ['[this sandbox has no network: other machines cannot be reached, and trying again does not help]'];
}

function state({ state: receipt, outcome }: Execution): string[] {
  const { added, changed, removed, omitted = 0, unseen = 0 } = receipt.variables;
  const groups = Object.entries({ added, changed, removed }).filter(([, names]) => names.length > 0);
  const variables = [
    ...groups.map(([how, names]) => `${how} ${listNames(names)}`),
    ...(omitted > 0 ? [`${omitted} more not listed`] : []),
    ...(unseen > 0 ? [`${unseen} more may have changed`] : []),
  ];
  const reason = outcome.status === 'crashed' ? ` (${outcome.reason})` : ''; // told already
  const status = describeState(receipt).replace(reason, '');
  return [
    ...(variables.length > 0 ? [`[variables: ${variables.join('; ')}]`] : []),
    ...(status === '' ? [] : [`[${status}]`]),
    ...unprotected(receipt),
  ];
}

/** Told once, with the remedy: only the first receipt with a reason of its kind has that. */
function unprotected({ unprotected: reason, remedy }: StateReceipt): string[] {
  if (reason === undefined || remedy === undefined) return [];
  return [`[if the next run crashes, all variables are lost: ${reason}. ${remedy}]`];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function listNames(names: readonly string[]): string {
  return listSome(names.map(nameOf), MAX_LISTED);
}

function nameOf(name: string): string {
  return inLine(name, MAX_NAME_CHARS);
}
