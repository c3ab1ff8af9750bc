import type { ActualType } from './actual-type.ts';
import type { ExpectedType } from './expected-type.ts';
import type { Json } from '../../execution/execution.ts';
import { isJsonObject } from '../api/result.ts';

type ExpectedClass = Extract<ExpectedType, { kind: 'class' }>;

/** The classes that count as each expected type. numpy's numbers count as Python's. */
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

/** In Python a bool is an int, but a request for a number does not mean a bool. */
const NEVER_BOOL = new Set(['int', 'float', 'number']);

/** Whether a value of this type is what was expected. Content that was not inspected counts as correct. */
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

/** `pandas.DataFrame` is `pandas.core.frame.DataFrame`: only library and class name count. A bare name matches any library. */
function isSameClass(wanted: string, given: string): boolean {
  const from = wanted.split('.');
  const at = given.split('.');
  return from.at(-1) === at.at(-1) && (from.length === 1 || from[0] === at[0]);
}

/** `tuple[int, str]` lists the allowed types. Their order is not checked. */
function holds({ name, parameters }: ExpectedClass, { keys, items }: ActualType): boolean {
  const [first, second] = parameters;
  if (first === undefined) return true;
  if (name !== 'dict') return every(items, parameters);
  return every(keys, [first]) && (second === undefined || every(items, [second]));
}

function every(found: readonly ActualType[] | undefined, allowed: readonly ExpectedType[]): boolean {
  return found === undefined || found.every((type) => allowed.some((one) => matches(one, type)));
}

const MAX_INSPECTED = 1000;

/** Same as `matches`, for when Python has not reported types: judges by the encoded value (see docs/values.md). */
export function couldBe(expected: ExpectedType, value: Json): boolean {
  switch (expected.kind) {
    case 'any':
      return true;
    case 'union':
      return expected.members.some((member) => couldBe(member, value));
    case 'class':
      return couldBeOf(expected, value) && couldHold(expected, value);
  }
}

function couldBeOf({ name }: ExpectedClass, value: Json): boolean {
  const tag = tagOf(value);
  switch (name) {
    case 'none':
      return value === null;
    case 'str':
      return typeof value === 'string' || tag === 'str';
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return Number.isInteger(value) || tag === 'int';
    case 'float':
      return typeof value === 'number' || tag === 'int' || tag === 'float';
    case 'number':
      return typeof value === 'number' || ['int', 'float', 'decimal', 'fraction'].includes(tag ?? '');
    case 'dict':
      return isJsonObject(value) && (tag === undefined || tag === 'dict');
    case 'list':
      return Array.isArray(value) || tag === 'list';
    case 'tuple': // a named one is an object
      return typeof value === 'object' && value !== null && (tag === undefined || tag === 'list');
    case 'set':
      return tag === 'set' || tag === 'frozenset';
    case 'datetime':
      return tag === 'datetime' || tag === 'datetime64';
    case 'pandas.DataFrame':
      return tag === 'DataFrame' || tag === 'dict' || (tag === undefined && isTable(value));
    case 'pandas.Series':
      return tag === 'Series' || Array.isArray(value);
    case 'numpy.ndarray':
      return tag === 'ndarray' || Array.isArray(value);
    default:
      return true;
  }
}

function couldHold({ name, parameters }: ExpectedClass, value: Json): boolean {
  if (parameters.length === 0) return true;
  if (Array.isArray(value)) {
    const items = (value as readonly Json[]).slice(0, MAX_INSPECTED);
    return items.every((item) => parameters.some((parameter) => couldBe(parameter, item)));
  }
  const [, ofItems] = parameters;
  if (name !== 'dict' || ofItems === undefined || !isJsonObject(value) || tagOf(value) !== undefined) return true;
  return Object.values(value)
    .slice(0, MAX_INSPECTED)
    .every((item) => couldBe(ofItems, item));
}

/** The tag of an encoded value. For a truncated value, the tag that it had. */
function tagOf(value: Json): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const tag = value['_type'] === 'truncated' ? value['type'] : value['_type'];
  return typeof tag === 'string' ? tag : undefined;
}

function isTable(value: Json): boolean {
  return isJsonObject(value) && Object.values(value).every((column) => Array.isArray(column));
}
