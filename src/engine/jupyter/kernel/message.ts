/** Messages of a kernel. The program in it can forge them, so their shape is checked and they are never taken for facts. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Json } from '../../../execution/execution.ts';
import { LOOSE, parseJson, ProtocolViolation } from '../../hostile-json.ts';

/** Larger ones are not parsed. */
const MAX_MESSAGE_CHARS = 32 << 20;
const VERSION = '5.3';

/** How deep and how large it is was bounded before it was parsed. */
const AnyJson = z.custom<Json>((value) => value !== undefined);
const Bundle = z.record(z.string().max(200), AnyJson);
const Named = z.object({ msg_type: z.string() });
const Content = z.record(z.string(), AnyJson);

const Message = z.object({
  header: Named,
  parent_header: z.object({ msg_id: z.string().optional() }),
  content: z.unknown(),
});

const ErrorWords = { ename: z.string(), evalue: z.string(), traceback: z.array(z.string()) };
const Expression = z.discriminatedUnion('status', [
  z.object({ status: z.literal('ok'), data: Bundle }),
  z.object({ status: z.literal('error'), ename: z.string(), evalue: z.string() }),
]);

/** The contents that matter here, by message type. */
const Contents = {
  status: z.object({ execution_state: z.string() }),
  execute_input: z.object({}),
  stream: z.object({ name: z.enum(['stdout', 'stderr']), text: z.string() }),
  display_data: z.object({ data: Bundle, metadata: Content }),
  update_display_data: z.object({ data: Bundle, metadata: Content }),
  execute_result: z.object({ data: Bundle, metadata: Content }),
  clear_output: z.object({ wait: z.boolean().default(false) }),
  execute_reply: z.discriminatedUnion('status', [
    z.object({ status: z.literal('ok'), user_expressions: z.record(z.string(), Expression).optional() }),
    z.object({ status: z.literal('error'), ...ErrorWords }),
    z.object({ status: z.literal(['aborted', 'abort']) }),
  ]),
} as const;
type Type = keyof typeof Contents;

export type KernelMessage =
  | KnownMessage
  | { readonly type: 'oversized'; readonly parent: null; readonly content: number };
type KnownMessage = {
  [T in Type]: { readonly type: T; readonly parent: string | null; readonly content: z.infer<(typeof Contents)[T]> };
}[Type];
export type KernelReply = z.infer<typeof Contents.execute_reply>;

/** Null for a message that does not matter here. */
export function parseMessage(text: string): KernelMessage | null {
  if (text.length > MAX_MESSAGE_CHARS) return { type: 'oversized', parent: null, content: text.length };
  const { header, parent_header: parent, content } = parseWith(Message, parseJson(Buffer.from(text), LOOSE));
  const type = header.msg_type;
  if (!isKnown(type)) return null;
  return { type, parent: parent.msg_id ?? null, content: parseWith<unknown>(Contents[type], content) } as KnownMessage;
}

export interface ExecuteRequest {
  readonly code: string;
  /** Leaves no trace in the history and echoes nothing. */
  readonly isSilent: boolean;
  /** Whether requests that were already sent are dropped if this one fails. */
  readonly stopOnError: boolean;
  /** Evaluated after the code; their values come with the reply. */
  readonly expressions?: Readonly<Record<string, string>>;
}

/** The text of a request, and its id, which messages that belong to it name as their parent. */
export function encodeRequest(session: string, request: ExecuteRequest): { id: string; text: string } {
  const id = randomUUID();
  const header = {
    msg_id: id,
    msg_type: 'execute_request',
    username: 'vivarium',
    session,
    date: new Date(),
    version: VERSION,
  };
  const content = {
    code: request.code,
    silent: request.isSilent,
    store_history: !request.isSilent,
    user_expressions: request.expressions ?? {},
    allow_stdin: false,
    stop_on_error: request.stopOnError,
  };
  const message = { channel: 'shell', header, parent_header: {}, metadata: {}, content, buffers: [] };
  return { id, text: JSON.stringify(message) };
}

function isKnown(type: string): type is Type {
  return Object.hasOwn(Contents, type);
}

function parseWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ProtocolViolation(`a message of a wrong shape: ${z.prettifyError(parsed.error)}`);
}
