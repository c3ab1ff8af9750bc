import { VivariumError } from '../errors.ts';
import type { Tool } from '../tool/tool.ts';
import { Chat, type ChatOptions } from './chat/chat.ts';
import { Conversation } from './chat/conversation.ts';
import { openTerminal } from './chat/terminal.ts';
import { parseNamedAgent, type AgentOptions, type AskOptions } from './options.ts';
import { assemble, LATER, type AgentParts } from './parts.ts';
import { finalAnswer } from './step/answer.ts';
import type { AgentEvent } from './step/events.ts';
import type { AgentMemory } from './step/memory.ts';

/** Tools that belong together. */
export interface ToolSource {
  tools(): readonly Tool[];
}

/** Somebody to talk with: remembers what was said, and works with the tools that it is given. */
export class Agent {
  readonly name: string;
  readonly #conversation: Conversation;
  readonly #parts: AgentParts;
  #isAnswering = false;

  constructor(options: AgentOptions) {
    const { name, instructions, model, maxHistoryChars, agentType, ...bounds } = parseNamedAgent(options);
    this.name = name;
    this.#conversation = new Conversation(instructions, maxHistoryChars);
    this.#parts = assemble({ llm: model ?? LATER, tools: [], agentType }, bounds);
  }

  /** What it did, over all messages. */
  get memory(): AgentMemory {
    return this.#parts.memory;
  }

  /** Whose interpreters its tools use. */
  get clientId(): string {
    return this.#parts.clientId;
  }

  /** Adds tools; from the next message on the model knows them. */
  toolset(source: ToolSource): Promise<this> {
    for (const tool of source.tools()) this.#parts.toolbox.tools.register(tool);
    return Promise.resolve(this);
  }

  /** The answer to a message. */
  run(message: string, options: AskOptions = {}): Promise<string> {
    return finalAnswer(this.streamSteps(message, options));
  }

  /** What the agent does while it does it. Breaking out of the loop stops it, and the message is forgotten. */
  async *streamSteps(message: string, { signal }: AskOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    if (this.#isAnswering) throw isBusy(this.name);
    this.#isAnswering = true;
    try {
      const messages = this.#conversation.ask(message);
      yield* this.#parts.loop.answer(messages, signal);
      this.#conversation.keep(messages);
    } finally {
      this.#isAnswering = false;
    }
  }

  /** Talks with a person, by itself on the terminal that the process was started from. */
  async chat(options?: ChatOptions): Promise<void> {
    if (options) return new Chat(this, options).run();
    using terminal = openTerminal();
    await new Chat(this, terminal).run();
  }

  /** Forgets what was said. Variables of its interpreters stay. */
  forget(): void {
    this.#conversation.clear();
  }
}

function isBusy(name: string): VivariumError {
  return new VivariumError('USAGE', `${name} is still answering. Wait for its answer, or use an agent of its own.`);
}
