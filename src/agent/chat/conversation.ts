import { HumanMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages';

/** The messages so far, in whole exchanges. When they are too long, the oldest exchanges are dropped. */
export class Conversation {
  readonly #system: SystemMessage;
  readonly #maxChars: number;
  #exchanges: (readonly BaseMessage[])[] = [];

  constructor(instructions: string, maxChars: number) {
    this.#system = new SystemMessage(instructions);
    this.#maxChars = maxChars;
  }

  /** All messages for the model. New messages are appended to this list, and remembered only by `keep`. */
  ask(question: string): BaseMessage[] {
    return [this.#system, ...this.#exchanges.flat(), new HumanMessage(question)];
  }

  /** Remembers a complete exchange. A call without its result would make all later requests invalid. */
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
