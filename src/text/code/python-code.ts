/** Python built from values. Nothing is ever quoted by hand: a JSON string is a Python string literal too. */
import { VivariumError } from '../../errors.ts';
import type { Json } from '../../execution/execution.ts';

/** Python's own rule: `x²` is no name. The four excluded characters are part of names only since Unicode 15.1. */
const NAME = /^[\p{XID_Start}_](?:(?!\u200C|\u200D|\u30FB|\uFF65)\p{XID_Continue})*$/u;

/** A literal for a text, whatever is in it. */
export function pythonString(text: string): string {
  return JSON.stringify(text);
}

/** An expression for a JSON value. */
export function pythonValue(value: Json): string {
  return `__import__("json").loads(${pythonString(JSON.stringify(value))})`;
}

/** A statement that sets a variable; the name is checked, as callers may have it from outside. */
export function assign(name: string, expression: string): string {
  if (NAME.test(name)) return `${name} = ${expression}`;
  throw new VivariumError(
    'CONFIG_INVALID',
    `"${name}" cannot be the name of a Python variable. Use letters, digits and "_".`,
  );
}

/** A statement that makes a directory the current one. */
export function changeDirectory(directory: string): string {
  return `__import__("os").chdir(${pythonString(directory)})`;
}

export interface SourceRun {
  readonly source: string;
  /** What the source sees as its `__name__`. */
  readonly name: string;
  /** What tracebacks show in place of a file. */
  readonly file?: string;
  /** An expression over `names`, the namespace that the source has filled. */
  readonly result: string;
}

/** An expression that runs a source in a namespace of its own, and so leaves no name behind in that of the program. */
export function runSource({ source, name, file = `<${name}>`, result }: SourceRun): string {
  const run = `exec(compile(${pythonString(source)}, ${pythonString(file)}, "exec"), names)`;
  return `(lambda names: (${run}, ${result})[1])({"__name__": ${pythonString(name)}})`;
}
