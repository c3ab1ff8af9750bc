import { OpenAILLM } from '../../model/openai.ts';
import type { QuestionAgentOptions } from '../options.ts';
import { LATER } from '../parts.ts';
import { FunctionCallingAgent } from './function-calling-agent.ts';

export interface SimpleAgentOptions extends Omit<QuestionAgentOptions, 'llm'> {
  /** A chat model, or the name of one at the endpoint of the environment; by itself the one named there. */
  readonly model?: QuestionAgentOptions['llm'] | string;
}

/** A function-calling agent that needs to be told nothing but its tools. */
export class SimpleAgent extends FunctionCallingAgent {
  constructor({ model = LATER, ...options }: SimpleAgentOptions = {}) {
    const llm = typeof model === 'string' ? { connect: () => new OpenAILLM({ model }).connect() } : model;
    super({ ...options, llm });
  }
}

/** `agent({ tools })` answers questions with the model that the environment names. */
export function agent(options: SimpleAgentOptions = {}): SimpleAgent {
  return new SimpleAgent(options);
}
