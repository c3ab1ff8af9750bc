/** The loop of an agent: the model writes, its calls are made one after the other, until it answers. */
import { ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { VivariumError } from '../errors.ts';
import { toOpenAITool } from '../tool/schema-forms.ts';
import {
  ActionEvent,
  ErrorEvent,
  FinalAnswerEvent,
  ObservationEvent,
  ThoughtEvent,
  type AgentEvent,
} from './step/events.ts';
import { AgentStep, type AgentMemory } from './step/memory.ts';
import { modelFailure } from '../model/failure.ts';
import { connect, type Llm } from '../model/openai.ts';
import { streamReply, type BoundModel, type RequestedCall } from './reply.ts';
import type { Seen, Toolbox } from './toolbox.ts';

/** What an agent answers that has used up its iterations. */
export const LIMIT_REACHED = 'I was unable to complete the task within the allowed number of steps.';

export interface LoopParts {
  readonly llm: Llm;
  readonly toolbox: Toolbox;
  readonly memory: AgentMemory;
  readonly maxIterations: number;
}

export class Loop {
  readonly #parts: LoopParts;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** Goes on with a conversation until there is an answer, and adds to it what was said. */
  async *answer(messages: BaseMessage[], signal: AbortSignal | undefined): AsyncGenerator<AgentEvent, void, undefined> {
    try {
      yield* this.#iterate(messages, signal);
    } catch (error) {
      if (!signal?.aborted) yield new ErrorEvent(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async *#iterate(messages: BaseMessage[], signal: AbortSignal | undefined): AsyncGenerator<AgentEvent> {
    signal?.throwIfAborted();
    const model = await this.#bind();
    for (let iteration = 0; iteration < this.#parts.maxIterations; iteration += 1) {
      const reply = yield* streamReply(model, messages, signal);
      messages.push(reply.message);
      if (reply.calls.length === 0) return void (yield new FinalAnswerEvent(reply.text));
      if (reply.text.trim() !== '') yield new ThoughtEvent(reply.text);
      for (const call of reply.calls) {
        const action = new ActionEvent(call.name, call.args);
        yield action;
        const seen = await this.#parts.toolbox.call(call, signal);
        const { observation, text, isError } = seen;
        this.#remember(action, { thought: reply.text, observation });
        signal?.throwIfAborted();
        messages.push(toMessage(call, seen));
        yield new ObservationEvent({ tool: call.name, observation, text, isError });
      }
    }
    yield new FinalAnswerEvent(LIMIT_REACHED);
  }

  #remember(
    { tool: action, tool_input: actionInput }: ActionEvent,
    about: { thought: string; observation: string },
  ): void {
    this.#parts.memory.addStep(new AgentStep({ action, actionInput, ...about }));
  }

  async #bind(): Promise<BoundModel> {
    const { llm, toolbox } = this.#parts;
    const model = await connect(llm);
    if (model.bindTools === undefined) throw cannotCallTools(model.getName());
    const tools = (await toolbox.definitions()).map(toOpenAITool);
    try {
      return tools.length === 0 ? model : model.bindTools(tools);
    } catch (error) {
      throw modelFailure(error);
    }
  }
}

function toMessage({ id, name }: RequestedCall, { text, isError }: Seen): ToolMessage {
  return new ToolMessage({ content: text, tool_call_id: id, name, status: isError ? 'error' : 'success' });
}

function cannotCallTools(name: string): VivariumError {
  const message = `The model ${name} cannot call tools: it has no bindTools. Use a chat model with native tool calling.`;
  return new VivariumError('LLM_UNSUITABLE', message);
}
