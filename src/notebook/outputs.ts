import type { Json, Result } from '../execution/execution.ts';
import type { PythonError } from '../execution/outcome.ts';
import type { TranscriptItem } from '../execution/transcript.ts';
import type { MimeBundle, Output } from './nbformat.ts';
import { linesOf, wellFormed } from './text.ts';

const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+(?:;[\w.+=;" -]+)?$/;
/** Only for these does the format allow anything but text. */
const JSON_TYPE = /^application\/(?:.*\+)?json$/;
/** Python's reader gives up at about a thousand levels. */
const MAX_DEPTH = 200;
const BASE64_TYPE = /^(?:(?:image|audio|video)\/(?!svg\+xml$)|application\/(?:pdf|octet-stream)$)/;

/** What a run printed, showed and raised, as the outputs of its cell. */
export function toOutputs(
  items: readonly TranscriptItem[],
  error: PythonError | undefined,
  executionCount: number,
): Output[] {
  const outputs = joined(items).map((item) =>
    item.type === 'text' ? streamOutput(item) : resultOutput(item.result, executionCount),
  );
  return error === undefined ? outputs : [...outputs, errorOutput(error)];
}

/** The forms of a result that a notebook can hold. */
export function toMimeBundle(data: Result['data']): MimeBundle {
  const forms = Object.entries(data).filter(([mime]) => MIME_TYPE.test(mime));
  return Object.fromEntries(forms.map(([mime, content]) => [mime, toForm(mime, content)]));
}

type TextItem = Extract<TranscriptItem, { type: 'text' }>;

/** Pieces of one stream that follow each other become one, as Jupyter shows them. */
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

function streamOutput({ stream, text }: TextItem): Output {
  return { output_type: 'stream', name: stream, text: linesOf(text) };
}

function resultOutput({ kind, data: forms }: Result, executionCount: number): Output {
  const data = toMimeBundle(forms);
  return kind === 'result'
    ? { output_type: 'execute_result', execution_count: executionCount, data, metadata: {} }
    : { output_type: 'display_data', data, metadata: {} };
}

function errorOutput({ name, value, traceback }: PythonError): Output {
  const lines = wellFormed(traceback).replace(/\n$/, '').split('\n');
  return { output_type: 'error', ename: wellFormed(name), evalue: wellFormed(value), traceback: lines };
}

function toForm(mime: string, content: string): Json {
  if (JSON_TYPE.test(mime)) return parsed(content);
  return BASE64_TYPE.test(mime) ? wellFormed(content) : linesOf(content);
}

/** What claims to be JSON and is not, or nests too deep to be read, stays text, which JSON can be, too. */
function parsed(content: string): Json {
  try {
    return sound(JSON.parse(content) as Json, MAX_DEPTH);
  } catch {
    return wellFormed(content);
  }
}

/** Escapes in JSON can spell lone surrogates, in names as well as in texts. */
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
