/** The loop of an agent: the model writes, its calls are made one after the other, until it answers. */
import type { BaseMessage } from '@langchain/core/messages';
import type { Llm } from '../model/openai.ts';
import type { Dialogue, Protocol, Reply, RequestedCall } from './protocol/protocol.ts';
import { ActionEvent, ErrorEvent, FinalAnswerEvent, ObservationEvent, type AgentEvent } from './step/events.ts';
import { AgentStep, type AgentMemory } from './step/memory.ts';
import type { Toolbox } from './toolbox/toolbox.ts';

/** What an agent answers that has used up its iterations. */
export const LIMIT_REACHED = 'I was unable to complete the task within the allowed number of steps.';

/** In place of a tool, where the model named none. */
const NO_ACTION = 'NoAction';

export interface LoopParts {
  readonly llm: Llm;
  readonly protocol: Protocol;
  readonly toolbox: Toolbox;
  readonly memory: AgentMemory;
  readonly maxIterations: number;
}

export class Loop {
  readonly #parts: LoopParts;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** Goes on with a conversation until there is an answer, and adds to it what was said. */
  async *answer(messages: BaseMessage[], signal: AbortSignal | undefined): AsyncGenerator<AgentEvent, void, undefined> {
    try {
      yield* this.#iterate(messages, signal);
    } catch (error) {
      if (!signal?.aborted) yield new ErrorEvent(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async *#iterate(messages: BaseMessage[], signal: AbortSignal | undefined): AsyncGenerator<AgentEvent> {
    signal?.throwIfAborted();
    const { llm, protocol, toolbox, maxIterations } = this.#parts;
    const dialogue = await protocol.begin(llm, await toolbox.definitions());
    for (let iteration = 0; iteration < maxIterations; iteration += 1) {
      const reply = yield* dialogue.reply(messages, signal);
      messages.push(reply.message);
      if (reply.move.kind === 'answer') return void (yield new FinalAnswerEvent(reply.move.answer));
      yield* this.#carryOut(reply, { dialogue, messages, signal });
    }
    yield new FinalAnswerEvent(LIMIT_REACHED);
  }

  async *#carryOut({ move, thought }: Reply, { dialogue, messages, signal }: Course): AsyncGenerator<AgentEvent> {
    if (move.kind === 'unclear') {
      messages.push(dialogue.remind(move.complaint));
      yield new ObservationEvent({ tool: NO_ACTION, observation: move.complaint, text: move.complaint, isError: true });
    }
    for (const call of move.kind === 'calls' ? move.calls : []) {
      yield new ActionEvent(call.name, call.args);
      const seen = await this.#parts.toolbox.call(call, signal);
      this.#remember(call, { thought, observation: seen.observation });
      signal?.throwIfAborted();
      messages.push(dialogue.report(call, seen));
      yield new ObservationEvent({ tool: call.name, ...seen });
    }
  }

  #remember({ name, args }: RequestedCall, about: { thought: string; observation: string }): void {
    this.#parts.memory.addStep(new AgentStep({ action: name, actionInput: args, ...about }));
  }
}

/** Where a question has got to. */
interface Course {
  readonly dialogue: Dialogue;
  readonly messages: BaseMessage[];
  readonly signal: AbortSignal | undefined;
}
