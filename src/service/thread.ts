import { z } from 'zod';
import { ServiceConfigurationError } from './failures.ts';
import type { Caller } from './graph/state.ts';

/** What the service needs of a LangGraph configuration. Further keys are the caller's business. */
const Configurable = z.looseObject({
  thread_id: z.string().min(1).max(300),
  checkpoint_ns: z.string().min(1).max(100),
  user_id: z.string().min(1).max(200).optional(),
});

export interface ServiceConfig {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Files of this machine that the code finds beside it, by the name that it gives them. They are copied into the record
   * when the request begins. Not a part of the request: who may send one may not name what it reads.
   */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** The node of another graph on whose behalf this is done, and the answers that it has used up. */
  readonly caller?: Caller | undefined;
}

export interface Thread {
  /** Under which checkpoints and approvals are kept. Two users never share one. */
  readonly id: string;
  readonly configurable: Readonly<Record<string, unknown>>;
}

export function threadOf({ configurable = {} }: ServiceConfig): Thread {
  const parsed = Configurable.safeParse(configurable);
  if (!parsed.success) {
    const keys = parsed.error.issues.map(({ path }) => `configurable.${path.join('.')}`);
    throw new ServiceConfigurationError(
      `The service cannot tell which conversation this is: ${keys.join(' and ')} must be text. Call it with { configurable: { ...getFullConfiguration(), thread_id: "…", checkpoint_ns: "python_executor" } }.`,
    );
  }
  const { thread_id, checkpoint_ns, user_id } = parsed.data;
  const parts = user_id === undefined ? [checkpoint_ns, thread_id] : [checkpoint_ns, user_id, thread_id];
  return { id: parts.map(encodeURIComponent).join('/'), configurable };
}
