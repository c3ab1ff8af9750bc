/** What a model is told about an action, and what an action returns. The names are those of the wire. */

export interface ActionDescription extends ApiDescription {
  /** Set for an action with several calls: each call has its own parameters. */
  readonly api_list?: readonly ApiDescription[];
}

export interface ApiDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly ActionParameter[];
  readonly required: readonly string[];
  /** How a model has to write the arguments. */
  readonly parameter_description?: string;
  readonly return_data?: readonly ActionParameter[];
}

export interface ActionParameter {
  readonly name: string;
  /** `STRING`, `NUMBER`, `FLOAT`, `BOOLEAN` or `Array`. */
  readonly type: string;
  readonly description: string;
}

/** The calls of an action by name. A plain action has one, `run`. */
export function apisOf(description: ActionDescription): ReadonlyMap<string, ApiDescription> {
  const { api_list: list } = description;
  return new Map(list === undefined ? [['run', description]] : list.map((api) => [api.name, api]));
}

/** How an action ended. */
export const ActionStatusCode = { ING: 1, SUCCESS: 0, HTTP_ERROR: -1000, ARGS_ERROR: -1001, API_ERROR: -1002 } as const;
export type ActionStatusCode = (typeof ActionStatusCode)[keyof typeof ActionStatusCode];

/** What an action means for the conversation. */
export const ActionValidCode = { FINISH: 1, OPEN: 0, CLOSED: -1, INVALID: -2, ABSENT: -3 } as const;
export type ActionValidCode = (typeof ActionValidCode)[keyof typeof ActionValidCode];

/** One part of a result: text, or the path of an image or another file. */
export type ActionItem = { readonly type: string; readonly content: string };

/** The result of an action: items in order, or an error message. */
export class ActionReturn {
  args: Readonly<Record<string, unknown>> | null = null;
  url: string | null = null;
  type: string | null = null;
  result: readonly ActionItem[] | null = null;
  errmsg: string | null = null;
  state: ActionStatusCode = ActionStatusCode.SUCCESS;
  thought: string | null = null;
  valid: ActionValidCode = ActionValidCode.OPEN;
  /** The isolation level, where it is weaker than the usual one. */
  declare isolation?: string;

  constructor(fields: Partial<Omit<ActionReturn, 'formatResult' | 'format_result'>> = {}) {
    Object.assign(this, fields);
  }

  /** The items as one text, for a model. */
  formatResult(): string {
    const items = this.result ?? [];
    return items.map(({ type, content }) => (type === 'text' ? content : `[${type}](${content})`)).join('\n');
  }

  format_result(): string {
    return this.formatResult();
  }
}
