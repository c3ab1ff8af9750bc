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

/** What the service needs from a LangGraph configuration. Other keys are ignored. */
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
  /** Whose request it is: `thread_id`, `user_id` and `chat_id`, as in LangGraph. */
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  /** Aborting it stops the request. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Files of this machine to put into the working directory of the code, by name. They are copied into the record when the
   * request starts. They are not part of the request, because senders of requests must not choose which files are read.
   */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** The node of another graph that makes this call, and the answers that it has consumed. */
  readonly caller?: CallingNode | undefined;
}

export interface Thread {
  /** The key of checkpoints and approvals. Two users never share a thread, nor do two chats. */
  readonly id: string;
  readonly configurable: Readonly<Record<string, unknown>>;
}

/** Well below the longest id that storage accepts. */
const MAX_ID_CHARS = 400;

export function threadOf(config: ServiceConfig | undefined): Thread {
  const configurable = config?.configurable ?? {};
  const parsed = Configurable.safeParse(configurable);
  if (!parsed.success) {
    const keys = parsed.error.issues.map(({ path, ...issue }) => {
      const room = issue.code === 'too_big' ? ` (at most ${issue.maximum} characters)` : '';
      return `${['configurable', ...path].join('.')}${room}`;
    });
    throw new ServiceConfigurationError(
      `The call does not say which conversation it belongs to: ${keys.join(' and ')} must be text. Call the service with { configurable: { ...getFullConfiguration(), thread_id: "…", checkpoint_ns: "python_executor" } }.`,
    );
  }
  const { thread_id, checkpoint_ns, user_id, chat_id } = parsed.data;
  const whose = chat_id === undefined ? [user_id ?? []].flat() : [user_id ?? '', chat_id];
  const id = [checkpoint_ns, ...whose, thread_id].map(encodeURIComponent).join('/');
  // No id of a caller can look like this hash, because a colon in it would be encoded.
  return { id: id.length <= MAX_ID_CHARS ? id : `:${createHash('sha256').update(id).digest('hex')}`, configurable };
}

/** Adds the owner that the request names to the call, so that answers must name the same owner. */
export function ofSession(
  config: ServiceConfig,
  { sessionContext }: Pick<PythonExecutionRequest, 'sessionContext'>,
): ServiceConfig {
  const { userId, chatId } = sessionContext ?? {};
  const { configurable = {} } = config;
  return { ...config, configurable: { ...configurable, ...same('user_id', userId), ...same('chat_id', chatId) } };

  function same(key: 'user_id' | 'chat_id', named: string | undefined): Readonly<Record<string, string>> {
    const given = configurable[key];
    if (named === undefined || given === named) return {};
    if (given === undefined || given === null) return { [key]: named };
    throw new ServiceConfigurationError(
      `The request and the call name different users or chats: session_context.${key} and configurable.${key} must be the same. Correct one of them, or omit it.`,
    );
  }
}
