/** How an action ended. */
export const ActionStatusCode = { ING: 1, SUCCESS: 0, HTTP_ERROR: -1000, ARGS_ERROR: -1001, API_ERROR: -1002 } as const;
export type ActionStatusCode = (typeof ActionStatusCode)[keyof typeof ActionStatusCode];

/** What an action means for the conversation. */
export const ActionValidCode = { FINISH: 1, OPEN: 0, CLOSED: -1, INVALID: -2, ABSENT: -3 } as const;
export type ActionValidCode = (typeof ActionValidCode)[keyof typeof ActionValidCode];

/** A part of a result: text as it is, or the path of an image or of another file. */
export type ActionItem = { readonly type: string; readonly content: string };

/** What an action gave: items in order, or what went wrong. */
export class ActionReturn {
  args: Readonly<Record<string, unknown>> | null = null;
  url: string | null = null;
  type: string | null = null;
  result: readonly ActionItem[] | null = null;
  errmsg: string | null = null;
  state: ActionStatusCode = ActionStatusCode.SUCCESS;
  thought: string | null = null;
  valid: ActionValidCode = ActionValidCode.OPEN;
  /** Which walls there were, where they are weaker than the usual ones. */
  declare isolation?: string;

  constructor(fields: Partial<Omit<ActionReturn, 'formatResult' | 'format_result'>> = {}) {
    Object.assign(this, fields);
  }

  /** The items as one text, which a model sees. */
  formatResult(): string {
    const items = this.result ?? [];
    return items.map(({ type, content }) => (type === 'text' ? content : `[${type}](${content})`)).join('\n');
  }

  format_result(): string {
    return this.formatResult();
  }
}
