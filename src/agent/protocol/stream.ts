/** The reply of a model as a stream. */
import type { BaseChatModelCallOptions } from '@langchain/core/language_models/chat_models';
import type { AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import type { Runnable } from '@langchain/core/runnables';
import { VivariumError } from '../../errors.ts';
import { modelFailure } from '../../model/failure.ts';

/** Longer than any real reply: an endpoint that never stops must not fill the memory. */
const MAX_REPLY_CHARS = 1_000_000;

/** A chat model that is connected, with its tools bound. */
export type ReadyModel = Runnable<BaseMessage[], AIMessageChunk, BaseChatModelCallOptions>;

export interface StreamOptions {
  readonly signal: AbortSignal | undefined;
  /** Words at which the model has to stop. */
  readonly stop?: readonly string[];
}

/** Breaking out of the loop ends the request. */
export async function* streamChunks(
  model: ReadyModel,
  messages: readonly BaseMessage[],
  { signal, stop }: StreamOptions,
): AsyncGenerator<AIMessageChunk, void, undefined> {
  const hangUp = new AbortController();
  const options = {
    signal: signal ? AbortSignal.any([signal, hangUp.signal]) : hangUp.signal,
    ...(stop && { stop: [...stop] }),
  };
  let chars = 0;
  try {
    for await (const chunk of await model.stream([...messages], options)) {
      chars += sizeOf(chunk);
      if (chars > MAX_REPLY_CHARS) throw tooLong();
      yield chunk;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw modelFailure(error);
  } finally {
    hangUp.abort();
  }
}

/** Merges in halves: each merge parses the arguments again, so merging one by one would take quadratic time. */
export function merge(chunks: readonly AIMessageChunk[]): AIMessageChunk {
  const [first, ...others] = chunks;
  if (first === undefined) throw modelFailure(new Error('the reply is empty'));
  if (others.length === 0) return first;
  const middle = chunks.length >> 1;
  return merge(chunks.slice(0, middle)).concat(merge(chunks.slice(middle)));
}

/** Whether the endpoint cut the reply at its maximum length. */
export function isCut({ response_metadata }: AIMessageChunk): boolean {
  return response_metadata['finish_reason'] === 'length';
}

function sizeOf({ text, tool_call_chunks: calls = [] }: AIMessageChunk): number {
  return calls.reduce((chars, { args = '' }) => chars + args.length, text.length);
}

function tooLong(): VivariumError {
  const message = `The reply of the model has more than ${MAX_REPLY_CHARS} characters. Check what the endpoint sends.`;
  return new VivariumError('LLM_FAILED', message);
}
