import { HumanMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages';

/** What was said so far, in whole exchanges: a question and all that followed. The oldest go when there is too much. */
export class Conversation {
  readonly #system: SystemMessage;
  readonly #maxChars: number;
  #exchanges: (readonly BaseMessage[])[] = [];

  constructor(instructions: string, maxChars: number) {
    this.#system = new SystemMessage(instructions);
    this.#maxChars = maxChars;
  }

  /** All that the model is told. What comes next is added to it, and kept only by `keep`. */
  ask(question: string): BaseMessage[] {
    return [this.#system, ...this.#exchanges.flat(), new HumanMessage(question)];
  }

  /** Keeps an exchange that is complete: a call without its result would spoil all that follows. */
  keep(messages: readonly BaseMessage[]): void {
    this.#exchanges.push(messages.slice(1 + this.#exchanges.flat().length));
    while (this.#exchanges.length > 1 && this.#size() > this.#maxChars) this.#exchanges.shift();
  }

  clear(): void {
    this.#exchanges = [];
  }

  #size(): number {
    return this.#exchanges.flat().reduce((chars, message) => chars + JSON.stringify(message.toDict().data).length, 0);
  }
}
