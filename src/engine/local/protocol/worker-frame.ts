import { isUtf8 } from 'node:buffer';
import type { Json } from '../../../execution/execution.ts';
import { parseCounted, ProtocolViolation } from '../../hostile-json.ts';
import {
  DataFrameSummary,
  FoundNames,
  namedFigure,
  ResultsCut,
  SavedFields,
  VariableChanges,
  Variables,
} from '../../python-words.ts';
import {
  fields,
  flag,
  integer,
  listOf,
  made,
  matching,
  oneOf,
  orNull,
  pair,
  text,
  texts,
  usually,
  type Shape,
  type Shaped,
} from '../../shape.ts';
import { inLine } from '../../../text/in-line.ts';
import { escapeControls } from '../../../text/visible.ts';
import type { Frame } from './frames.ts';

const MAX_FORMS = 32;
/** Of all JSON in a frame: together with its cost this bounds how long one frame holds up the event loop. */
const MAX_CHART_BYTES = 1 << 20;
const MAX_MIME_CHARS = 200;
/** More than our worker sends. What is told to a model or printed is cleaned character by character, so it is short. */
const MAX_PLAIN_CHARS = 100_000;
const PLAIN = 'text/plain';
const Id = text(200);
/** Foreign words that become part of receipts. */
const Sentence = made(text(1000), (words) => inLine(words));
/** Cleaned here, so that errors can be shown as they are. */
const ErrorText = (maxChars: number): Shape<string> => made(text(maxChars), escapeControls);
const Reason = usually(orNull(Sentence), () => null);
const Parts = usually(listOf(pair(text(MAX_MIME_CHARS), integer()), MAX_FORMS), () => []);
const ChartBytes = usually(integer(0, MAX_CHART_BYTES), () => 0);
const Off = usually(flag, () => false);
/** Linux gives no process a higher number. */
const Pid = integer(2, 2 ** 22);

/**
 * What a worker may send. User code can forge it, so its shape is checked and it is never taken for a fact. Fields that
 * have their default value are left out: most frames have few others, and each field costs time on both sides.
 */
const HEADERS = {
  ready: fields({ pid: Pid, isEmpty: flag }),
  cleared: fields({ files: Sentence }),
  twin: fields({
    pid: Pid,
    token: matching(/^[0-9a-f]{32}$/),
    /** Why the twin of the previous state was given up for it. */
    dropped: orNull(Sentence),
    /** Whether it was made because a run asked for it, so that it knows the files of right before that run. */
    refreshed: flag,
  }),
  /** The worker could not make a twin after all. */
  unprotected: fields({ reason: Sentence }),
  renewed: fields({}),
  resumed: fields({ pid: Pid, files: Sentence }),
  result: fields({
    id: Id,
    kind: oneOf('result', 'display', 'figure', 'clear'),
    data: texts(MAX_MIME_CHARS, MAX_FORMS),
    /** What follows the header, in this order: longer texts, bytes, and the chart as JSON. */
    texts: Parts,
    binary: Parts,
    chartBytes: ChartBytes,
    title: usually(orNull(Sentence), () => null),
    picture: usually(orNull(integer(1)), () => null),
    /** Of `clear`: only once there is something new to show. */
    wait: Off,
  }),
  cut: fields({ id: Id, results: ResultsCut }),
  /** The result variable, a table or a saved figure: what a run reports before it is done. Each has a frame of its own. */
  value: fields({ id: Id, jsonBytes: integer(1, MAX_CHART_BYTES) }),
  dataframe: fields({ id: Id, summary: DataFrameSummary }),
  saved: fields({ id: Id, chartBytes: ChartBytes, ...SavedFields }),
  done: fields({
    id: Id,
    error: usually(
      orNull(fields({ name: Sentence, value: ErrorText(20_000), traceback: ErrorText(100_000) })),
      () => null,
    ),
    memory: Off,
    changed: Off,
    results: usually(orNull(ResultsCut), () => null),
    marked: Off,
    touched: Off,
    unprotected: Reason,
    remedy: Reason,
    /** How many threads the run has started that still run. */
    threads: usually(integer(), () => 0),
    variables: usually(VariableChanges, () => ({ added: [], changed: [], removed: [] })),
  }),
  table: fields({ id: Id, problem: orNull(text(2000)) }),
  variables: fields({ id: Id, variables: Variables }),
  completion: fields({ id: Id, found: FoundNames }),
};
type Headers = typeof HEADERS;
type Header = { [T in keyof Headers]: { readonly type: T } & Shaped<Headers[T]> }[keyof Headers];
type HeaderOf<T extends Header['type']> = Extract<Header, { type: T }>;
/** A result with everything that followed its header. */
export type ResultFrame = HeaderOf<'result'> & { readonly chart: Json | null; readonly cost: number };
/** How much a piece of a report takes: bytes that came, and the cost of parsing them. */
interface Weighed {
  readonly type: 'report';
  readonly id: string;
  readonly size: number;
  readonly cost: number;
}
/** What a run reports before it is done. */
export type ReportFrame = Weighed &
  (
    | { readonly value: Json }
    | { readonly dataframe: Shaped<typeof DataFrameSummary> }
    | { readonly saved: ReturnType<typeof namedFigure> }
  );
export type WorkerFrame =
  | Exclude<Header, { type: 'result' | 'value' | 'dataframe' | 'saved' }>
  | ResultFrame
  | ReportFrame;
export type DoneFrame = HeaderOf<'done'>;

export function parseWorkerFrame(frame: Frame): WorkerFrame {
  const header = headerOf(frame.header);
  switch (header.type) {
    case 'result':
      return withPayload(header, frame.payload);
    case 'value': {
      const { json, cost } = partOf(frame, header.jsonBytes);
      return { ...weighed(header, frame, cost), value: json };
    }
    case 'dataframe':
      return { ...weighed(header, frame), dataframe: header.summary };
    case 'saved': {
      const { json: chart, cost } = partOf(frame, header.chartBytes);
      return { ...weighed(header, frame, cost), saved: namedFigure({ ...header, chart }) };
    }
    default:
      return header;
  }
}

function headerOf(header: unknown): Header {
  const type = typeof header === 'object' && header !== null && 'type' in header ? header.type : undefined;
  if (typeof type !== 'string' || !Object.hasOwn(HEADERS, type)) throw new ProtocolViolation('an unknown frame');
  const shape: Shape<object> = HEADERS[type as keyof Headers];
  return { type, ...shape(header, type) } as Header;
}

function weighed({ id }: { readonly id: string }, { size, cost }: Frame, partCost = 0): Weighed {
  return { type: 'report', id, size, cost: cost + partCost };
}

/** The JSON behind a header, which is all that follows it. */
function partOf({ payload }: Frame, length: number): { readonly json: Json; readonly cost: number } {
  if (payload.length !== length) throw new ProtocolViolation('a frame of another length than it says');
  return chartIn(payload);
}

/** It is as deep as JSON from a session may be. There is no need to walk what JSON.parse has made. */
function chartIn(bytes: Buffer): { readonly json: Json; readonly cost: number } {
  return bytes.length === 0 ? { json: null, cost: 0 } : (parseCounted(bytes) as { json: Json; cost: number });
}

/** Bytes that are no text would be replaced one by one, which takes long. */
function textIn(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ProtocolViolation('text that is not UTF-8');
  return bytes.toString('utf8');
}

/** In a MIME bundle, bytes are base64, as in notebooks. */
function withPayload(frame: HeaderOf<'result'>, payload: Buffer): ResultFrame {
  let start = 0;
  const take = (length: number): Buffer => {
    if (start + length > payload.length) throw new ProtocolViolation('a frame shorter than it says');
    start += length;
    return payload.subarray(start - length, start);
  };
  for (const [mime, length] of frame.texts) frame.data[mime] = textIn(take(length));
  for (const [mime, length] of frame.binary) frame.data[mime] = take(length).toString('base64');
  if ((frame.data[PLAIN]?.length ?? 0) > MAX_PLAIN_CHARS) throw new ProtocolViolation('a wrong text/plain');
  const { json: chart, cost } = chartIn(take(frame.chartBytes));
  return { ...frame, chart, cost };
}
