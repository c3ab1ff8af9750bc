/**
 * The arguments of a call, each under its own name, as the model sent them. As a string they are what a person wants to
 * read: the code for a tool that takes code, else JSON. `JSON.stringify` gives the arguments.
 */
export class ToolInput {
  readonly [argument: string]: unknown;

  constructor(args: Readonly<Record<string, unknown>>) {
    for (const [name, value] of Object.entries(args)) {
      // Names are the model's choice: plain assignment would let `__proto__` through.
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  get codeText(): string | undefined {
    return codeIn(this);
  }

  toString(): string {
    return textOf(this);
  }

  /** Asked before `toString`, which an argument may hide. */
  [Symbol.toPrimitive](): string {
    return textOf(this);
  }
}

/** Agents that write text call all that they tell a tool its `input`. */
function textOf(args: ToolInput): string {
  const isAlone = Object.keys(args).length === 1;
  return codeIn(args) ?? (isAlone ? stringIn(args, 'input') : undefined) ?? JSON.stringify(args);
}

function codeIn(args: ToolInput): string | undefined {
  return stringIn(args, 'code');
}

function stringIn(args: ToolInput, name: string): string | undefined {
  const value = Object.getOwnPropertyDescriptor(args, name)?.value as unknown;
  return typeof value === 'string' ? value : undefined;
}
