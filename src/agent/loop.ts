/** The loop of every agent: the model replies, its tool calls run one after the other, until it answers. */
import { randomUUID } from 'node:crypto';
import type { BaseMessage } from '@langchain/core/messages';
import { OpenAILLM, type Llm } from '../model/openai.ts';
import type { Tool } from '../tool/tool.ts';
import type { AgentBounds, AgentType } from './options.ts';
import { NATIVE } from './protocol/native.ts';
import type { Dialogue, ModelReply, Protocol, RequestedCall } from './protocol/protocol.ts';
import { REACT } from './protocol/react/react.ts';
import { ActionEvent, ErrorEvent, FinalAnswerEvent, ObservationEvent, type AgentEvent } from './step/events.ts';
import { AgentMemory, AgentStep } from './step/memory.ts';
import { ToolCaller } from './tools/caller.ts';
import { ToolRegistry } from './tools/registry.ts';

/** What every agent consists of. */
export interface AgentParts {
  readonly clientId: string;
  readonly memory: AgentMemory;
  readonly tools: ToolRegistry;
  readonly loop: Loop;
}

/** What an agent works with. */
export interface AgentEquipment {
  readonly llm: Llm;
  readonly tools: readonly Tool[] | ToolRegistry;
  readonly agentType: AgentType;
}

/** The model that the environment names. The environment is read with the first question, not when the agent is created. */
export const ENVIRONMENT_MODEL: Llm = { connect: () => new OpenAILLM().connect() };

const PROTOCOLS: Readonly<Record<AgentType, Protocol>> = { function_calling: NATIVE, react: REACT };

export function assembleAgent({ llm, tools, agentType }: AgentEquipment, bounds: AgentBounds): AgentParts {
  const { maxIterations, maxSteps, maxToolContentLength, toolTimeoutMs } = bounds;
  const clientId = bounds.clientId ?? `agent-${randomUUID()}`;
  const memory = new AgentMemory(maxSteps);
  const registry = tools instanceof ToolRegistry ? tools : new ToolRegistry(tools);
  const caller = new ToolCaller(registry, { context: { clientId }, maxToolContentLength, toolTimeoutMs });
  const loop = new Loop({ llm, protocol: PROTOCOLS[agentType], caller, memory, maxIterations });
  return { clientId, memory, tools: registry, loop };
}

/** The answer of an agent that has used up its iterations. */
export const LIMIT_REACHED = 'I was unable to complete the task within the allowed number of steps.';

/** Stands for the tool where the model named none. */
const NO_ACTION = 'NoAction';

interface LoopParts {
  readonly llm: Llm;
  readonly protocol: Protocol;
  readonly caller: ToolCaller;
  readonly memory: AgentMemory;
  readonly maxIterations: number;
}

class Loop {
  readonly #parts: LoopParts;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** Continues a conversation until there is an answer, and appends the new messages to it. */
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
    const { llm, protocol, caller, maxIterations } = this.#parts;
    const dialogue = await protocol.begin(llm, await caller.definitions());
    for (let iteration = 0; iteration < maxIterations; iteration += 1) {
      const reply = yield* dialogue.reply(messages, signal);
      messages.push(reply.message);
      if (reply.move.kind === 'answer') return void (yield new FinalAnswerEvent(reply.move.answer));
      yield* this.#runCalls(reply, { dialogue, messages, signal });
    }
    yield new FinalAnswerEvent(LIMIT_REACHED);
  }

  async *#runCalls(
    { move, thought }: ModelReply,
    { dialogue, messages, signal }: QuestionState,
  ): AsyncGenerator<AgentEvent> {
    if (move.kind === 'unclear') {
      messages.push(dialogue.remind(move.complaint));
      yield new ObservationEvent({ tool: NO_ACTION, observation: move.complaint, text: move.complaint, isError: true });
    }
    for (const call of move.kind === 'calls' ? move.calls : []) {
      yield new ActionEvent(call.name, call.args);
      const result = await this.#parts.caller.call(call, signal);
      this.#remember(call, { thought, observation: result.observation });
      signal?.throwIfAborted();
      messages.push(dialogue.report(call, result));
      yield new ObservationEvent({ tool: call.name, ...result });
    }
  }

  #remember({ name, args }: RequestedCall, about: { thought: string; observation: string }): void {
    this.#parts.memory.addStep(new AgentStep({ action: name, actionInput: args, ...about }));
  }
}

/** The state of one question. */
interface QuestionState {
  readonly dialogue: Dialogue;
  readonly messages: BaseMessage[];
  readonly signal: AbortSignal | undefined;
}
