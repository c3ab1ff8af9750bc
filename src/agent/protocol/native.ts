/** Native tool calls: the schemas are bound to the model, and results are tool messages. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { VivariumError } from '../../errors.ts';
import { modelFailure } from '../../model/failure.ts';
import { connect } from '../../model/openai.ts';
import { toOpenAITool } from '../../tool/formats/openai.ts';
import type { ToolDefinition } from '../../tool/tool.ts';
import { ThoughtEvent } from '../step/events.ts';
import { streamReply, type NativeReply } from './native-reply.ts';
import type { Dialogue, ModelReply, Protocol, ReplyStream, RequestedCall, ShownResult } from './protocol.ts';
import type { ReadyModel } from './stream.ts';

export const NATIVE: Protocol = {
  async begin(llm, tools) {
    return new NativeDialogue(bind(await connect(llm), tools));
  },
};

class NativeDialogue implements Dialogue {
  readonly #model: ReadyModel;

  constructor(model: ReadyModel) {
    this.#model = model;
  }

  async *reply(messages: readonly BaseMessage[], signal: AbortSignal | undefined): ReplyStream {
    try {
      const reply = yield* streamReply(this.#model, messages, signal);
      if (reply.calls.length > 0 && reply.text.trim() !== '') yield new ThoughtEvent(reply.text);
      return toReply(reply);
    } catch (error) {
      throw isAboutTools(error) ? cannotCallTools('behind this endpoint', wordsOf(error), error) : error;
    }
  }

  report({ id, name }: RequestedCall, { text, isError }: ShownResult): BaseMessage {
    return new ToolMessage({ content: text, tool_call_id: id, name, status: isError ? 'error' : 'success' });
  }

  remind(complaint: string): BaseMessage {
    return new HumanMessage(complaint);
  }
}

function toReply({ text, calls, message }: NativeReply): ModelReply {
  if (calls.length > 0) return { thought: text, move: { kind: 'calls', calls }, message };
  return { thought: '', move: { kind: 'answer', answer: text }, message };
}

function bind(model: BaseChatModel, tools: readonly ToolDefinition[]): ReadyModel {
  if (model.bindTools === undefined) throw cannotCallTools(model.getName(), 'it has no bindTools');
  try {
    return tools.length === 0 ? model : model.bindTools(tools.map(toOpenAITool));
  } catch (error) {
    throw modelFailure(error);
  }
}

/** What servers report when the model or the server itself does not support tools. */
const NO_TOOLS = /not support (?:tool|function)|tool choice requires|tools? (?:is|are) not supported/iu;

/** Servers have no error code for this, only a message. */
function isAboutTools(error: unknown): error is VivariumError {
  return error instanceof VivariumError && error.code === 'LLM_FAILED' && NO_TOOLS.test(error.message);
}

function wordsOf({ cause, message }: VivariumError): string {
  const words = cause instanceof Error ? cause.message : message;
  return (words.split('\n')[0] ?? '').slice(0, 300).replace(/\.$/u, '');
}

function cannotCallTools(which: string, why: string, cause?: unknown): VivariumError {
  const message = `The model ${which} cannot call tools: ${why}. Use ReActAgent, or a chat model with native tool calling.`;
  return new VivariumError('LLM_UNSUITABLE', message, { cause });
}
