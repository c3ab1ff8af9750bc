import { z } from 'zod';
import type { Json } from '../../../execution/execution.ts';
import { parseJson, ProtocolViolation } from '../../hostile-json.ts';
import { DataFrameSummaries, JsonValue, SavedFigures, VariableChanges, Variables } from '../../python-words.ts';
import type { Frame } from './frames.ts';

const MAX_FORMS = 32;
const Mime = z.string().max(200);
const Reason = z.string().max(1000).nullable().default(null);

/**
 * What a worker may send. User code can forge it, so its shape is checked and it is never taken for a fact. Fields that
 * have their default value are left out: most frames have few others, and each field costs time on both sides.
 */
const WorkerFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), pid: z.int().min(2), isEmpty: z.boolean() }),
  z.object({ type: z.literal('cleared'), files: z.string().max(1000) }),
  z.object({
    type: z.literal('twin'),
    pid: z.int().min(2),
    token: z.string().regex(/^[0-9a-f]{32}$/),
    /** Why the twin of the previous state was given up for it. */
    dropped: z.string().max(1000).nullable(),
  }),
  /** The worker could not make a twin after all. */
  z.object({ type: z.literal('unprotected'), reason: z.string().max(1000) }),
  z.object({ type: z.literal('renewed') }),
  z.object({ type: z.literal('resumed'), pid: z.int().min(2), files: z.string().max(1000) }),
  z.object({
    type: z.literal('result'),
    id: z.string(),
    kind: z.enum(['result', 'display', 'figure', 'clear']),
    data: z.record(Mime, z.string()),
    binary: z
      .array(z.tuple([Mime, z.int().nonnegative()]))
      .max(MAX_FORMS)
      .default([]),
    chart: JsonValue.nullable().default(null),
    title: z.string().max(1000).nullable().default(null),
    picture: z.int().positive().nullable().default(null),
  }),
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
    marked: z.boolean().default(false),
    touched: z.boolean().default(false),
    unprotected: Reason,
    remedy: Reason,
    variables: VariableChanges.default(() => ({ added: [], changed: [], removed: [] })),
  }),
  z.object({ type: z.literal('table'), id: z.string(), problem: z.string().max(2000).nullable() }),
  z.object({
    type: z.literal('variables'),
    id: z.string(),
    variables: Variables,
  }),
]);
export type WorkerFrame = z.infer<typeof WorkerFrame>;
export type ResultFrame = Extract<WorkerFrame, { type: 'result' }>;
export type DoneFrame = Extract<WorkerFrame, { type: 'done' }>;

export function parseWorkerFrame({ header, payload }: Frame): WorkerFrame {
  const parsed = WorkerFrame.safeParse(header);
  if (!parsed.success) throw new ProtocolViolation(`an unknown frame: ${z.prettifyError(parsed.error)}`);
  return parsed.data.type === 'result' ? withBinary(parsed.data, payload) : parsed.data;
}

/** Bytes follow the header. In a MIME bundle they are base64, as in notebooks. */
function withBinary(frame: ResultFrame, payload: Buffer): ResultFrame {
  let start = 0;
  for (const [mime, length] of frame.binary) {
    if (start + length > payload.length) throw new ProtocolViolation('a frame shorter than it says');
    frame.data[mime] = payload.toString('base64', start, start + length);
    start += length;
  }
  return frame;
}
