/** The types of what a program put into `results`, told by its own Python: JSON does not keep them. */
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';

/** The variable in which a probe leaves its answer: ask for it as `resultVariable`. */
export const TYPES_VARIABLE = '_vivarium_result_types';

const MAX_ANSWER_CHARS = 1_000_000;
const Name = z.string().max(400);

/** What a value is, and what is in it as far as was looked. */
export interface ActualType {
  /** The bare name of its class. */
  readonly type: string;
  readonly module: string;
  /** Its classes with their modules, from its own to `object`. */
  readonly mro: readonly string[];
  /** The different types among its keys, and among its items. */
  readonly keys?: readonly ActualType[] | undefined;
  readonly items?: readonly ActualType[] | undefined;
}

const ActualType: z.ZodType<ActualType> = z.lazy(() =>
  z.object({
    type: Name,
    module: Name,
    mro: z.array(Name).max(50),
    keys: z.array(ActualType).max(50).optional(),
    items: z.array(ActualType).max(50).optional(),
  }),
);

const ResultTypes = z.object({ results: ActualType, names: z.record(z.string(), ActualType) });

/** Of `results` itself, and of what is in it by name. */
export type ResultTypes = Readonly<z.infer<typeof ResultTypes>>;

/**
 * Python to run in the session after the code. `source` is the text of `python/_vivarium/payloads/result_types.py`; it gets a
 * namespace of its own, since programs like to call their variables `list`, `type` or `sum`.
 */
export function typesProbe(source: string, names: readonly string[]): string {
  const asked = JSON.stringify(names.map((name) => name.toWellFormed()));
  const run = `python.exec(${JSON.stringify(source.toWellFormed())}, space)`;
  const call = `space["result_types"](python.globals().get("results"), ${asked})`;
  return `${TYPES_VARIABLE} = (lambda python, space: (${run}, ${call})[1])(__import__("builtins"), {"__name__": "result_types"})`;
}

/** Undefined when the answer is no good: the program is free to spoil it, and only fools itself. */
export function parseTypes(answer: Json | undefined): ResultTypes | undefined {
  if (typeof answer !== 'string' || answer.length > MAX_ANSWER_CHARS) return undefined;
  try {
    return ResultTypes.safeParse(JSON.parse(answer)).data;
  } catch {
    return undefined; // not JSON, or nested deeper than the stack
  }
}

const MAX_LISTED = 3;

/** As one says it: `list of str and int`, `pandas DataFrame`. */
export function describeActual({ type, module, items }: ActualType): string {
  const name = type === 'NoneType' ? 'None' : type;
  const [library = ''] = module.split('.');
  const full = library === 'builtins' || library === '__main__' || library === name ? name : `${library} ${name}`;
  if (items === undefined || items.length === 0) return full;
  const kinds = [...new Set(items.map((item) => (item.type === 'NoneType' ? 'None' : item.type)))];
  const more = kinds.length > MAX_LISTED ? ' and others' : '';
  return `${full} of ${kinds.slice(0, MAX_LISTED).join(' and ')}${more}`;
}
