import { VivariumError } from '../../errors.ts';
import { ToolInput } from './tool-input.ts';

/** A step to keep in the memory of an agent. */
export interface AgentStepOptions {
  /** What the model thought before it called the tool. */
  readonly thought?: string;
  /** The name of the tool. */
  readonly action: string;
  /** The arguments of the call. */
  readonly actionInput?: ActionInput;
  /** Another name of `actionInput`, for examples written for Python. */
  readonly action_input?: ActionInput;
  /** What the tool answered. */
  readonly observation: string;
}

/** Arguments by name, or the text for a tool with one argument. */
type ActionInput = Readonly<Record<string, unknown>> | string;

/** One call of a tool: the thought before it, its arguments and its result. */
export class AgentStep {
  readonly thought: string;
  readonly action: string;
  readonly action_input: ToolInput;
  /** The same as in `ObservationEvent`. */
  readonly observation: string;

  constructor({ thought = '', action, actionInput, action_input = {}, observation }: AgentStepOptions) {
    const input = actionInput ?? action_input;
    this.thought = thought;
    this.action = action;
    this.action_input = new ToolInput(typeof input === 'string' ? { input } : input);
    this.observation = observation;
  }

  get actionInput(): ToolInput {
    return this.action_input;
  }
}

/** The steps of an agent over all questions. When there are too many, the oldest are dropped. */
export class AgentMemory {
  readonly #maxSteps: number;
  #steps: AgentStep[] = [];

  constructor(maxSteps = 200) {
    if (!Number.isInteger(maxSteps) || maxSteps < 1) throw badLimit(maxSteps);
    this.#maxSteps = maxSteps;
  }

  get steps(): readonly AgentStep[] {
    return this.#steps;
  }

  get length(): number {
    return this.#steps.length;
  }

  /** Whether the next step replaces the oldest. */
  get isFull(): boolean {
    return this.#steps.length >= this.#maxSteps;
  }

  addStep(step: AgentStep): void {
    this.#steps = [...this.#steps, step].slice(-this.#maxSteps);
  }

  clear(): void {
    this.#steps = [];
  }

  /** The steps as text, in the form of the ReAct paper. */
  formatScratchpad(): string {
    return this.#steps
      .map(({ thought, action, action_input, observation }) =>
        [
          ...(thought === '' ? [] : [`Thought: ${thought}`]),
          `Action: ${action}`,
          `Action Input: ${JSON.stringify(action_input)}`,
          `Observation: ${observation}`,
        ].join('\n'),
      )
      .join('\n');
  }

  get is_full(): boolean {
    return this.isFull;
  }

  add_step(step: AgentStep): void {
    this.addStep(step);
  }

  format_scratchpad(): string {
    return this.formatScratchpad();
  }
}

function badLimit(maxSteps: number): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `A memory cannot keep ${maxSteps} steps. Give a whole number of at least 1.`,
  );
}
