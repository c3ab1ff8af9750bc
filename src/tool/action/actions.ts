/** The base class of actions, and the actions that every executor has. */
import { ActionReturn, ActionStatusCode, ActionValidCode, apisOf, type ActionDescription } from './contract.ts';
import type { CallOptions } from '../tool.ts';
import { BaseParser, JsonParser, ParseError, type ActionArguments, type ParserClass } from './parsers.ts';

/** The options of every action. */
export interface ActionOptions {
  /** Replaces the action's own description. */
  readonly description?: ActionDescription | null | undefined;
  /** Reads the arguments that a model writes; `JsonParser` by default. */
  readonly parser?: ParserClass | undefined;
  /** Whether models see the action and may call it; true by default. */
  readonly enable?: boolean | undefined;
}

/** Something that a model can do by name. A parser reads the arguments; the result is always an `ActionReturn`. */
export abstract class BaseAction {
  /** A disabled action is neither shown to models nor run for them. */
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

  /** Whether it has several calls, each with its own name. */
  get isToolkit(): boolean {
    return this.#description.api_list !== undefined;
  }

  get description(): ActionDescription {
    const { parameterDescription: hint } = this.#parser;
    const hinted = <T extends object>(api: T): T => (hint === '' ? api : { ...api, parameter_description: hint });
    const { api_list: list, ...rest } = this.#description;
    return list === undefined ? hinted(rest) : { ...rest, api_list: list.map(hinted) };
  }

  /** Runs one call. Invalid arguments and errors are part of what it returns. */
  async call(inputs: unknown, name = 'run', options: CallOptions = {}): Promise<ActionReturn> {
    const fallback = { args: { inputs, name }, type: this.name };
    if (!apisOf(this.#description).has(name)) {
      return new ActionReturn({ ...fallback, errmsg: `invalid API: ${name}`, state: ActionStatusCode.API_ERROR });
    }
    let args: ActionArguments;
    try {
      args = this.#parser.parseInputs(inputs, name);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      return new ActionReturn({ ...fallback, errmsg: error.message, state: ActionStatusCode.ARGS_ERROR });
    }
    return this.#run(name, args, options);
  }

  /** Implements the call of this name. A result that is not an `ActionReturn` is converted to one. */
  protected abstract perform(api: string, args: ActionArguments, options: CallOptions): unknown;

  async #run(name: string, args: ActionArguments, options: CallOptions): Promise<ActionReturn> {
    try {
      const output: unknown = await this.perform(name, args, options);
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

/** Returns an error message: the one that it is called with, or its own. */
class ErrorAction extends BaseAction {
  readonly #message: string;

  constructor(name: string, message: string, options: ActionOptions) {
    const parameter = { name: 'err_msg', type: 'STRING', description: 'The error message.' };
    const own = { name, description: 'Return the error message.', parameters: [parameter], required: [] };
    super(own, { parser: BaseParser, ...options, enable: false });
    this.#message = message;
  }

  protected override perform(_: string, { err_msg: given }: ActionArguments): ActionReturn {
    return new ActionReturn({
      args: { text: given },
      type: this.name,
      errmsg: typeof given === 'string' && given !== '' ? given : this.#message,
      valid: ActionValidCode.INVALID,
      state: ActionStatusCode.API_ERROR,
    });
  }
}

/** Used when no action has the name that the model gave. */
export class InvalidAction extends ErrorAction {
  constructor(message = 'The action is invalid, please check the action name.', options: ActionOptions = {}) {
    super('InvalidAction', message, options);
  }
}

/** Used when a reply of the model contains no action. */
export class NoAction extends ErrorAction {
  constructor(message = 'Please follow the format', options: ActionOptions = {}) {
    super('NoAction', message, options);
  }
}

/** Ends a conversation with its final result. */
export class FinishAction extends BaseAction {
  constructor(options: ActionOptions = {}) {
    const response = { name: 'response', type: 'STRING', description: 'The final result.' };
    const own = {
      name: 'FinishAction',
      description: 'Return the final result.',
      parameters: [response],
      required: ['response'],
    };
    super(own, { parser: BaseParser, ...options });
  }

  protected override perform(_: string, { response }: ActionArguments): ActionReturn {
    const content = String(response);
    return new ActionReturn({
      args: { text: response },
      type: this.name,
      result: [{ type: 'text', content }],
      valid: ActionValidCode.FINISH,
    });
  }
}
