/** What an agent does while it answers. Fields have their names on the wire. */
import { ToolInput } from './tool-input.ts';

export type AgentEvent = ThoughtEvent | ActionEvent | ObservationEvent | TokenEvent | FinalAnswerEvent | ErrorEvent;

/** What the model wrote before it called tools. */
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
  /** The arguments. `String(event.tool_input)` is the code, if the tool takes code. */
  readonly tool_input: ToolInput;

  constructor(tool: string, args: Readonly<Record<string, unknown>>) {
    this.tool = tool;
    this.tool_input = new ToolInput(args);
  }

  get toolInput(): ToolInput {
    return this.tool_input;
  }

  /** The code that is about to run, if the tool takes code. */
  get code(): string | undefined {
    return this.tool_input.codeText;
  }
}

/** The result of a tool. */
export class ObservationEvent {
  readonly type = 'observation';
  readonly tool: string;
  /** The payload as JSON, or a sentence if the tool could not be called. */
  readonly observation: string;
  /** What the model sees. */
  readonly text: string;
  readonly isError: boolean;

  constructor({ tool, observation, text, isError }: Omit<ObservationEvent, 'type'>) {
    this.tool = tool;
    this.observation = observation;
    this.text = text;
    this.isError = isError;
  }
}

/** A piece of the model's reply, as it arrives. */
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

/** The agent failed. The stream throws the error right after this event. */
export class ErrorEvent {
  readonly type = 'error';
  readonly error: string;

  constructor(error: string) {
    this.error = error;
  }
}

/** Waits for the end of the events and returns the answer. */
export async function finalAnswer(events: AsyncIterable<AgentEvent>): Promise<string> {
  let answer: string | undefined;
  for await (const event of events) {
    if (event.type === 'final_answer') answer = event.answer;
  }
  if (answer === undefined) throw new TypeError('the events of an agent ended without an answer');
  return answer;
}
