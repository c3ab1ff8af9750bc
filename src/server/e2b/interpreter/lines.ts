/** The lines of an answer to `/execute`, as E2B's SDKs read them. */
import { describeOutcome, describeState } from '../../../execution/description.ts';
import type { Event, Summary } from '../../../execution/event.ts';
import type { Result } from '../../../execution/execution.ts';
import { toE2bChart } from './charts.ts';

/** One line: an object with the `type` of what happened. */
export type OutputLine = Readonly<Record<string, unknown>> & { readonly type: string };

/** MIME types that have a name of their own in a result. All others are in `extra`. */
const NAMES: Readonly<Record<string, string>> = {
  'text/plain': 'text',
  'text/html': 'html',
  'text/markdown': 'markdown',
  'image/svg+xml': 'svg',
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'application/pdf': 'pdf',
  'text/latex': 'latex',
  'application/json': 'json',
  'application/javascript': 'javascript',
  'e2b/data': 'data',
};
const PARSED: ReadonlySet<string> = new Set(['json', 'data']);

/** What an event is on the wire; undefined for those that E2B does not have. */
export function toOutputLine(event: Event, nowMs: number = Date.now()): OutputLine | undefined {
  switch (event.type) {
    case 'output':
      return { type: event.stream, text: event.text, timestamp: nowMs * 1_000_000 };
    case 'result':
      return toResultLine(event.result);
    case 'done':
      return toErrorLine(event.summary);
    case 'clear':
    case 'network':
    case 'file':
    case 'figure':
      return undefined;
  }
}

export function toResultLine({ kind, data, chart }: Result): OutputLine {
  const line: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [mime, text] of Object.entries(data)) {
    const name = Object.hasOwn(NAMES, mime) ? NAMES[mime] : undefined;
    if (name === undefined) extra[mime] = text;
    else line[name] = PARSED.has(name) ? parseOrKeep(text) : text;
  }
  if (typeof line['text'] === 'string') line['text'] = withoutQuotes(line['text']);
  if (chart !== undefined) line['chart'] = toE2bChart(chart);
  return { type: 'result', ...line, extra, is_main_result: kind === 'result' };
}

/** E2B shows the value `'text'` as `text`. */
function withoutQuotes(text: string): string {
  const isQuoted = text.length > 1 && ["'", '"'].some((quote) => text.startsWith(quote) && text.endsWith(quote));
  return isQuoted ? text.slice(1, -1) : text;
}

/** A session says what it likes: what is not JSON, or so deep that it cannot be written again, stays text. */
function parseOrKeep(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    JSON.stringify(value);
    return value;
  } catch {
    return text;
  }
}

/** What E2B calls a run that came to no end of its own; code that wants to know reads the name. */
const ERROR_NAMES = {
  raised: 'Exception',
  'timed-out': 'TimeoutError',
  cancelled: 'KeyboardInterrupt',
  'out-of-memory': 'MemoryError',
  crashed: 'ContextCrashed',
} as const;

function toErrorLine({ outcome, error, state }: Summary): OutputLine | undefined {
  if (outcome.status === 'succeeded') return undefined;
  if (error !== undefined) {
    return { type: 'error', name: error.name, value: error.value, traceback: error.traceback };
  }
  const value = [describeOutcome(outcome, 'the run'), describeState(state)].filter((part) => part !== '').join('; ');
  return { type: 'error', name: ERROR_NAMES[outcome.status], value, traceback: '' };
}
