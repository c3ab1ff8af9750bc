/**
 * The arguments of a call, each under its own name. `String()` gives what a person wants to read: the code if the tool
 * takes code, else JSON. `JSON.stringify` gives all arguments.
 */
export class ToolInput {
  readonly [argument: string]: unknown;

  constructor(args: Readonly<Record<string, unknown>>) {
    for (const [name, value] of Object.entries(args)) {
      // The model chooses the names: plain assignment would let `__proto__` through.
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  get codeText(): string | undefined {
    return codeIn(this);
  }

  toString(): string {
    return textOf(this);
  }

  /** Has precedence over `toString`, which an argument of that name would hide. */
  [Symbol.toPrimitive](): string {
    return textOf(this);
  }
}

/** ReAct models often write a single argument named `input`. */
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
