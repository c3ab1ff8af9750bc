/** What may be done around each call of an action. */
import type { CallContext } from '../tool.ts';
import type { ActionReturn } from './contract.ts';

/** A call that an executor was asked for. */
export interface ActionCall {
  /** The name of an action, or `Tool.api`. */
  readonly name: string;
  /** What the action's parser reads. */
  readonly parameters: unknown;
  /** Who calls, so that two conversations never share an interpreter. */
  readonly context?: CallContext | undefined;
}

/** Sees each call before it is carried out, and what it returned. What a hook returns takes the place of either. */
export interface ActionHook<Executor = unknown> {
  /** Before the call. */
  beforeAction?(executor: Executor, call: ActionCall): ReplacementFor<ActionCall>;
  /** After the call, with the call as the hooks left it. */
  afterAction?(executor: Executor, returned: ActionReturn, call: ActionCall): ReplacementFor<ActionReturn>;
  /** Another name of `beforeAction`, for examples written for Python. */
  before_action?(executor: Executor, call: ActionCall): ReplacementFor<ActionCall>;
  /** Another name of `afterAction`. */
  after_action?(executor: Executor, returned: ActionReturn, call: ActionCall): ReplacementFor<ActionReturn>;
}

type ReplacementFor<T> = T | null | undefined | void | Promise<T | null | undefined | void>;

/** Wraps bare code that a model wrote, so that it becomes the argument of an interpreter. */
export class InternLMActionProcessor implements ActionHook {
  readonly #codeParameter: string;

  constructor(codeParameter = 'command') {
    this.#codeParameter = codeParameter;
  }

  beforeAction(_: unknown, call: ActionCall): ActionCall {
    const { parameters } = call;
    return typeof parameters === 'string' ? { ...call, parameters: { [this.#codeParameter]: parameters } } : call;
  }
}
