import { z } from 'zod';
import { parse } from '../../config.ts';
import { BaseAction, FinishAction, InvalidAction, NoAction } from './actions.ts';
import { ActionValidCode, type ActionReturn, type ApiDescription } from './contract.ts';

export interface ActionExecutorOptions {
  readonly invalidAction?: BaseAction;
  readonly noAction?: BaseAction;
  readonly finishAction?: BaseAction;
  /** Whether models are shown the finish action. */
  readonly finishInAction?: boolean;
  readonly invalid_action?: BaseAction;
  readonly no_action?: BaseAction;
  readonly finish_action?: BaseAction;
  readonly finish_in_action?: boolean;
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
});

/** Runs actions by name. Disabled actions are hidden and refused. */
export class ActionExecutor {
  readonly actions: Map<string, BaseAction>;
  readonly #invalid: BaseAction;
  readonly #none: BaseAction;
  readonly #finish: BaseAction;

  constructor(actions: BaseAction | readonly BaseAction[], options: ActionExecutorOptions = {}) {
    const given = parse(Options, options);
    this.#invalid = given.invalidAction ?? given.invalid_action ?? new InvalidAction();
    this.#none = given.noAction ?? given.no_action ?? new NoAction();
    this.#finish = given.finishAction ?? given.finish_action ?? new FinishAction();
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

  /** `name` is the name of an action, or `Tool.api`. */
  async call(name: string, command: unknown): Promise<ActionReturn> {
    const [actionName = '', api = 'run'] = name.split('.', 2);
    const action = this.isValid(actionName) ? this.actions.get(actionName) : undefined;
    if (action !== undefined) {
      const returned = await action.call(command, api);
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

  del_action(name: string): void {
    this.delAction(name);
  }
}
