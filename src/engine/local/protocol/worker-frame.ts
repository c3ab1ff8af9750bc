import { z } from 'zod';
import type { Json } from '../../../execution/execution.ts';
import { parseJson, ProtocolViolation } from '../../hostile-json.ts';
import { DataFrameSummaries, ResultsCut, SavedFigures, VariableChanges, Variables } from '../../python-words.ts';
import type { Frame } from './frames.ts';

const MAX_FORMS = 32;
const MAX_CHART_BYTES = 2 << 20;
const Mime = z.string().max(200);
const Reason = z.string().max(1000).nullable().default(null);
const Length = z.int().nonnegative();
/** Linux gives no process a higher number. */
const Pid = z
  .int()
  .min(2)
  .max(2 ** 22);
const Parts = z
  .array(z.tuple([Mime, Length]))
  .max(MAX_FORMS)
  .default([]);

/**
 * What a worker may send. User code can forge it, so its shape is checked and it is never taken for a fact. Fields that
 * have their default value are left out: most frames have few others, and each field costs time on both sides.
 */
const WorkerFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), pid: Pid, isEmpty: z.boolean() }),
  z.object({ type: z.literal('cleared'), files: z.string().max(1000) }),
  z.object({
    type: z.literal('twin'),
    pid: Pid,
    token: z.string().regex(/^[0-9a-f]{32}$/),
    /** Why the twin of the previous state was given up for it. */
    dropped: z.string().max(1000).nullable(),
    /** Whether it was made because a run asked for it, so that it knows the files of right before that run. */
    refreshed: z.boolean(),
  }),
  /** The worker could not make a twin after all. */
  z.object({ type: z.literal('unprotected'), reason: z.string().max(1000) }),
  z.object({ type: z.literal('renewed') }),
  z.object({ type: z.literal('resumed'), pid: Pid, files: z.string().max(1000) }),
  z.object({
    type: z.literal('result'),
    id: z.string(),
    kind: z.enum(['result', 'display', 'figure', 'clear']),
    data: z.record(Mime, z.string()),
    /** What follows the header, in this order: longer texts, bytes, and the chart as JSON. */
    texts: Parts,
    binary: Parts,
    chartBytes: Length.max(MAX_CHART_BYTES).default(0),
    title: z.string().max(1000).nullable().default(null),
    picture: z.int().positive().nullable().default(null),
    /** Of `clear`: only once there is something new to show. */
    wait: z.boolean().default(false),
  }),
  z.object({ type: z.literal('cut'), id: z.string(), results: ResultsCut }),
  z.object({
    type: z.literal('done'),
    id: z.string(),
    error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable().default(null),
    memory: z.boolean().default(false),
    changed: z.boolean().default(false),
    /** JSON text of the result variable. It is parsed here, so that text that is not JSON breaks the protocol. */
    value: z
      .string()
      .transform((text) => ({ json: parseJson(Buffer.from(text)) as Json }))
      .nullable()
      .default(null),
    dataframes: DataFrameSummaries.default([]),
    saved: SavedFigures.default([]),
    results: ResultsCut.nullable().default(null),
    marked: z.boolean().default(false),
    touched: z.boolean().default(false),
    unprotected: Reason,
    remedy: Reason,
    /** How many threads the run has started that still run. */
    threads: z.int().nonnegative().default(0),
    variables: VariableChanges.default(() => ({ added: [], changed: [], removed: [] })),
  }),
  z.object({ type: z.literal('table'), id: z.string(), problem: z.string().max(2000).nullable() }),
  z.object({
    type: z.literal('variables'),
    id: z.string(),
    variables: Variables,
  }),
]);
type ParsedFrame = z.infer<typeof WorkerFrame>;
type ResultHeader = Extract<ParsedFrame, { type: 'result' }>;
/** A result with everything that followed its header. */
export type ResultFrame = ResultHeader & { readonly chart: Json | null };
export type WorkerFrame = Exclude<ParsedFrame, ResultHeader> | ResultFrame;
export type DoneFrame = Extract<WorkerFrame, { type: 'done' }>;

export function parseWorkerFrame({ header, payload }: Frame): WorkerFrame {
  const parsed = WorkerFrame.safeParse(header);
  if (!parsed.success) throw new ProtocolViolation(`an unknown frame: ${z.prettifyError(parsed.error)}`);
  return parsed.data.type === 'result' ? withPayload(parsed.data, payload) : parsed.data;
}

/** In a MIME bundle, bytes are base64, as in notebooks. */
function withPayload(frame: ResultHeader, payload: Buffer): ResultFrame {
  let start = 0;
  const take = (length: number): Buffer => {
    if (start + length > payload.length) throw new ProtocolViolation('a frame shorter than it says');
    start += length;
    return payload.subarray(start - length, start);
  };
  for (const [mime, length] of frame.texts) frame.data[mime] = take(length).toString('utf8');
  for (const [mime, length] of frame.binary) frame.data[mime] = take(length).toString('base64');
  // The chart is as deep as JSON from a session may be. There is no need to walk what JSON.parse has made.
  const chart = frame.chartBytes === 0 ? null : (parseJson(take(frame.chartBytes)) as Json);
  return { ...frame, chart };
}
