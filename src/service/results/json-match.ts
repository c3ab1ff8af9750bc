/** Whether an encoded value can have been of a type, when Python has not told: docs/values.md has what becomes what. */
import type { Json } from '../../execution/execution.ts';
import type { ExpectedType } from './expected-type.ts';

const LOOKED_AT = 1000;

type JsonObject = Readonly<Record<string, Json>>;
type ExpectedClass = Extract<ExpectedType, { kind: 'class' }>;

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
      return isObject(value) && (tag === undefined || tag === 'dict');
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
    const items = (value as readonly Json[]).slice(0, LOOKED_AT);
    return items.every((item) => parameters.some((parameter) => couldBe(parameter, item)));
  }
  const [, ofItems] = parameters;
  if (name !== 'dict' || ofItems === undefined || !isObject(value) || tagOf(value) !== undefined) return true;
  return Object.values(value)
    .slice(0, LOOKED_AT)
    .every((item) => couldBe(ofItems, item));
}

/** What a tagged value says that it is; of one that was cut, what it was. */
function tagOf(value: Json): string | undefined {
  if (!isObject(value)) return undefined;
  const tag = value['_type'] === 'truncated' ? value['type'] : value['_type'];
  return typeof tag === 'string' ? tag : undefined;
}

function isTable(value: Json): boolean {
  return isObject(value) && Object.values(value).every((column) => Array.isArray(column));
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
