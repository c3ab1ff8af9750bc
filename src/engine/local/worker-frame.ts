import { z } from 'zod';
import { ProtocolViolation } from './frames.ts';

const MAX_NAMES = 1000;
const MAX_RESULT_TYPES = 32;
const Names = z.array(z.string()).max(MAX_NAMES);

/** What a worker may say. It is the word of whoever wrote the code: checked in shape, never believed as fact. */
const WorkerFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), pid: z.int().min(2), isEmpty: z.boolean() }),
  z.object({ type: z.literal('cleared'), files: z.string().max(1000) }),
  z.object({ type: z.literal('twin'), pid: z.int().min(2), token: z.string().regex(/^[0-9a-f]{32}$/) }),
  z.object({ type: z.literal('renewed') }),
  z.object({ type: z.literal('resumed'), pid: z.int().min(2), files: z.string().max(1000) }),
  z.object({
    type: z.literal('result'),
    id: z.string(),
    data: z
      .record(z.string().max(200), z.string())
      .refine((data) => Object.keys(data).length <= MAX_RESULT_TYPES, 'too many MIME types'),
  }),
  z.object({
    type: z.literal('done'),
    id: z.string(),
    error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
    memory: z.boolean(),
    changed: z.boolean(),
    marked: z.boolean(),
    unprotected: z.string().max(1000).nullable(),
    variables: z.object({ added: Names, changed: Names, removed: Names, omitted: z.int().nonnegative().optional() }),
  }),
  z.object({
    type: z.literal('variables'),
    id: z.string(),
    variables: z
      .array(
        z.object({
          name: z.string(),
          type: z.string(),
          description: z.string(),
          sizeBytes: z.number().nonnegative().nullable(),
        }),
      )
      .max(10_000),
  }),
]);
export type WorkerFrame = z.infer<typeof WorkerFrame>;
export type DoneFrame = Extract<WorkerFrame, { type: 'done' }>;

export function parseWorkerFrame(header: unknown): WorkerFrame {
  const parsed = WorkerFrame.safeParse(header);
  if (!parsed.success) throw new ProtocolViolation(`an unknown frame: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
