import { ActionReturn, ActionStatusCode } from './action-return.ts';
import { apisOf, type ActionDescription } from './description.ts';
import { JsonParser, ParseError, type Arguments, type BaseParser, type ParserClass } from './parsers.ts';

export interface ActionOptions {
  /** In place of the action's own. */
  readonly description?: ActionDescription | null | undefined;
  readonly parser?: ParserClass | undefined;
  readonly enable?: boolean | undefined;
}

/** Something that a model can do by name: its arguments are read by a parser, and whatever happens is an `ActionReturn`. */
export abstract class BaseAction {
  /** A disabled action is neither shown to a model nor carried out for it. */
  enable: boolean;
  readonly #description: ActionDescription;
  readonly #parser: BaseParser;

  constructor(own: ActionDescription, { description, parser = JsonParser, enable = true }: ActionOptions = {}) {
    this.#description = description ?? own;
    this.#parser = new parser(this.#description);
    this.enable = enable;
  }

  get name(): string {
    return this.#description.name;
  }

  /** Whether it has calls of several names. */
  get isToolkit(): boolean {
    return this.#description.api_list !== undefined;
  }

  get description(): ActionDescription {
    const { parameterDescription: hint } = this.#parser;
    const hinted = <T extends object>(api: T): T => (hint === '' ? api : { ...api, parameter_description: hint });
    const { api_list: list, ...rest } = this.#description;
    return list === undefined ? hinted(rest) : { ...rest, api_list: list.map(hinted) };
  }

  /** Carries out one call; arguments that do not fit and errors are in what it returns. */
  async call(inputs: unknown, name = 'run'): Promise<ActionReturn> {
    const fallback = { args: { inputs, name }, type: this.name };
    if (!apisOf(this.#description).has(name)) {
      return new ActionReturn({ ...fallback, errmsg: `invalid API: ${name}`, state: ActionStatusCode.API_ERROR });
    }
    let args: Arguments;
    try {
      args = this.#parser.parseInputs(inputs, name);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      return new ActionReturn({ ...fallback, errmsg: error.message, state: ActionStatusCode.ARGS_ERROR });
    }
    return this.#carryOut(name, args);
  }

  /** Does what the call of this name stands for. What it gives is made an `ActionReturn`, unless it is one. */
  protected abstract perform(api: string, args: Arguments): unknown;

  async #carryOut(name: string, args: Arguments): Promise<ActionReturn> {
    try {
      const output: unknown = await this.perform(name, args);
      if (!(output instanceof ActionReturn)) {
        return new ActionReturn({ args, type: this.name, result: this.#parser.parseOutputs(output) });
      }
      output.args ??= args;
      output.type ??= this.name;
      return output;
    } catch (error) {
      const errmsg = error instanceof Error ? error.message : String(error);
      return new ActionReturn({ args, type: this.name, errmsg, state: ActionStatusCode.API_ERROR });
    }
  }
}
