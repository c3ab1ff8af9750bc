import type { QuestionAgentOptions } from '../options.ts';
import { QuestionAgent } from './question-agent.ts';

/** Answers questions with a model that calls tools by itself. */
export class FunctionCallingAgent extends QuestionAgent {
  constructor(options: QuestionAgentOptions) {
    super(options, 'function_calling');
  }
}
