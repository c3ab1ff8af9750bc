import { apisOf, type ActionDescription, type ActionItem, type ApiDescription } from './contract.ts';
import { readPythonTuple } from './python-literal.ts';

/** The arguments are invalid; the message is for the model. */
export class ParseError extends Error {
  override readonly name = 'ParseError';
}

export type ActionArguments = Readonly<Record<string, unknown>>;
export type ParserClass = new (description: ActionDescription) => BaseParser;

/** Takes the whole input as the first argument. */
export class BaseParser {
  /** How a model has to write the arguments; empty if there is no rule. */
  readonly parameterDescription: string = '';
  readonly #apis: ReadonlyMap<string, ApiDescription>;

  constructor(description: ActionDescription) {
    this.#apis = apisOf(description);
    for (const { name, parameters, required } of this.#apis.values()) {
      const unknown = required.filter((one) => !parameters.some((parameter) => parameter.name === one));
      if (unknown.length > 0) throw new TypeError(`unknown parameters for function "${name}": ${setOf(unknown)}`);
    }
  }

  parseInputs(inputs: unknown, name = 'run'): ActionArguments {
    const [first] = this.namesOf(name);
    return first === undefined ? {} : { [first]: inputs };
  }

  /** Converts the result of a plain function to items. */
  parseOutputs(outputs: unknown): ActionItem[] {
    return [{ type: 'text', content: typeof outputs === 'string' ? outputs : (JSON.stringify(outputs) ?? 'None') }];
  }

  protected namesOf(api: string): string[] {
    return this.#apis.get(api)?.parameters.map(({ name }) => name) ?? [];
  }

  protected requiredOf(api: string): readonly string[] {
    return this.#apis.get(api)?.required ?? [];
  }
}

const FENCED = /^\s*(?:```json\n)?(.*)\n```\s*$/s;

/** Takes an object, or JSON text with or without a fence around it. */
export class JsonParser extends BaseParser {
  override readonly parameterDescription =
    'If you call this tool, you must pass arguments in the JSON format {key: value}, where the key is the parameter name.';

  override parseInputs(inputs: unknown, name = 'run'): ActionArguments {
    const given = isRecord(inputs) ? inputs : readJson(inputs);
    const keys = Object.keys(given);
    const known = this.namesOf(name);
    const unknown = keys.filter((key) => !known.includes(key));
    if (unknown.length > 0) throw new ParseError(`unknown arguments: ${setOf(unknown)}`);
    const missing = this.requiredOf(name).filter((key) => !keys.includes(key));
    if (missing.length > 0) throw new ParseError(`missing required arguments: ${setOf(missing)}`);
    return given;
  }
}

/** Takes arguments by position: an array, or a Python tuple as text. */
export class TupleParser extends BaseParser {
  override readonly parameterDescription =
    'If you call this tool, you must pass arguments in the tuple format like (arg1, arg2, arg3), and the arguments are ordered.';

  override parseInputs(inputs: unknown, name = 'run'): ActionArguments {
    const items: readonly unknown[] | null = Array.isArray(inputs) ? inputs : readPythonTuple(String(inputs));
    if (items === null) throw new ParseError(`invalid tuple format: ${String(inputs)}`);
    const names = this.namesOf(name);
    const required = this.requiredOf(name).length;
    if (items.length < required) {
      throw new ParseError(`API takes ${required} required positional arguments but ${items.length} were given`);
    }
    if (items.length > names.length) {
      throw new ParseError(`API takes ${names.length} positional arguments but ${items.length} were given`);
    }
    return Object.fromEntries(items.map((item, index) => [names[index] ?? '', item]));
  }
}

function readJson(inputs: unknown): ActionArguments {
  const text = String(inputs);
  const plain = FENCED.exec(text)?.[1]?.trim() ?? text;
  try {
    const value: unknown = JSON.parse(plain);
    if (isRecord(value)) return value;
  } catch {
    // Not JSON: reported below, like JSON that is not an object.
  }
  throw new ParseError(`invalid json format: ${plain}`);
}

function isRecord(value: unknown): value is ActionArguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As Python prints a set. */
function setOf(names: readonly string[]): string {
  return `{${names
    .toSorted()
    .map((name) => `'${name}'`)
    .join(', ')}}`;
}
