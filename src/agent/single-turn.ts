/** Agents that answer one question at a time, without a conversation. The state of their tools stays between questions. */
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { OpenAILLM } from '../model/openai.ts';
import { assembleAgent, ENVIRONMENT_MODEL, type AgentParts } from './loop.ts';
import {
  parseAgentType,
  parseSingleTurn,
  type AgentConfig,
  type AgentType,
  type AskOptions,
  type SingleTurnOptions,
} from './options.ts';
import { finalAnswer, type AgentEvent } from './step/events.ts';
import type { AgentMemory } from './step/memory.ts';

abstract class SingleTurnAgent {
  readonly #systemPrompt: string;
  readonly #parts: AgentParts;

  constructor(options: SingleTurnOptions, agentType: AgentType) {
    const { llm, tools, systemPrompt, ...bounds } = parseSingleTurn(options);
    this.#systemPrompt = systemPrompt;
    this.#parts = assembleAgent({ llm, tools, agentType }, bounds);
  }

  /** The steps of all questions. */
  get memory(): AgentMemory {
    return this.#parts.memory;
  }

  /** The client id that its tools are called with. */
  get clientId(): string {
    return this.#parts.clientId;
  }

  /** Returns the final answer. */
  run(question: string, options: AskOptions = {}): Promise<string> {
    return finalAnswer(this.streamSteps(question, options));
  }

  /** Yields each step as it happens. Breaking out of the loop stops the agent. */
  async *streamSteps(question: string, { signal }: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    yield* this.#parts.loop.answer([new SystemMessage(this.#systemPrompt), new HumanMessage(question)], signal);
  }

  /** Same as `streamSteps`, for examples written for Python. */
  stream_steps(question: string, options: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    return this.streamSteps(question, options);
  }
}

/** For models with native tool calling. */
export class FunctionCallingAgent extends SingleTurnAgent {
  constructor(options: SingleTurnOptions) {
    super(options, 'function_calling');
  }
}

/** For any model that writes text: it writes its tool calls as text in a fixed format. */
export class ReActAgent extends SingleTurnAgent {
  constructor(options: SingleTurnOptions) {
    super(options, 'react');
  }
}

/** An agent of the type that its configuration names; `react` by default, as that works with every model. */
export class AgentExecutor extends SingleTurnAgent {
  readonly config: AgentConfig;

  constructor(config: AgentConfig) {
    const { agentType, options } = parseAgentType(config);
    super(options, agentType);
    this.config = config;
  }
}

export interface SimpleAgentOptions extends Omit<SingleTurnOptions, 'llm'> {
  /** A chat model, or the name of a model at the configured endpoint. Default: the model that the environment names. */
  readonly model?: SingleTurnOptions['llm'] | string;
}

/** A function-calling agent that needs nothing but its tools. */
export class SimpleAgent extends FunctionCallingAgent {
  constructor({ model = ENVIRONMENT_MODEL, ...options }: SimpleAgentOptions = {}) {
    const llm = typeof model === 'string' ? { connect: () => new OpenAILLM({ model }).connect() } : model;
    super({ ...options, llm });
  }
}

/** Creates an agent that answers questions with the model that the environment names. */
export function agent(options: SimpleAgentOptions = {}): SimpleAgent {
  return new SimpleAgent(options);
}
