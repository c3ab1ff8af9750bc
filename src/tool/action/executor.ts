import { z } from 'zod';
import { parse } from '../../config.ts';
import { BaseAction, FinishAction, InvalidAction, NoAction } from './actions.ts';
import type { CallOptions } from '../tool.ts';
import { ActionValidCode, type ActionReturn, type ApiDescription } from './contract.ts';
import type { ActionCall, ActionHook } from './hooks.ts';

/** The actions of an executor that do nothing but answer. */
export interface ActionExecutorOptions {
  /** Answers for an action that does not exist or is disabled. */
  readonly invalidAction?: BaseAction;
  /** Answers where the model chose no action. */
  readonly noAction?: BaseAction;
  /** Ends the conversation. */
  readonly finishAction?: BaseAction;
  /** Whether models are shown the finish action. */
  readonly finishInAction?: boolean;
  /** Another name of `invalidAction`. */
  readonly invalid_action?: BaseAction;
  /** Another name of `noAction`. */
  readonly no_action?: BaseAction;
  /** Another name of `finishAction`. */
  readonly finish_action?: BaseAction;
  /** Another name of `finishInAction`. */
  readonly finish_in_action?: boolean;
  /** What is done around each call, in this order. */
  readonly hooks?: readonly ActionHook<ActionExecutor>[];
}

const Action = z.custom<BaseAction>((value) => value instanceof BaseAction, 'must be an action').optional();
const Options = z.strictObject({
  invalidAction: Action,
  invalid_action: Action,
  noAction: Action,
  no_action: Action,
  finishAction: Action,
  finish_action: Action,
  finishInAction: z.boolean().optional(),
  finish_in_action: z.boolean().optional(),
  hooks: z
    .array(z.custom<ActionHook<ActionExecutor>>((value) => typeof value === 'object' && value !== null))
    .default([]),
});

/** Runs actions by name. Disabled actions are hidden and refused. */
export class ActionExecutor {
  readonly actions: Map<string, BaseAction>;
  readonly #invalid: BaseAction;
  readonly #none: BaseAction;
  readonly #finish: BaseAction;
  readonly #hooks: Set<ActionHook<ActionExecutor>>;

  constructor(actions: BaseAction | readonly BaseAction[], options: ActionExecutorOptions = {}) {
    const given = parse(Options, options);
    this.#invalid = given.invalidAction ?? given.invalid_action ?? new InvalidAction();
    this.#none = given.noAction ?? given.no_action ?? new NoAction();
    this.#finish = given.finishAction ?? given.finish_action ?? new FinishAction();
    this.#hooks = new Set(given.hooks);
    const all = [actions].flat();
    if (given.finishInAction ?? given.finish_in_action ?? false) all.push(this.#finish);
    this.actions = new Map(all.map((action) => [action.name, action]));
  }

  /** What a model is told. Each call of a toolkit has its own name, `Tool.api`. */
  getActionsInfo(): ApiDescription[] {
    return [...this.actions.values()]
      .filter((action) => action.enable)
      .flatMap(({ name, description }) => {
        const { api_list: list } = description;
        return list === undefined ? [description] : list.map((api) => ({ ...api, name: `${name}.${api.name}` }));
      });
  }

  isValid(name: string): boolean {
    return this.actions.get(name)?.enable ?? false;
  }

  actionNames(onlyEnabled = true): string[] {
    return [...this.actions.keys()].filter((name) => !onlyEnabled || this.isValid(name));
  }

  addAction(action: BaseAction): void {
    this.actions.set(action.name, action);
  }

  delAction(name: string): void {
    this.actions.delete(name);
  }

  /** Adds a hook around each call, until it is removed. */
  registerHook(hook: ActionHook<ActionExecutor>): HookHandle {
    this.#hooks.add(hook);
    return { remove: () => void this.#hooks.delete(hook) };
  }

  /** `name` is the name of an action, or `Tool.api`. */
  async call(name: string, command: unknown, { context, signal }: CallOptions = {}): Promise<ActionReturn> {
    const hooks = [...this.#hooks];
    let asked: ActionCall = { name, parameters: command, context };
    for (const hook of hooks) {
      const replaced = hook.beforeAction?.(this, asked) ?? hook.before_action?.(this, asked);
      asked = (await replaced) ?? asked;
    }
    const options = { ...(asked.context && { context: asked.context }), ...(signal && { signal }) };
    let returned = await this.#perform(asked.name, asked.parameters, options);
    for (const hook of hooks) {
      const replaced = hook.afterAction?.(this, returned, asked) ?? hook.after_action?.(this, returned, asked);
      returned = (await replaced) ?? returned;
    }
    return returned;
  }

  async #perform(name: string, command: unknown, options: CallOptions): Promise<ActionReturn> {
    const [actionName = '', api = 'run'] = name.split('.', 2);
    const action = this.isValid(actionName) ? this.actions.get(actionName) : undefined;
    if (action !== undefined) {
      const returned = await action.call(command, api, options);
      if (returned.valid !== ActionValidCode.FINISH) returned.valid = ActionValidCode.OPEN;
      return returned;
    }
    if (name === this.#none.name) return this.#none.call(command);
    return name === this.#finish.name ? this.#finish.call(command) : this.#invalid.call(undefined);
  }

  get_actions_info(): ApiDescription[] {
    return this.getActionsInfo();
  }

  is_valid(name: string): boolean {
    return this.isValid(name);
  }

  action_names(onlyEnabled = true): string[] {
    return this.actionNames(onlyEnabled);
  }

  add_action(action: BaseAction): void {
    this.addAction(action);
  }

  register_hook(hook: ActionHook<ActionExecutor>): HookHandle {
    return this.registerHook(hook);
  }

  del_action(name: string): void {
    this.delAction(name);
  }
}

/** Ends what was registered. */
export interface HookHandle {
  remove(): void;
}
