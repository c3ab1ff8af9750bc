/** Programs as lists of steps, each with what it does to a model of the session. */
import type { Json } from '../../../src/execution/execution.ts';
import { READ_STATE, readingOf, withFile, withoutFile, withoutVariable, withVariable, type State } from './state.ts';

/** The states that a step leads through, the last one being its result; or the exception that it raises instead. */
type Effect = readonly State[] | { readonly raises: string };

export interface Step {
  readonly code: string;
  /** The file that it opens for writing. That counts as a change even if the disk has no room for the content. */
  readonly path?: string;
  readonly effect: (state: State) => Effect;
  readonly prints?: (state: State) => string;
}

/** What a program does after its last step. */
export type Ending =
  | { readonly kind: 'succeeds' }
  | { readonly kind: 'raises'; readonly code: string; readonly name: string }
  /** It ends its own process, or is killed by the kernel. */
  | { readonly kind: 'dies'; readonly code: string }
  /** It never ends by itself. */
  | { readonly kind: 'lasts'; readonly code: string };

export interface Program {
  readonly code: string;
  /** For traces, if the code is too long. */
  readonly title?: string;
  readonly steps: readonly Step[];
  readonly ending: Ending;
  /** It consists of names and operators only, so that `rollback` does not count it. */
  readonly isLook: boolean;
  readonly resultVariable?: string;
  /** The value of the result variable. */
  readonly value?: (state: State) => Json | undefined;
  /** The text of the value of the last expression. */
  readonly shows?: (state: State) => string;
  /** It keeps the session from being protected for a while, which its receipt or the next one must say. */
  readonly isCrowding?: boolean;
}

/** A moment in the course of a program. */
export interface Moment {
  readonly state: State;
  readonly output: string;
}

export interface Course {
  /** In order; the first is the state before the program. */
  readonly moments: readonly Moment[];
  readonly end: 'succeeds' | 'dies' | 'lasts' | { readonly raises: string };
}

/** What a program does, step by step, when it begins in this state. */
export function follow({ steps, ending }: Pick<Program, 'steps' | 'ending'>, start: State): Course {
  const moments: Moment[] = [{ state: start, output: '' }];
  for (const step of steps) {
    const { state, output } = lastOf(moments);
    const effect = step.effect(state);
    if ('raises' in effect) return { moments, end: effect };
    for (const next of effect) moments.push({ state: next, output });
    moments.push({ state: lastOf(moments).state, output: output + (step.prints?.(state) ?? '') });
  }
  return { moments, end: ending.kind === 'raises' ? { raises: ending.name } : ending.kind };
}

/** The files that it may have opened for writing if it has not reached its end. */
export function openedBy({ steps }: Program): string[] {
  return steps.flatMap(({ path }) => path ?? []);
}

export function lastOf<T>(list: readonly T[]): T {
  const last = list.at(-1);
  if (last === undefined) throw new RangeError('an empty list has no last element');
  return last;
}

/** Changes a variable that must exist. */
export function change(name: string, code: string, how: (value: Json) => Json): Step {
  return {
    code,
    effect: (state) => {
      const value = state.variables[name];
      return value === undefined ? { raises: 'NameError' } : [withVariable(state, name, how(value))];
    },
  };
}

export function assign(name: string, code: string, ...values: readonly Json[]): Step {
  return {
    code: `${name} = ${code}`,
    effect: (state) => values.map((value) => withVariable(state, name, value)),
  };
}

export function remove(name: string): Step {
  return {
    code: `del ${name}`,
    effect: (state) =>
      Object.hasOwn(state.variables, name) ? [withoutVariable(state, name)] : { raises: 'NameError' },
  };
}

/** The file is empty for a moment: opening it comes before writing. */
export function writeFile(path: string, content: string): Step {
  return {
    code: `with open("${path}", "w") as _file: _file.write("${content}")`,
    path,
    effect: (state) => [withFile(state, path, ''), withFile(state, path, content)],
  };
}

export function appendToFile(path: string, content: string): Step {
  return {
    code: `with open("${path}", "a") as _file: _file.write("${content}")`,
    path,
    effect: (state) => {
      const before = state.files[path] ?? '';
      return [withFile(state, path, before), withFile(state, path, before + content)];
    },
  };
}

export function removeFile(path: string): Step {
  return {
    code: `import os as _os; _os.remove("${path}")`,
    effect: (state) =>
      Object.hasOwn(state.files, path) ? [withoutFile(state, path)] : { raises: 'FileNotFoundError' },
  };
}

export function print(name: string): Step {
  return {
    code: `print(${name}, flush=True)`,
    effect: (state) => (state.variables[name] === undefined ? { raises: 'NameError' } : []),
    prints: (state) => `${textOf(state.variables[name])}\n`,
  };
}

export function printMuch(letters: number): Step {
  const line = `${'y'.repeat(letters)}\n`;
  return { code: `print("y" * ${letters})`, effect: () => [], prints: () => line };
}

/** Time in which something can happen. */
export function pause(ms: number): Step {
  return { code: `import time as _time; _time.sleep(${ms / 1000})`, effect: () => [] };
}

/** Looks at a variable in a cell of nothing but its name. */
export function look(name: string): Program {
  const { effect } = print(name);
  return {
    code: name,
    steps: [{ code: name, effect }],
    ending: { kind: 'succeeds' },
    isLook: true,
    shows: (state) => textOf(state.variables[name]),
    resultVariable: name,
    value: (state) => state.variables[name],
  };
}

/** Reads everything back. */
export const READING: Program = {
  title: 'read back',
  code: READ_STATE,
  steps: [],
  ending: { kind: 'succeeds' },
  isLook: false,
  resultVariable: '_state',
  value: readingOf,
};

export function compose(steps: readonly Step[], ending: Ending, isCrowding = false): Program {
  const lines = steps.map(({ code }) => code);
  const code = [...lines, ...('code' in ending ? [ending.code] : [])].join('\n');
  return { code, steps, ending, isLook: false, isCrowding };
}

/** As Python writes numbers and lists of numbers. */
function textOf(value: Json | undefined): string {
  return Array.isArray(value) ? `[${value.map(textOf).join(', ')}]` : JSON.stringify(value);
}
