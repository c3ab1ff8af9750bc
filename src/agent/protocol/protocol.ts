/** How an agent and a model exchange tool calls. The loop is the same for each protocol. */
import type { BaseMessage } from '@langchain/core/messages';
import type { Llm } from '../../model/openai.ts';
import type { ToolDefinition } from '../../tool/tool.ts';
import type { ThoughtEvent, TokenEvent } from '../step/events.ts';

/** Native calls of the model's endpoint, or calls written as text. */
export interface Protocol {
  /** Prepares a model for one question, with these tools. */
  begin(llm: Llm, tools: readonly ToolDefinition[]): Promise<Dialogue>;
}

/** The exchange with a model about one question. */
export interface Dialogue {
  /** Yields the text of the model as it arrives, and returns the whole reply. Breaking out of the loop ends the request. */
  reply(messages: readonly BaseMessage[], signal: AbortSignal | undefined): ReplyStream;
  /** The message with the result of a call. */
  report(call: RequestedCall, result: ShownResult): BaseMessage;
  /** The message that tells the model that its reply cannot be used. */
  remind(complaint: string): BaseMessage;
}

export type ReplyStream = AsyncGenerator<TokenEvent | ThoughtEvent, ModelReply, undefined>;

export interface ModelReply {
  readonly thought: string;
  readonly move: Move;
  /** The reply for the conversation: without invented parts, in a form that endpoints accept. */
  readonly message: BaseMessage;
}

/** What the model decided: to answer, to call tools one after the other, or nothing that can be read. */
export type Move =
  | { readonly kind: 'answer'; readonly answer: string }
  | { readonly kind: 'calls'; readonly calls: readonly RequestedCall[] }
  | { readonly kind: 'unclear'; readonly complaint: string };

export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Why the arguments cannot be used, if they cannot. */
  readonly problem?: string;
}

/** What the model sees of a result. */
export interface ShownResult {
  readonly text: string;
  readonly isError: boolean;
}
