/** The Python types of the values in `results`, as the session reports them. JSON does not preserve them. */
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';

/** The variable that holds the probe's answer. Pass it as `resultVariable`. */
export const TYPES_VARIABLE = '_vivarium_result_types';

const MAX_ANSWER_CHARS = 1_000_000;
const Name = z.string().max(400);

/** The type of a value, and of as much of its content as was inspected. */
export interface ActualType {
  /** The name of its class, without the module. */
  readonly type: string;
  readonly module: string;
  /** Its classes with their modules, from its own class to `object`. */
  readonly mro: readonly string[];
  /** The distinct types of its keys and of its items. */
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

/** The type of `results` itself, and the types of its values by name. */
export type ResultTypes = Readonly<z.infer<typeof ResultTypes>>;

/**
 * Python code to run in the session after the program. `source` is the text of
 * `python/_vivarium/payloads/result_types.py`; it runs in its own namespace, since programs may have variables such as
 * `list`, `type` or `sum`.
 */
export function typesProbe(source: string, names: readonly string[]): string {
  const asked = JSON.stringify(names.map((name) => name.toWellFormed()));
  const run = `python.exec(${JSON.stringify(source.toWellFormed())}, space)`;
  const call = `space["result_types"](python.globals().get("results"), ${asked})`;
  return `${TYPES_VARIABLE} = (lambda python, space: (${run}, ${call})[1])(__import__("builtins"), {"__name__": "result_types"})`;
}

/** Undefined if the answer is invalid. A program can spoil it, but only to its own disadvantage. */
export function parseTypes(answer: Json | undefined): ResultTypes | undefined {
  if (typeof answer !== 'string' || answer.length > MAX_ANSWER_CHARS) return undefined;
  try {
    return ResultTypes.safeParse(JSON.parse(answer)).data;
  } catch {
    return undefined; // not JSON, or nested too deeply
  }
}

const MAX_LISTED = 3;

/** A readable description: `list of str and int`, `pandas DataFrame`. */
export function describeActual({ type, module, items }: ActualType): string {
  const name = type === 'NoneType' ? 'None' : type;
  const [library = ''] = module.split('.');
  const full = library === 'builtins' || library === '__main__' || library === name ? name : `${library} ${name}`;
  if (items === undefined || items.length === 0) return full;
  const kinds = [...new Set(items.map((item) => (item.type === 'NoneType' ? 'None' : item.type)))];
  const more = kinds.length > MAX_LISTED ? ' and others' : '';
  return `${full} of ${kinds.slice(0, MAX_LISTED).join(' and ')}${more}`;
}
