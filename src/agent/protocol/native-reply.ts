/** One reply with native tool calls. Arguments are parsed strictly. */
import { AIMessage, type AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { TokenEvent } from '../step/events.ts';
import type { RequestedCall } from './protocol.ts';
import { isCut, merge, streamChunks, type ReadyModel } from './stream.ts';

export interface NativeReply {
  readonly text: string;
  readonly calls: readonly RequestedCall[];
  /** For the conversation: every call has an id and valid arguments. */
  readonly message: AIMessage | AIMessageChunk;
}

/** Yields the text as it arrives and returns the whole reply. Breaking out of the loop ends the request. */
export async function* streamReply(
  model: ReadyModel,
  messages: readonly BaseMessage[],
  signal: AbortSignal | undefined,
): AsyncGenerator<TokenEvent, NativeReply, undefined> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of streamChunks(model, messages, { signal })) {
    chunks.push(chunk);
    if (chunk.text !== '') yield new TokenEvent(chunk.text);
  }
  return readReply(chunks);
}

function readReply(chunks: readonly AIMessageChunk[]): NativeReply {
  const message = merge(chunks);
  const reading = { isCut: isCut(message) };
  const calls = rawCalls(chunks, message).map((call, index) =>
    readCall(call, { fallbackId: `call_${index}`, ...reading }),
  );
  return { text: message.text, calls, message: holds(message, calls) ? message : repaired(message, calls) };
}

interface RawCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly args?: unknown;
}

/** The calls as the model wrote them. LangChain's `tool_calls` completes truncated arguments by guessing. */
function rawCalls(chunks: readonly AIMessageChunk[], message: AIMessageChunk): readonly RawCall[] {
  const pieces = chunks.flatMap(({ tool_call_chunks = [] }) => tool_call_chunks);
  // A model that does not stream sends one complete message.
  if (pieces.length === 0) return [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])];
  const groups: (typeof pieces)[] = [];
  for (const piece of pieces) {
    const known = groups.findLast(([first]) => (piece.id ? first?.id === piece.id : first?.index === piece.index));
    if (known) known.push(piece);
    else groups.push([piece]); // some servers use one index for all calls, so a new id starts a new call
  }
  return groups.map((group) => ({
    id: group[0]?.id,
    name: group.find(({ name }) => name)?.name,
    args: group.map(({ args = '' }) => args).join(''),
  }));
}

function readCall(raw: RawCall, reading: { fallbackId: string; isCut: boolean }): RequestedCall {
  const { id = reading.fallbackId, name = '' } = raw;
  const args = typeof raw.args === 'string' ? parseArguments(raw.args) : raw.args;
  if (isObject(args)) return { id, name, args };
  const why = reading.isCut ? 'the reply was cut off at its maximum length' : 'they are not a JSON object';
  const problem = `The arguments of '${name}' cannot be used: ${why}. Nothing ran. Send one complete JSON object.`;
  return { id, name, args: { invalid_arguments: raw.args }, problem };
}

function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the model is told that it is not JSON
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the message that LangChain assembled has exactly these calls. */
function holds({ tool_calls = [] }: AIMessageChunk, calls: readonly RequestedCall[]): boolean {
  return (
    tool_calls.length === calls.length &&
    calls.every(({ id, problem }, index) => problem === undefined && tool_calls[index]?.id === id)
  );
}

/** Endpoints refuse a conversation with a call that has no id or invalid arguments. */
function repaired({ content, id }: AIMessageChunk, calls: readonly RequestedCall[]): AIMessage {
  const tool_calls = calls.map(({ id: callId, name, args }) => ({ id: callId, name, args: { ...args } }));
  return new AIMessage({ content, tool_calls, ...(id !== undefined && { id }) });
}
