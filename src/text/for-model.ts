import { describeOutcome, describeState } from '../execution/description.ts';
import type {
  DataFrameSummary,
  Execution,
  ProducedFigure,
  Result,
  Spill,
  StateReceipt,
} from '../execution/execution.ts';
import { hasEndedByItself } from '../execution/outcome.ts';
import { TOLD_CHARS } from '../execution/output-budget.ts';
import { listSome, shorten } from './excerpt.ts';
import { cleanText, inLine } from './visible.ts';

/** The usual size of the rows of a table. */
const MAX_TABLE_CHARS = 2_000;
/** The share of one part, so that a long output cannot displace the error. */
const SHARE = 0.6;
/** The share of each stream if there are two, which leaves room for results. */
const STREAM_SHARE = 0.4;
const DEFAULT_MAX_CHARS = TOLD_CHARS / STREAM_SHARE;
const MAX_LISTED = 20;
const MAX_NAME_CHARS = 100;

export interface ForModelOptions {
  readonly maxChars?: number;
  /** Whether rows of tables are included: useful if the session ends, and the model cannot ask for them later. */
  readonly tables?: 'named' | 'shown';
}

/**
 * A compact text about a run for a model: its output, results, files and state, without base64. Output and results take
 * up to `maxChars`. How the run ended and what happened to the state is added to that, and never cut.
 */
export function forModel(execution: Execution, options: ForModelOptions = {}): string {
  const { maxChars = DEFAULT_MAX_CHARS, tables = 'named' } = options;
  const output = printed(execution, maxChars);
  const roomLeft = maxChars - output.reduce((sum, { length }) => sum + length, 0);
  const seen = [
    ...allShown(execution, maxChars),
    ...omittedResults(execution),
    ...execution.figures.filter(({ result }) => result === undefined).map(describeFigure),
    ...execution.dataframes.flatMap((table) => [
      describeTable(table),
      ...(tables === 'shown' ? rowsOf(table, execution) : []),
    ]),
    ...files(execution),
  ];
  const parts = [
    ...output,
    ...(seen.length > 0 ? [shorten(seen.join('\n'), Math.max(roomLeft, 0))] : []),
    ...ending(execution, maxChars),
    ...state(execution),
  ];
  return parts.length === 0 ? 'The code ran and printed nothing.' : parts.join('\n');
}

/** Where text is cut, here or before, a note says where the full text is. */
function printed({ logs, truncated, spills }: Execution, maxChars: number): string[] {
  const parts: string[] = [];
  const share = logs.stdout === '' || logs.stderr === '' ? SHARE : STREAM_SHARE;
  for (const stream of ['stdout', 'stderr'] as const) {
    const whole = cleanText(logs[stream]).trimEnd();
    if (whole === '') continue;
    const text = shorten(whole, maxChars * share);
    const cut = truncated?.[stream];
    const notes = [
      ...(cut ? [`${cut.totalBytes} bytes were printed, ${cut.keptBytes} kept`] : []),
      ...(cut || text !== whole ? describeSpill(spills?.[stream]) : []),
    ];
    const note = notes.length > 0 ? `\n(${notes.join('; ')})` : '';
    parts.push(`${stream === 'stderr' ? '[stderr]\n' : ''}${text}${note}`);
  }
  if (truncated?.dropped !== undefined) parts.push(`[output is missing: ${truncated.dropped}]`);
  if (truncated?.files !== undefined) {
    parts.push(`[the workspace has too many files: ${truncated.files} or more were not checked for changes]`);
  }
  return parts;
}

function describeSpill(spill: Spill | undefined): string[] {
  if (spill === undefined) return [];
  const { path, id, sizeBytes, isCut, notKept } = spill;
  if (notKept !== undefined) return [`the rest is not kept: ${notKept}`];
  const what = isCut ? `the first ${sizeBytes} bytes are` : 'all of it is';
  return [`${what} ${path === undefined ? `kept as artifact ${id}` : `in ${inLine(path)}`}`];
}

/** Only the first and the last results can have room, however many there are, so the others are not looked at. */
function allShown(execution: Execution, maxChars: number): string[] {
  const { results } = execution;
  const head: string[] = [];
  const tail: string[] = [];
  let [first, end] = [0, results.length];
  for (let room = maxChars; first < end && room > 0; first += 1) room -= show(head, first);
  for (let room = maxChars; first < end && room > 0; end -= 1) room -= show(tail, end - 1);
  return [...head, ...(first < end ? [`… ${end - first} results omitted …`] : []), ...tail.toReversed()];

  function show(lines: string[], index: number): number {
    const result = results[index];
    const [line] = result === undefined ? [] : shown(result, index, execution, maxChars);
    if (line !== undefined) lines.push(line);
    return 1 + (line?.length ?? 0);
  }
}

function shown(result: Result, index: number, { figures }: Execution, maxChars: number): string[] {
  const { kind, data } = result;
  if (kind === 'figure') return [describeFigure(figures.find((figure) => figure.result === index) ?? result)];
  const text = cleanText(data['text/plain'] ?? '');
  return text === '' ? [] : [shorten(text, maxChars * SHARE)];
}

function omittedResults({ truncated }: Execution): string[] {
  const cut = truncated?.results;
  if (cut === undefined) return [];
  const { total, kept, reduced, totalBytes, keptBytes } = cut;
  return [`[results: ${total} were shown, ${kept} kept, ${reduced} of them cut; ${keptBytes} of ${totalBytes} bytes]`];
}

function describeFigure({ title, chart, path }: Pick<ProducedFigure, 'title' | 'chart' | 'path'>): string {
  const name = title === undefined ? '' : ` "${inLine(title)}"`;
  return `[figure${name}${chartType(chart)}${path === undefined ? '' : `, saved as ${inLine(path)}`}]`;
}

function chartType(chart: Result['chart']): string {
  const type = chart !== null && typeof chart === 'object' && 'type' in chart ? chart['type'] : undefined;
  return typeof type === 'string' && type !== 'unknown' ? `: ${nameOf(type)} chart` : '';
}

function describeTable({ name, rows, columnCount, columns }: DataFrameSummary): string {
  const listed = columns.slice(0, MAX_LISTED).map((column) => `${nameOf(column.name)} ${nameOf(column.dtype)}`);
  const more = columnCount > listed.length ? `, and ${columnCount - listed.length} more` : '';
  return `[table ${nameOf(name)}: ${rows} rows × ${columnCount} columns: ${listed.join(', ')}${more}]`;
}

/** The rows as pandas prints them, unless the program printed them itself. */
function rowsOf({ repr }: DataFrameSummary, { logs }: Execution): string[] {
  return logs.stdout.includes(repr) ? [] : [shorten(cleanText(repr), MAX_TABLE_CHARS)];
}

function files({ files: written }: Execution): string[] {
  if (written.length === 0) return [];
  const named = written.slice(0, MAX_LISTED).map((file) => `${inLine(file.path)} (${file.sizeBytes} bytes)`);
  const more = written.length > MAX_LISTED ? `, and ${written.length - MAX_LISTED} more` : '';
  return [`[files: ${named.join(', ')}${more}]`];
}

function ending({ outcome, error }: Execution, maxChars: number): string[] {
  const traceback = error === undefined ? [] : [shorten(cleanText(error.traceback).trimEnd(), maxChars * SHARE)];
  // The caller that cancelled the run knows where it stood.
  const shownTraceback = outcome.status === 'cancelled' ? [] : traceback;
  return [...shownTraceback, ...(hasEndedByItself(outcome) ? [] : [`[${describeOutcome(outcome)}]`])];
}

function state({ state: receipt }: Execution): string[] {
  const { added, changed, removed, omitted = 0, unseen = 0 } = receipt.variables;
  const groups = Object.entries({ added, changed, removed }).filter(([, names]) => names.length > 0);
  const variables = [
    ...groups.map(([how, names]) => `${how} ${listNames(names)}`),
    ...(omitted > 0 ? [`${omitted} more not listed`] : []),
    ...(unseen > 0 ? [`${unseen} more may have changed`] : []),
  ];
  const status = describeState(receipt);
  return [
    ...(variables.length > 0 ? [`[variables: ${variables.join('; ')}]`] : []),
    ...(status === '' ? [] : [`[${status}]`]),
    ...unprotected(receipt),
  ];
}

/** The remedy is told once, so that a model reads it when it can still act on it and not on every run. */
function unprotected({ unprotected: reason, remedy }: StateReceipt): string[] {
  if (reason === undefined) return [];
  return [`[if the next run crashes, all variables are lost: ${reason}${remedy === undefined ? '' : `. ${remedy}`}]`];
}

function listNames(names: readonly string[]): string {
  return listSome(names.map(nameOf), MAX_LISTED);
}

function nameOf(name: string): string {
  return inLine(name, MAX_NAME_CHARS);
}
