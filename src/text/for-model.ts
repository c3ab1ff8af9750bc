import type { DataFrameSummary, Execution, Result } from '../execution/execution.ts';
import { escapeAnsi } from './clean-text.ts';

const DEFAULT_MAX_CHARS = 10_000;
/** Of one part, so that a long output cannot push the error out of sight. */
const SHARE = 0.6;

/** The compact text that a model should see of a run: what was printed, shown, written and lost, and no base64. */
export function forModel(execution: Execution, options: { readonly maxChars?: number } = {}): string {
  const { maxChars = DEFAULT_MAX_CHARS } = options;
  const parts = [
    ...printed(execution, maxChars),
    ...execution.results.flatMap((result) => shown(result, maxChars)),
    ...execution.dataframes.map(describeTable),
    ...files(execution),
    ...ending(execution, maxChars),
    ...state(execution),
  ];
  return parts.length === 0 ? 'The code ran and printed nothing.' : parts.join('\n');
}

function printed({ logs, truncated }: Execution, maxChars: number): string[] {
  const parts: string[] = [];
  for (const stream of ['stdout', 'stderr'] as const) {
    const text = shorten(escapeAnsi(logs[stream]).trimEnd(), maxChars * SHARE);
    if (text === '') continue;
    const cut = truncated?.[stream];
    const note = cut && `\n(${cut.totalBytes} bytes were printed, ${cut.keptBytes} kept)`;
    parts.push(`${stream === 'stderr' ? '[stderr]\n' : ''}${text}${note ?? ''}`);
  }
  if (truncated?.dropped !== undefined) parts.push(`[output is missing: ${truncated.dropped}]`);
  return parts;
}

function shown({ kind, data, title, chart }: Result, maxChars: number): string[] {
  if (kind === 'figure') return [`[figure${title === undefined ? '' : ` "${title}"`}${chartType(chart)}]`];
  const text = escapeAnsi(data['text/plain'] ?? '');
  return text === '' ? [] : [shorten(text, maxChars * SHARE)];
}

function chartType(chart: Result['chart']): string {
  const type = chart !== null && typeof chart === 'object' && 'type' in chart ? chart['type'] : undefined;
  return typeof type === 'string' && type !== 'unknown' ? `: ${type} chart` : '';
}

function describeTable({ name, rows, columnCount, columns }: DataFrameSummary): string {
  const listed = columns.slice(0, 20).map((column) => `${column.name} ${column.dtype}`);
  const more = columnCount > listed.length ? `, and ${columnCount - listed.length} more` : '';
  return `[table ${name}: ${rows} rows × ${columnCount} columns: ${listed.join(', ')}${more}]`;
}

function files({ files: written }: Execution): string[] {
  return written.length === 0
    ? []
    : [`[files: ${written.map((file) => `${file.path} (${file.sizeBytes} bytes)`).join(', ')}]`];
}

function ending({ outcome, error }: Execution, maxChars: number): string[] {
  const traceback = error === undefined ? [] : [shorten(escapeAnsi(error.traceback).trimEnd(), maxChars * SHARE)];
  switch (outcome.status) {
    case 'succeeded':
      return [];
    case 'raised':
      return traceback;
    case 'timed-out':
      return [...traceback, `[timed out: ${outcome.limit} limit of ${outcome.limitMs} ms]`];
    case 'cancelled':
      return ['[cancelled]'];
    case 'out-of-memory':
      return [...traceback, `[out of memory: limit of ${outcome.limitMb} MB]`];
    case 'crashed':
      return [`[crashed: ${outcome.reason}]`];
  }
}

function state({ state: receipt }: Execution): string[] {
  const { added, changed, removed } = receipt.variables;
  const groups = Object.entries({ added, changed, removed }).filter(([, names]) => names.length > 0);
  const variables = groups.map(([how, names]) => `${how} ${names.slice(0, 30).join(', ')}`);
  const status = {
    preserved: [],
    restored: [`[the process was lost (${receipt.reason ?? 'unknown'}); every variable is as it was before this run]`],
    lost: [`[all variables are lost (${receipt.reason ?? 'unknown'}); this is a fresh interpreter]`],
  }[receipt.status];
  return [...(variables.length > 0 ? [`[variables: ${variables.join('; ')}]`] : []), ...status];
}

/** Keeps head and tail. */
function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const half = Math.floor(maxChars / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters omitted …\n${text.slice(-half)}`;
}
