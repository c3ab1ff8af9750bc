/** Calls written as text, for models that know no other way: Thought, Action, Action Input, Observation, Final Answer. */
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages';
import { VivariumError } from '../../../errors.ts';
import { connect } from '../../../model/openai.ts';
import type { ToolDefinition } from '../../../tool/tool.ts';
import { ThoughtEvent, TokenEvent } from '../../step/events.ts';
import type { Dialogue, Move, Protocol, Reply, RequestedCall, Saying, Shown } from '../protocol.ts';
import { isCut, streamChunks, type ReadyModel } from '../stream.ts';
import { readWish } from './action.ts';
import { explainFormat, NO_MOVE, OBSERVATION } from './prompt.ts';
import { Scanner, type Said } from './scanner.ts';

/** Before it a model is asked to stop. It is cut off there in any case. */
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
  /** The last reply was none that could be read. */
  #wasUnclear = false;

  constructor(model: ReadyModel, tools: readonly ToolDefinition[]) {
    this.#model = model;
    this.#tools = tools;
  }

  async *reply(messages: readonly BaseMessage[], signal: AbortSignal | undefined): Saying {
    const scanner = new Scanner();
    const hasRoom = yield* this.#listen(scanner, withFormat(messages, this.#tools), signal);
    yield* told(scanner.end());
    const move = this.#read(scanner, !hasRoom);
    const thought = thoughtOf(scanner);
    // A thought that nothing followed was not told as one yet.
    if (move.kind === 'unclear' && thought !== '') yield new ThoughtEvent(thought);
    return { thought, move, message: new AIMessage(believed(scanner, move) || '(nothing)') } satisfies Reply;
  }

  report(_: RequestedCall, { text }: Shown): BaseMessage {
    return new HumanMessage(`${OBSERVATION} ${text}`);
  }

  remind(complaint: string): BaseMessage {
    return new HumanMessage(`${OBSERVATION} ${complaint}`);
  }

  /** Hangs up as soon as all that counts was said. False when the reply was cut off for its length. */
  async *#listen(
    scanner: Scanner,
    messages: readonly BaseMessage[],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<TokenEvent | ThoughtEvent, boolean, undefined> {
    let hasBegun = false;
    try {
      for await (const chunk of this.#stream(messages, signal)) {
        hasBegun = true;
        yield* told(scanner.feed(chunk.text));
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

  /** Whoever does not follow the format is reminded of it once; words that come instead again are the answer. */
  #read({ sections, isOver }: Scanner, wasCut: boolean): Move {
    this.#calls += 1;
    const wish = readWish(sections, { tools: this.#tools, id: `action_${this.#calls}`, isCut: wasCut });
    const words = sections.findLast(({ label }) => label === 'thought')?.text.trim() ?? '';
    const isUnclear = wish === undefined;
    const isPlain = !isOver && sections.every(({ label }) => label === 'thought');
    const takesWords = isUnclear && this.#wasUnclear && isPlain && words !== '';
    this.#wasUnclear = isUnclear;
    if (takesWords) return { kind: 'answer', answer: words };
    if (isUnclear) return { kind: 'unclear', complaint: NO_MOVE };
    return 'call' in wish ? { kind: 'calls', calls: [wish.call] } : { kind: 'answer', answer: wish.answer };
  }
}

function* told(said: readonly Said[]): Generator<TokenEvent | ThoughtEvent> {
  for (const part of said) yield 'token' in part ? new TokenEvent(part.token) : new ThoughtEvent(part.thought);
}

/** The tools are told anew for each question, beside what the agent was told for good. */
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

/** What the model is told again that it said: nothing that it made up, nothing after its first action. */
function believed({ sections }: Scanner, { kind }: Move): string {
  return sections
    .flatMap(({ label, text }) => {
      if (label === 'observation' || text.trim() === '') return [];
      return kind === 'answer' && label === 'action' ? [] : [`${WRITTEN[label]}: ${text.trim()}`];
    })
    .join('\n');
}

/** Some endpoints know no stop words. */
function isAboutStop(error: unknown): boolean {
  return error instanceof VivariumError && error.code === 'LLM_FAILED' && /\bstop\b/u.test(error.message);
}
