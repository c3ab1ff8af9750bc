import { ActionReturn, ActionStatusCode, ActionValidCode } from './action-return.ts';
import { BaseAction, type ActionOptions } from './base-action.ts';
import type { ActionDescription } from './description.ts';
import { BaseParser, type Arguments } from './parsers.ts';

/** Answers to a name that no action has. */
export class InvalidAction extends BaseAction {
  readonly #message: string;

  constructor(message = 'The action is invalid, please check the action name.', options: ActionOptions = {}) {
    super(describeComplaint('InvalidAction'), { parser: BaseParser, ...options, enable: false });
    this.#message = message;
  }

  protected override perform(_: string, { err_msg: message }: Arguments): ActionReturn {
    return complain(this.name, message, this.#message);
  }
}

/** Answers to a reply that has no action in it. */
export class NoAction extends BaseAction {
  readonly #message: string;

  constructor(message = 'Please follow the format', options: ActionOptions = {}) {
    super(describeComplaint('NoAction'), { parser: BaseParser, ...options, enable: false });
    this.#message = message;
  }

  protected override perform(_: string, { err_msg: message }: Arguments): ActionReturn {
    return complain(this.name, message, this.#message);
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

  protected override perform(_: string, { response }: Arguments): ActionReturn {
    const content = String(response);
    return new ActionReturn({
      args: { text: response },
      type: this.name,
      result: [{ type: 'text', content }],
      valid: ActionValidCode.FINISH,
    });
  }
}

function describeComplaint(name: string): ActionDescription {
  const message = { name: 'err_msg', type: 'STRING', description: 'The error message.' };
  return { name, description: 'Return the error message.', parameters: [message], required: [] };
}

function complain(type: string, given: unknown, own: string): ActionReturn {
  return new ActionReturn({
    args: { text: given },
    type,
    errmsg: typeof given === 'string' && given !== '' ? given : own,
    valid: ActionValidCode.INVALID,
    state: ActionStatusCode.API_ERROR,
  });
}
