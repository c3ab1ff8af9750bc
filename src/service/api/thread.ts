import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ServiceConfigurationError } from './failures.ts';
import type { PythonExecutionRequest } from './request.ts';

const Id = (maxLength: number): z.ZodString =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((text) => text.isWellFormed());

/** What the service needs of a LangGraph configuration. Further keys are the caller's business. */
const Configurable = z.looseObject({
  thread_id: Id(300),
  checkpoint_ns: Id(100),
  user_id: Id(200).optional(),
  chat_id: Id(200).optional(),
});

/** One call of a node. LangGraph runs the node again from its start for each answer, and replays all earlier answers in order. */
export interface CallingNode {
  readonly id: string;
  /** How many answers this call has already consumed for the request. */
  readonly answers: number;
}

export interface ServiceConfig {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Files of this machine that the code finds beside it, by the name that it gives them. They are copied into the record
   * when the request begins. Not a part of the request: who may send one may not name what it reads.
   */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** The node of another graph on whose behalf this is done, and the answers that it has used up. */
  readonly caller?: CallingNode | undefined;
}

export interface Thread {
  /** Under which checkpoints and approvals are kept. Two users never share one, nor do two chats. */
  readonly id: string;
  readonly configurable: Readonly<Record<string, unknown>>;
}

/** What storage takes as an id, with room to spare. */
const MAX_ID_CHARS = 400;

export function threadOf({ configurable = {} }: ServiceConfig): Thread {
  const parsed = Configurable.safeParse(configurable);
  if (!parsed.success) {
    const keys = parsed.error.issues.map(({ path, ...issue }) => {
      const room = issue.code === 'too_big' ? ` (of at most ${issue.maximum} characters)` : '';
      return `configurable.${path.join('.')}${room}`;
    });
    throw new ServiceConfigurationError(
      `The service cannot tell which conversation this is: ${keys.join(' and ')} must be text. Call it with { configurable: { ...getFullConfiguration(), thread_id: "…", checkpoint_ns: "python_executor" } }.`,
    );
  }
  const { thread_id, checkpoint_ns, user_id, chat_id } = parsed.data;
  const whose = chat_id === undefined ? [user_id ?? []].flat() : [user_id ?? '', chat_id];
  const id = [checkpoint_ns, ...whose, thread_id].map(encodeURIComponent).join('/');
  // No name of a caller's looks like a hash: a colon of theirs would be encoded.
  return { id: id.length <= MAX_ID_CHARS ? id : `:${createHash('sha256').update(id).digest('hex')}`, configurable };
}

/** The same for a request that says whose it is: whoever answers it must say the same. */
export function ofSession(
  config: ServiceConfig,
  { sessionContext }: Pick<PythonExecutionRequest, 'sessionContext'>,
): ServiceConfig {
  const { userId, chatId } = sessionContext ?? {};
  const { configurable = {} } = config;
  return { ...config, configurable: { ...configurable, ...same('user_id', userId), ...same('chat_id', chatId) } };

  function same(key: 'user_id' | 'chat_id', told: string | undefined): Readonly<Record<string, string>> {
    const given = configurable[key];
    if (told === undefined || given === told) return {};
    if (given === undefined || given === null) return { [key]: told };
    throw new ServiceConfigurationError(
      `The request is of one ${key} and its call of another: session_context.${key} and configurable.${key} must be the same. Leave one of them out, or correct it.`,
    );
  }
}
