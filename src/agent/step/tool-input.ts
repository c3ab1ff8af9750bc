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
    return codeIn(this) ?? JSON.stringify(this);
  }

  /** Asked before `toString`, which an argument may hide. */
  [Symbol.toPrimitive](): string {
    return codeIn(this) ?? JSON.stringify(this);
  }
}

function codeIn(args: ToolInput): string | undefined {
  const code = Object.getOwnPropertyDescriptor(args, 'code')?.value as unknown;
  return typeof code === 'string' ? code : undefined;
}
