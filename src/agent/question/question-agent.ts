import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { parseQuestionAgent, type AgentType, type AskOptions, type QuestionAgentOptions } from '../options.ts';
import { assemble, type AgentParts } from '../parts.ts';
import { finalAnswer } from '../step/answer.ts';
import type { AgentEvent } from '../step/events.ts';
import type { AgentMemory } from '../step/memory.ts';

/** Answers questions with the help of tools, each question by itself; what its tools keep, they keep. */
export abstract class QuestionAgent {
  readonly #systemPrompt: string;
  readonly #parts: AgentParts;

  constructor(options: QuestionAgentOptions, agentType: AgentType) {
    const { llm, tools, systemPrompt, ...bounds } = parseQuestionAgent(options);
    this.#systemPrompt = systemPrompt;
    this.#parts = assemble({ llm, tools, agentType }, bounds);
  }

  /** What it did, over all questions. */
  get memory(): AgentMemory {
    return this.#parts.memory;
  }

  /** Whose interpreter its tools use. */
  get clientId(): string {
    return this.#parts.clientId;
  }

  /** The final answer. */
  run(question: string, options: AskOptions = {}): Promise<string> {
    return finalAnswer(this.streamSteps(question, options));
  }

  /** What the agent does while it does it. Breaking out of the loop stops it. */
  async *streamSteps(question: string, { signal }: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    yield* this.#parts.loop.answer([new SystemMessage(this.#systemPrompt), new HumanMessage(question)], signal);
  }

  /** The name of `streamSteps` in examples written for Python. */
  stream_steps(question: string, options: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    return this.streamSteps(question, options);
  }
}
