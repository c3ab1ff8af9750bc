/** What an agent does while it answers. Own fields have the names that go over the wire. */
import { ToolInput } from './tool-input.ts';

export type AgentEvent = ThoughtEvent | ActionEvent | ObservationEvent | TokenEvent | FinalAnswerEvent | ErrorEvent;

/** What the model said before it called tools. */
export class ThoughtEvent {
  readonly type = 'thought';
  readonly thought: string;

  constructor(thought: string) {
    this.thought = thought;
  }
}

/** The model calls a tool, which runs next. */
export class ActionEvent {
  readonly type = 'action';
  readonly tool: string;
  /** The arguments. As a string they are the code, when the tool takes code: `String(event.tool_input)`. */
  readonly tool_input: ToolInput;

  constructor(tool: string, args: Readonly<Record<string, unknown>>) {
    this.tool = tool;
    this.tool_input = new ToolInput(args);
  }

  get toolInput(): ToolInput {
    return this.tool_input;
  }

  /** The code that is about to run, when the tool takes code. */
  get code(): string | undefined {
    return this.tool_input.codeText;
  }
}

/** What the tool gave. */
export class ObservationEvent {
  readonly type = 'observation';
  readonly tool: string;
  /** JSON of the tool's payload, or a plain sentence when the tool could not be called. */
  readonly observation: string;
  /** What the model sees of it. */
  readonly text: string;
  readonly isError: boolean;

  constructor({ tool, observation, text, isError }: Omit<ObservationEvent, 'type'>) {
    this.tool = tool;
    this.observation = observation;
    this.text = text;
    this.isError = isError;
  }
}

/** A piece of what the model writes, while it writes it. */
export class TokenEvent {
  readonly type = 'token';
  readonly token: string;

  constructor(token: string) {
    this.token = token;
  }
}

/** The last event of an answer. */
export class FinalAnswerEvent {
  readonly type = 'final_answer';
  readonly answer: string;

  constructor(answer: string) {
    this.answer = answer;
  }
}

/** There will be no answer. The stream throws right after it, so that nobody misses it. */
export class ErrorEvent {
  readonly type = 'error';
  readonly error: string;

  constructor(error: string) {
    this.error = error;
  }
}
