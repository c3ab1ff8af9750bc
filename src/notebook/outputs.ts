import type { Json, Result } from '../execution/execution.ts';
import type { PythonError } from '../execution/outcome.ts';
import type { TranscriptItem } from '../execution/transcript.ts';
import { TerminalText } from '../text/terminal-text.ts';
import { inLine } from '../text/in-line.ts';
import type { MimeBundle, CellOutput } from './nbformat.ts';
import { linesOf, wellFormed } from './text.ts';

const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+(?:;[\w.+=;" -]+)?$/;
/** Only these types may hold JSON instead of text. */
const JSON_TYPE = /^application\/(?:.*\+)?json$/;
/** Python's JSON reader fails at about a thousand levels. */
const MAX_DEPTH = 200;
const BASE64_TYPE = /^(?:(?:image|audio|video)\/(?!svg\+xml$)|application\/(?:pdf|octet-stream)$)/;

/** The output of a run as the outputs of its cell. */
export function toOutputs(
  items: readonly TranscriptItem[],
  error: PythonError | undefined,
  executionCount: number,
): CellOutput[] {
  const outputs = joined(items).map((item) =>
    item.type === 'text' ? streamOutput(item) : resultOutput(item.result, executionCount),
  );
  return error === undefined ? outputs : [...outputs, errorOutput(error)];
}

/** The forms of a result that a notebook can store. */
export function toMimeBundle(data: Result['data']): MimeBundle {
  const forms = Object.entries(data).filter(([mime]) => MIME_TYPE.test(mime));
  return Object.fromEntries(forms.map(([mime, content]) => [mime, toForm(mime, content)]));
}

type TextItem = Extract<TranscriptItem, { type: 'text' }>;

/** Joins adjacent pieces of the same stream, as Jupyter does. */
function joined(items: readonly TranscriptItem[]): TranscriptItem[] {
  const list: TranscriptItem[] = [];
  for (const item of items) {
    const last = list.at(-1);
    if (item.type === 'text' && last?.type === 'text' && last.stream === item.stream) {
      list[list.length - 1] = { ...last, text: last.text + item.text };
    } else list.push(item);
  }
  return list;
}

function streamOutput({ stream, text }: TextItem): CellOutput {
  return { output_type: 'stream', name: stream, text: linesOf(safe(text)) };
}

function resultOutput({ kind, data: forms }: Result, executionCount: number): CellOutput {
  const data = toMimeBundle(forms);
  return kind === 'result'
    ? { output_type: 'execute_result', execution_count: executionCount, data, metadata: {} }
    : { output_type: 'display_data', data, metadata: {} };
}

function errorOutput({ name, value, traceback }: PythonError): CellOutput {
  const lines = wellFormed(safe(traceback)).replace(/\n$/, '').split('\n');
  return { output_type: 'error', ename: wellFormed(inLine(name)), evalue: wellFormed(safe(value)), traceback: lines };
}

function toForm(mime: string, content: string): Json {
  if (JSON_TYPE.test(mime)) return parsed(content);
  return BASE64_TYPE.test(mime) ? wellFormed(content) : linesOf(mime === 'text/plain' ? safe(content) : content);
}

/** Colours stay, which notebooks show. A notebook is also printed to terminals, which must not obey what is in it. */
function safe(text: string): string {
  const filter = new TerminalText();
  return filter.add(text) + filter.end();
}

/** Text that is not valid JSON, or is nested too deeply, is stored as a string. */
function parsed(content: string): Json {
  try {
    return sound(JSON.parse(content) as Json, MAX_DEPTH);
  } catch {
    return wellFormed(content);
  }
}

/** JSON escapes can produce lone surrogates, in names and in strings. */
function sound(value: Json, depth: number): Json {
  if (typeof value === 'string') return wellFormed(value);
  if (value === null || typeof value !== 'object') return value;
  if (depth === 0) throw new RangeError('nested too deep');
  if (isList(value)) return value.map((member) => sound(member, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [wellFormed(name), sound(member, depth - 1)]),
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
