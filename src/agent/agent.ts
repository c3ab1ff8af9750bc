import { VivariumError } from '../errors.ts';
import { openTerminal } from '../tool/terminal.ts';
import type { Tool } from '../tool/tool.ts';
import { Chat, type ChatOptions } from './chat/chat.ts';
import { Conversation } from './chat/conversation.ts';
import { assembleAgent, ENVIRONMENT_MODEL, type AgentParts } from './loop.ts';
import { parseNamedAgent, type AgentOptions, type AskOptions } from './options.ts';
import { withPrefix } from './tools/prefixed.ts';
import { finalAnswer, type AgentEvent } from './step/events.ts';
import type { AgentMemory } from './step/memory.ts';

/** Tools that belong together. */
export interface ToolSource {
  /** What the names of its tools begin with where they would clash with those of another source. */
  readonly name?: string;
  tools(): readonly Tool[];
}

/** An agent with a conversation: it remembers earlier messages, and uses the tools that it is given. */
export class Agent {
  readonly name: string;
  readonly #conversation: Conversation;
  readonly #parts: AgentParts;
  #isAnswering = false;

  constructor(options: AgentOptions) {
    const { name, instructions, model, maxHistoryChars, agentType, ...bounds } = parseNamedAgent(options);
    this.name = name;
    this.#conversation = new Conversation(instructions, maxHistoryChars);
    this.#parts = assembleAgent({ llm: model ?? ENVIRONMENT_MODEL, tools: [], agentType }, bounds);
  }

  /** The steps of all messages. */
  get memory(): AgentMemory {
    return this.#parts.memory;
  }

  /** The client id that its tools are called with. */
  get clientId(): string {
    return this.#parts.clientId;
  }

  /** Adds tools. The model knows them from the next message on. Names that are taken get that of the source as a prefix. */
  toolset(source: ToolSource): Promise<this> {
    const { tools } = this.#parts;
    const added = source.tools();
    const isClash = source.name !== undefined && added.some(({ name }) => tools.has(name));
    for (const tool of isClash ? withPrefix(source.name, added) : added) tools.register(tool);
    return Promise.resolve(this);
  }

  /** Returns the answer to a message. */
  run(message: string, options: AskOptions = {}): Promise<string> {
    return finalAnswer(this.streamSteps(message, options));
  }

  /** Yields each step as it happens. Breaking out of the loop stops the agent, and the message is forgotten. */
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

  /** Chats with a person, by default on the terminal that the process was started from. */
  async chat(options?: ChatOptions): Promise<void> {
    if (options) return new Chat(this, options).run();
    using terminal = openTerminal();
    await new Chat(this, terminal).run();
  }

  /** Forgets the conversation. Variables of its interpreters stay. */
  forget(): void {
    this.#conversation.clear();
  }
}

function isBusy(name: string): VivariumError {
  return new VivariumError('USAGE', `${name} is still answering. Wait for its answer, or use another agent.`);
}
