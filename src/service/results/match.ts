import type { ActualType } from './actual-type.ts';
import type { ExpectedType } from './expected-type.ts';

type ExpectedClass = Extract<ExpectedType, { kind: 'class' }>;

/** Which classes count as what; where whole numbers and fractions are meant, those of numpy are as good as Python's. */
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  none: ['builtins.NoneType'],
  str: ['builtins.str'],
  int: ['builtins.int', 'numpy.integer'],
  float: ['builtins.float', 'builtins.int', 'numpy.floating', 'numpy.integer'],
  number: [
    'builtins.float',
    'builtins.int',
    'numpy.floating',
    'numpy.integer',
    'decimal.Decimal',
    'fractions.Fraction',
  ],
  bool: ['builtins.bool', 'numpy.bool', 'numpy.bool_'],
  dict: ['builtins.dict'],
  list: ['builtins.list'],
  tuple: ['builtins.tuple'],
  set: ['builtins.set', 'builtins.frozenset'],
  datetime: ['datetime.datetime', 'numpy.datetime64'],
};

/** To Python `True` is a whole number; to whoever asks for one it is not. */
const NEVER_BOOL = new Set(['int', 'float', 'number']);

/** Whether a value of this type is what was expected. What was not looked at is taken on trust. */
export function matches(expected: ExpectedType, actual: ActualType): boolean {
  switch (expected.kind) {
    case 'any':
      return true;
    case 'union':
      return expected.members.some((member) => matches(member, actual));
    case 'class':
      return isOf(expected, actual) && holds(expected, actual);
  }
}

function isOf({ name }: ExpectedClass, { mro }: ActualType): boolean {
  if (NEVER_BOOL.has(name) && mro.includes('builtins.bool')) return false;
  const classes = CLASSES[name] ?? [name];
  return classes.some((wanted) => mro.some((given) => isSameClass(wanted, given)));
}

/** `pandas.DataFrame` is `pandas.core.frame.DataFrame`: libraries move their classes about. A bare name says no library. */
function isSameClass(wanted: string, given: string): boolean {
  const from = wanted.split('.');
  const at = given.split('.');
  return from.at(-1) === at.at(-1) && (from.length === 1 || from[0] === at[0]);
}

/** `tuple[int, str]` says which types may be in it; their order is not looked at. */
function holds({ name, parameters }: ExpectedClass, { keys, items }: ActualType): boolean {
  const [first, second] = parameters;
  if (first === undefined) return true;
  if (name !== 'dict') return every(items, parameters);
  return every(keys, [first]) && (second === undefined || every(items, [second]));
}

function every(found: readonly ActualType[] | undefined, allowed: readonly ExpectedType[]): boolean {
  return found === undefined || found.every((type) => allowed.some((one) => matches(one, type)));
}
