import type { QuestionAgentOptions } from '../options.ts';
import { QuestionAgent } from './question-agent.ts';

/** Answers questions with any model that can write: it calls tools in words, which are read strictly. */
export class ReActAgent extends QuestionAgent {
  constructor(options: QuestionAgentOptions) {
    super(options, 'react');
  }
}
