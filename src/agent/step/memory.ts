import type { ToolInput } from './tool-input.ts';

/** One call of a tool: why, what, and what came of it. */
export class AgentStep {
  readonly thought: string;
  readonly action: string;
  readonly action_input: ToolInput;
  /** As in the event: JSON of the tool's payload, or a sentence. */
  readonly observation: string;

  constructor({ thought, action, actionInput, observation }: Omit<AgentStep, 'action_input'>) {
    this.thought = thought;
    this.action = action;
    this.action_input = actionInput;
    this.observation = observation;
  }

  get actionInput(): ToolInput {
    return this.action_input;
  }
}

/** What an agent did, over all questions. The oldest steps go when there are too many. */
export class AgentMemory {
  readonly #maxSteps: number;
  #steps: AgentStep[] = [];

  constructor(maxSteps: number) {
    this.#maxSteps = maxSteps;
  }

  get steps(): readonly AgentStep[] {
    return this.#steps;
  }

  get length(): number {
    return this.#steps.length;
  }

  /** The next step takes the place of the oldest. */
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
}
