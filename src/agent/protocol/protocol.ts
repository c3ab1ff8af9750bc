/** How an agent and a model speak of tools. The loop does not care which way they do it. */
import type { BaseMessage } from '@langchain/core/messages';
import type { Llm } from '../../model/openai.ts';
import type { ToolDefinition } from '../../tool/tool.ts';
import type { ThoughtEvent, TokenEvent } from '../step/events.ts';

/** A way of speaking: calls that the endpoint knows as such, or calls written as text. */
export interface Protocol {
  /** Makes a model ready for one question, with the tools that it is told of. */
  begin(llm: Llm, tools: readonly ToolDefinition[]): Promise<Dialogue>;
}

/** One question with a model. */
export interface Dialogue {
  /** Yields what the model says while it says it, and returns what it wants. Breaking out of the loop hangs up. */
  reply(messages: readonly BaseMessage[], signal: AbortSignal | undefined): Saying;
  /** What came of a call, as the conversation has it. */
  report(call: RequestedCall, seen: Shown): BaseMessage;
  /** That a reply cannot be used, as the conversation has it. */
  remind(complaint: string): BaseMessage;
}

export type Saying = AsyncGenerator<TokenEvent | ThoughtEvent, Reply, undefined>;

export interface Reply {
  readonly thought: string;
  readonly move: Move;
  /** For the conversation: only what is believed, in a form that endpoints accept. */
  readonly message: BaseMessage;
}

/** What a model wants: to be done, to have tools called one after the other, or nothing that can be read. */
export type Move =
  | { readonly kind: 'answer'; readonly answer: string }
  | { readonly kind: 'calls'; readonly calls: readonly RequestedCall[] }
  | { readonly kind: 'unclear'; readonly complaint: string };

export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Why it cannot be made, when the arguments cannot be read. */
  readonly problem?: string;
}

/** What a model is shown of a call. */
export interface Shown {
  readonly text: string;
  readonly isError: boolean;
}
