import { parseAgentType, type AgentConfig, type AskOptions } from '../options.ts';
import type { AgentEvent } from '../step/events.ts';
import type { AgentMemory } from '../step/memory.ts';
import { FunctionCallingAgent } from './function-calling-agent.ts';
import type { QuestionAgent } from './question-agent.ts';
import { ReActAgent } from './react-agent.ts';

/** An agent of the kind that its configuration names, by itself one that works with every model. */
export class AgentExecutor {
  readonly config: AgentConfig;
  readonly #agent: QuestionAgent;

  constructor(config: AgentConfig) {
    const { agentType, options } = parseAgentType(config);
    this.config = config;
    this.#agent = agentType === 'react' ? new ReActAgent(options) : new FunctionCallingAgent(options);
  }

  get memory(): AgentMemory {
    return this.#agent.memory;
  }

  /** Whose interpreter its tools use. */
  get clientId(): string {
    return this.#agent.clientId;
  }

  run(question: string, options: AskOptions = {}): Promise<string> {
    return this.#agent.run(question, options);
  }

  streamSteps(question: string, options: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    return this.#agent.streamSteps(question, options);
  }

  /** The name of `streamSteps` in examples written for Python. */
  stream_steps(question: string, options: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    return this.streamSteps(question, options);
  }
}
