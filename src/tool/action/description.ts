/** What a model is told of an action, in the words of the wire. */
export interface ActionDescription extends ApiDescription {
  /** For one that has several calls: each with its own parameters. */
  readonly api_list?: readonly ApiDescription[];
}

export interface ApiDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly ActionParameter[];
  readonly required: readonly string[];
  /** How arguments are to be written. */
  readonly parameter_description?: string;
  readonly return_data?: readonly ActionParameter[];
}

export interface ActionParameter {
  readonly name: string;
  /** `STRING`, `NUMBER`, `FLOAT`, `BOOLEAN` or `Array`. */
  readonly type: string;
  readonly description: string;
}

/** The calls of an action by name; the only one of a plain action is `run`. */
export function apisOf(description: ActionDescription): ReadonlyMap<string, ApiDescription> {
  const { api_list: list } = description;
  return new Map(list === undefined ? [['run', description]] : list.map((api) => [api.name, api]));
}
