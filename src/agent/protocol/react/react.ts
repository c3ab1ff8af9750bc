/** Tool calls written as text, for models without native calls: Thought, Action, Action Input, Observation, Final Answer. */
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages';
import { VivariumError } from '../../../errors.ts';
import { connect } from '../../../model/openai.ts';
import type { ToolDefinition } from '../../../tool/tool.ts';
import { ThoughtEvent, TokenEvent } from '../../step/events.ts';
import type { Dialogue, ModelReply, Move, Protocol, ReplyStream, RequestedCall, ShownResult } from '../protocol.ts';
import { isCut, streamChunks, type ReadyModel } from '../stream.ts';
import { readMove } from './action.ts';
import { explainFormat, NO_MOVE, OBSERVATION } from './prompt.ts';
import { Scanner, type ScannedText } from './scanner.ts';

/** The model is asked to stop here. If it does not, the reply is cut here. */
const STOP = [`\n${OBSERVATION}`];

export const REACT: Protocol = {
  async begin(llm, tools) {
    return new ReActDialogue(await connect(llm), tools);
  },
};

class ReActDialogue implements Dialogue {
  readonly #model: ReadyModel;
  readonly #tools: readonly ToolDefinition[];
  #stopsAtWords = true;
  #calls = 0;
  /** The last reply could not be read. */
  #wasUnclear = false;

  constructor(model: ReadyModel, tools: readonly ToolDefinition[]) {
    this.#model = model;
    this.#tools = tools;
  }

  async *reply(messages: readonly BaseMessage[], signal: AbortSignal | undefined): ReplyStream {
    const scanner = new Scanner();
    const hasRoom = yield* this.#listen(scanner, withFormat(messages, this.#tools), signal);
    yield* toEvents(scanner.end());
    const move = this.#read(scanner, !hasRoom);
    const thought = thoughtOf(scanner);
    // A thought with nothing after it has not been reported yet.
    if (move.kind === 'unclear' && thought !== '') yield new ThoughtEvent(thought);
    return {
      thought,
      move,
      message: new AIMessage(withoutInventions(scanner, move) || '(nothing)'),
    } satisfies ModelReply;
  }

  report(_: RequestedCall, { text }: ShownResult): BaseMessage {
    return new HumanMessage(`${OBSERVATION} ${text}`);
  }

  remind(complaint: string): BaseMessage {
    return new HumanMessage(`${OBSERVATION} ${complaint}`);
  }

  /** Ends the request once the reply is complete. Returns false if the reply was cut at its maximum length. */
  async *#listen(
    scanner: Scanner,
    messages: readonly BaseMessage[],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<TokenEvent | ThoughtEvent, boolean, undefined> {
    let hasBegun = false;
    try {
      for await (const chunk of this.#stream(messages, signal)) {
        hasBegun = true;
        yield* toEvents(scanner.feed(chunk.text));
        if (scanner.isOver) return true;
        if (isCut(chunk)) return false;
      }
      return true;
    } catch (error) {
      if (hasBegun || !this.#stopsAtWords || !isAboutStop(error)) throw error;
      this.#stopsAtWords = false;
      return yield* this.#listen(scanner, messages, signal);
    }
  }

  #stream(messages: readonly BaseMessage[], signal: AbortSignal | undefined): ReturnType<typeof streamChunks> {
    return streamChunks(this.#model, messages, { signal, ...(this.#stopsAtWords && { stop: STOP }) });
  }

  /** A model that ignores the format is reminded once. If it then writes plain text again, that is the answer. */
  #read({ sections, isOver }: Scanner, wasCut: boolean): Move {
    this.#calls += 1;
    const read = readMove(sections, { tools: this.#tools, id: `action_${this.#calls}`, isCut: wasCut });
    const words = sections.findLast(({ label }) => label === 'thought')?.text.trim() ?? '';
    const isUnclear = read === undefined;
    const isPlain = !isOver && sections.every(({ label }) => label === 'thought');
    const takesWords = isUnclear && this.#wasUnclear && isPlain && words !== '';
    this.#wasUnclear = isUnclear;
    if (takesWords) return { kind: 'answer', answer: words };
    if (isUnclear) return { kind: 'unclear', complaint: NO_MOVE };
    return 'call' in read ? { kind: 'calls', calls: [read.call] } : { kind: 'answer', answer: read.answer };
  }
}

function* toEvents(said: readonly ScannedText[]): Generator<TokenEvent | ThoughtEvent> {
  for (const part of said) yield 'token' in part ? new TokenEvent(part.token) : new ThoughtEvent(part.thought);
}

/** Adds the format and the tools to the instructions of the agent. */
function withFormat([first, ...others]: readonly BaseMessage[], tools: readonly ToolDefinition[]): BaseMessage[] {
  const format = explainFormat(tools);
  if (first instanceof SystemMessage) return [new SystemMessage(`${first.text}\n\n${format}`), ...others];
  return [new SystemMessage(format), ...(first ? [first] : []), ...others];
}

function thoughtOf({ sections }: Scanner): string {
  const thoughts = sections.filter(({ label }) => label === 'thought').map(({ text }) => text.trim());
  return thoughts.filter((thought) => thought !== '').join('\n');
}

const WRITTEN = { thought: 'Thought', action: 'Action', input: 'Action Input', answer: 'Final Answer' } as const;

/** The reply as it goes into the conversation: without invented observations, and without text after the first action. */
function withoutInventions({ sections }: Scanner, { kind }: Move): string {
  return sections
    .flatMap(({ label, text }) => {
      if (label === 'observation' || text.trim() === '') return [];
      return kind === 'answer' && label === 'action' ? [] : [`${WRITTEN[label]}: ${text.trim()}`];
    })
    .join('\n');
}

/** Some endpoints do not support stop words. */
function isAboutStop(error: unknown): boolean {
  return error instanceof VivariumError && error.code === 'LLM_FAILED' && /\bstop\b/u.test(error.message);
}
