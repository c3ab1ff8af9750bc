/** One reply of a model: text, or calls of tools, read strictly. */
import { AIMessage, type AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import type { Runnable } from '@langchain/core/runnables';
import { VivariumError } from '../errors.ts';
import { TokenEvent } from './step/events.ts';
import { modelFailure } from '../model/failure.ts';

/** More than any model writes; an endpoint that never ends must not fill the memory. */
const MAX_REPLY_CHARS = 1_000_000;

/** A chat model that knows which tools there are. */
export type BoundModel = Runnable<BaseMessage[], AIMessageChunk>;

export interface Reply {
  readonly text: string;
  readonly calls: readonly RequestedCall[];
  /** For the conversation: every call in it has an id and arguments that parse. */
  readonly message: AIMessage | AIMessageChunk;
}

export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Why it cannot be made, when the arguments are not a JSON object. */
  readonly problem?: string;
}

/** Yields the text piece by piece and returns the whole. Breaking out of the loop hangs up. */
export async function* streamReply(
  model: BoundModel,
  messages: readonly BaseMessage[],
  signal: AbortSignal | undefined,
): AsyncGenerator<TokenEvent, Reply, undefined> {
  const hangUp = new AbortController();
  const stop = signal ? AbortSignal.any([signal, hangUp.signal]) : hangUp.signal;
  const chunks: AIMessageChunk[] = [];
  let chars = 0;
  try {
    for await (const chunk of await model.stream([...messages], { signal: stop })) {
      chunks.push(chunk);
      chars += sizeOf(chunk);
      if (chars > MAX_REPLY_CHARS) throw tooLong();
      if (chunk.text !== '') yield new TokenEvent(chunk.text);
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw modelFailure(error);
  } finally {
    hangUp.abort();
  }
  return readReply(chunks);
}

function sizeOf({ text, tool_call_chunks: calls = [] }: AIMessageChunk): number {
  return calls.reduce((chars, { args = '' }) => chars + args.length, text.length);
}

/** In halves: joining reads the arguments anew each time, which piece by piece takes quadratic time. */
function merge(chunks: readonly AIMessageChunk[]): AIMessageChunk {
  const [first, ...others] = chunks;
  if (first === undefined) throw modelFailure(new Error('the reply is empty'));
  if (others.length === 0) return first;
  const middle = chunks.length >> 1;
  return merge(chunks.slice(0, middle)).concat(merge(chunks.slice(middle)));
}

function readReply(chunks: readonly AIMessageChunk[]): Reply {
  const message = merge(chunks);
  const isCut = message.response_metadata['finish_reason'] === 'length';
  const calls = rawCalls(chunks, message).map((call, index) => readCall(call, { fallbackId: `call_${index}`, isCut }));
  return { text: message.text, calls, message: holds(message, calls) ? message : repaired(message, calls) };
}

interface RawCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly args?: unknown;
}

/** As they were written: `tool_calls` holds what LangChain guessed of arguments that break off. */
function rawCalls(chunks: readonly AIMessageChunk[], message: AIMessageChunk): readonly RawCall[] {
  const pieces = chunks.flatMap(({ tool_call_chunks = [] }) => tool_call_chunks);
  // A model that does not stream gives one whole message.
  if (pieces.length === 0) return [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])];
  const groups: (typeof pieces)[] = [];
  for (const piece of pieces) {
    const known = groups.findLast(([first]) => (piece.id ? first?.id === piece.id : first?.index === piece.index));
    if (known) known.push(piece);
    else groups.push([piece]); // some servers give every call the same index: a new id is a new call
  }
  return groups.map((group) => ({
    id: group[0]?.id,
    name: group.find(({ name }) => name)?.name,
    args: group.map(({ args = '' }) => args).join(''),
  }));
}

function readCall(raw: RawCall, { fallbackId, isCut }: { fallbackId: string; isCut: boolean }): RequestedCall {
  const { id = fallbackId, name = '' } = raw;
  const args = typeof raw.args === 'string' ? parseArguments(raw.args) : raw.args;
  if (isObject(args)) return { id, name, args };
  const why = isCut ? 'the reply was cut off at its longest length' : 'they are not a JSON object';
  const problem = `The arguments of '${name}' cannot be used: ${why}. Nothing ran. Send one complete JSON object.`;
  return { id, name, args: { invalid_arguments: raw.args }, problem };
}

function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // what it is instead is told to the model
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the message that LangChain put together has just these calls. */
function holds({ tool_calls = [] }: AIMessageChunk, calls: readonly RequestedCall[]): boolean {
  return (
    tool_calls.length === calls.length &&
    calls.every(({ id, problem }, index) => problem === undefined && tool_calls[index]?.id === id)
  );
}

/** Endpoints refuse a conversation in which a call has no id or arguments that do not parse. */
function repaired({ content, id }: AIMessageChunk, calls: readonly RequestedCall[]): AIMessage {
  const tool_calls = calls.map(({ id: callId, name, args }) => ({ id: callId, name, args: { ...args } }));
  return new AIMessage({ content, tool_calls, ...(id !== undefined && { id }) });
}

function tooLong(): VivariumError {
  const message = `The reply of the model is longer than ${MAX_REPLY_CHARS} characters. Check what the endpoint sends.`;
  return new VivariumError('LLM_FAILED', message);
}
