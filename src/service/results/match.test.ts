/** Expected types against the types of real Python values. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPayload } from '../../engine/python-files.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import {
  describeActual,
  parseTypes,
  typesProbe,
  TYPES_VARIABLE,
  type ActualType,
  type ResultTypes,
} from './actual-type.ts';
import { parseExpectedType, type ExpectedType } from './expected-type.ts';
import { couldBe, matches } from './match.ts';

/** A value of each kind, as Python code. */
const VALUES = {
  none: 'None',
  text: '"x"',
  int: '3',
  float: '1.5',
  bool: 'True',
  dict: '{"a": 1}',
  intKeys: '{1: "a"}',
  empty: '[]',
  ints: '[1, 2]',
  mixed: '[1, "a", None, 2.5]',
  three: '[1, "a", None]',
  rows: '[{"a": 1.5}, {"b": 2}]',
  tuple: '(1, "a")',
  set: '{1, 2}',
  frozen: 'frozenset({1})',
  bytes: 'b"x"',
  complex: '1j',
  decimal: 'decimal.Decimal("1.5")',
  fraction: 'fractions.Fraction(1, 2)',
  moment: 'datetime.datetime(2024, 7, 1)',
  date: 'datetime.date(2024, 7, 1)',
  delta: 'datetime.timedelta(1)',
  path: 'pathlib.Path("x")',
  npInt: 'numpy.int64(3)',
  npFloat: 'numpy.float32(1.5)',
  npBool: 'numpy.bool_(True)',
  npMoment: 'numpy.datetime64("2024-07-01")',
  array: 'numpy.array([1.0, 2.0])',
  frame: 'pandas.DataFrame({"x": [1]})',
  series: 'pandas.Series([1.0])',
  stamp: 'pandas.Timestamp("2024-07-01")',
  ordered: 'collections.OrderedDict(a=1)',
  counter: 'collections.Counter("aab")',
  point: 'collections.namedtuple("Point", "x y")(1, 2)',
  own: 'type("Beam", (), {})()',
} as const;
type ValueName = keyof typeof VALUES;

let host: Host;
let types: ResultTypes;
beforeAll(async () => {
  host = await createHost({ preload: [] });
  await using session = await host.createSession();
  const imports = 'import collections, datetime, decimal, fractions, numpy, pandas, pathlib';
  const members = Object.entries(VALUES).map(([name, code]) => `"${name}": ${code}`);
  await session.runCode(`${imports}\nresults = {${members.join(', ')}}\nlist = type = sum = len = None`);
  const probe = typesProbe(await readPayload('result_types'), Object.keys(VALUES));
  const { value } = await session.runCode(probe, { resultVariable: TYPES_VARIABLE });
  types = parseTypes(value) ?? assert.fail('no types');
});
afterAll(() => host?.close());

function typeOf(name: ValueName): ActualType {
  return types.names[name] ?? assert.fail(name);
}

function expected(text: string): ExpectedType {
  return parseExpectedType(text) ?? assert.fail(text);
}

/** For each expected type, all of the values above that are of it. Every other value is not. */
const OF_TYPE: readonly (readonly [type: string, values: readonly ValueName[]])[] = [
  ['None', ['none']],
  ['str', ['text']],
  ['int', ['int', 'npInt']],
  ['float', ['int', 'float', 'npInt', 'npFloat']],
  ['number', ['int', 'float', 'npInt', 'npFloat', 'decimal', 'fraction']],
  ['bool', ['bool', 'npBool']],
  ['dict', ['dict', 'intKeys', 'ordered', 'counter']],
  ['dict[str, int]', ['dict', 'ordered', 'counter']],
  ['dict[int, str]', ['intKeys']],
  ['dict[str, str]', []],
  ['list', ['empty', 'ints', 'mixed', 'three', 'rows']],
  ['list[int]', ['empty', 'ints']],
  ['list[int | str | None | float]', ['empty', 'ints', 'mixed', 'three']],
  ['list[dict[str, float]]', ['empty', 'rows']],
  ['tuple', ['tuple', 'point']],
  ['tuple[int, str]', ['tuple', 'point']],
  ['tuple[int, ...]', ['point']],
  ['set', ['set', 'frozen']],
  ['set[str]', []],
  ['frozenset', ['frozen']],
  ['bytes', ['bytes']],
  ['complex', ['complex']],
  ['datetime', ['moment', 'stamp', 'npMoment']],
  ['date', ['moment', 'stamp', 'date']],
  ['timedelta', ['delta']],
  ['Path', ['path']],
  ['pandas.DataFrame', ['frame']],
  ['pd.Series', ['series']],
  ['np.ndarray', ['array']],
  ['sequence', ['empty', 'ints', 'mixed', 'three', 'rows', 'tuple', 'point', 'array', 'series']],
  ['Optional[int]', ['none', 'int', 'npInt']],
  ['str | bytes', ['text', 'bytes']],
  ['Beam', ['own']],
  ['collections.OrderedDict', ['ordered']],
  ['Counter', ['counter']],
  ['decimal.Decimal', ['decimal']],
  ['numpy.Decimal', []],
  ['any', Object.keys(VALUES) as ValueName[]],
];

describe('By the types that Python reports', () => {
  test.for(OF_TYPE)('%s is each of %j and nothing else', ([type, values]) => {
    const found = (Object.keys(VALUES) as ValueName[]).filter((name) => matches(expected(type), typeOf(name)));
    expect(found).toEqual((Object.keys(VALUES) as ValueName[]).filter((name) => values.includes(name)));
  });

  test('results are a dictionary, whatever names the program overwrote', () => {
    expect(types.results.mro).toContain('builtins.dict');
    expect(Object.keys(types.names)).toEqual(Object.keys(VALUES));
  });

  test.for<[ValueName, string]>([
    ['none', 'None'],
    ['ints', 'list of int'],
    ['mixed', 'list of int and str and None and others'],
    ['three', 'list of int and str and None'],
    ['empty', 'list'],
    ['frame', 'pandas DataFrame'],
    ['array', 'numpy ndarray'],
    ['own', 'Beam'],
    ['decimal', 'decimal Decimal'],
    ['moment', 'datetime'],
  ])('%s is described as %s', ([name, text]) => {
    expect(describeActual(typeOf(name))).toBe(text);
  });
});

describe('An expected type', () => {
  test.for([
    ['Dictionary', 'dict'],
    ['mapping', 'dict'],
    ['typing.List', 'list'],
    ['t.List', 'list'],
    ['builtins.int', 'int'],
    ['STRING', 'str'],
    ['DataFrame', 'pandas.DataFrame'],
    ['np.array', 'numpy.ndarray'],
    ['pd.Timestamp', 'datetime'],
    ['NoneType', 'none'],
    ['my.module.Thing', 'my.module.Thing'],
  ] as const)('%s is read as %s', ([text, name]) => {
    expect(expected(text)).toEqual({ kind: 'class', name, parameters: [] });
  });

  test('keeps the order of its alternatives, and one alternative is that type', () => {
    expect(expected('Union[str, int]')).toEqual(expected('str | int'));
    expect(expected('Union[str]')).toEqual(expected('str'));
    expect(expected('Optional[str]')).toEqual(expected('str | None'));
    expect(expected('tuple[int, ...]')).toEqual(expected('tuple[int]'));
  });

  test('may be nested ten times, and have 500 characters', () => {
    expect(parseExpectedType(`${'list['.repeat(10)}int${']'.repeat(10)}`)).toBeDefined();
    expect(parseExpectedType(`${'list['.repeat(11)}int${']'.repeat(11)}`)).toBeUndefined();
    expect(parseExpectedType(`int${' '.repeat(497)}`)).toBeDefined();
    expect(parseExpectedType(`int${' '.repeat(498)}`)).toBeUndefined();
  });

  test('is not a word in lower case that Python does not know', () => {
    for (const text of ['summary', 'list[summary]', 'int | thing', 'int]', 'list[int]]', 'list[]', 'int str']) {
      expect(parseExpectedType(text), text).toBeUndefined();
    }
  });
});

describe('By the encoded value alone', () => {
  const cut = (type: string) => ({ _type: 'truncated', type });

  test.for([
    ['str', cut('str'), true],
    ['list', cut('list'), true],
    ['list', cut('dict'), false],
    ['dict', cut('dict'), true],
    ['dict', { _type: 'set', items: [] }, false],
    ['set', { _type: 'frozenset', items: [] }, true],
    ['set', [1], false],
    ['tuple', { x: 1 }, true],
    ['tuple', 'x', false],
    ['tuple', null, false],
    ['float', { _type: 'int', value: '1' }, true],
    ['float', { _type: 'decimal', value: '1' }, false],
    ['number', { _type: 'fraction', value: '1/2' }, true],
    ['bool', true, true],
    ['none', 0, false],
    ['datetime', { _type: 'datetime64', value: 'x' }, true],
    ['pandas.DataFrame', { _type: 'DataFrame' }, true],
    ['pandas.DataFrame', {}, true],
    ['pandas.Series', { _type: 'Series' }, true],
    ['pandas.Series', { a: 1 }, false],
    ['numpy.ndarray', { _type: 'ndarray' }, true],
    ['my.Thing', 5, true],
    ['list[int]', [...Array.from({ length: 1000 }, () => 1), 'x'], true],
    ['list[int]', [...Array.from({ length: 999 }, () => 1), 'x'], false],
    ['dict[str, int]', { a: 'x' }, false],
    ['dict[str]', { a: 'x' }, true],
    ['dict[str, int]', { _type: 'dict', items: [['a', 'x']] }, true],
  ] as const)('%s could be %j: %s', ([type, value, could]) => {
    expect(couldBe(expected(type), value as never)).toBe(could);
  });
});
