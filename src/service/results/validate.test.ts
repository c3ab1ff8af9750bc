import { expect, test } from 'vitest';
import type { ActualType, ResultTypes } from './actual-type.ts';
import { parseTypes } from './actual-type.ts';
import { parseExpectedType } from './expected-type.ts';
import { validateResults } from './validate.ts';

const builtin = (type: string, inside: Partial<ActualType> = {}): ActualType => ({
  type,
  module: 'builtins',
  mro: [`builtins.${type}`, ...(type === 'bool' ? ['builtins.int'] : []), 'builtins.object'],
  ...inside,
});
const ofDict = (names: Record<string, ActualType>): ResultTypes => ({ results: builtin('dict'), names });

test('U-33 what is missing or of another type is told so that the next code can mend it', () => {
  const types = ofDict({
    trends: builtin('str'),
    statistics: builtin('dict'),
    rates: builtin('list', { items: [builtin('str'), builtin('int')] }),
  });
  const { results, problems } = validateResults(
    { trends: 'up', statistics: {}, rates: ['a', 1] },
    { statistics: 'dict', trends: 'list', visualizations: 'list', rates: 'list[float]' },
    { types },
  );
  expect(results).toEqual({ trends: 'up', statistics: {}, rates: ['a', 1] });
  expect(problems).toEqual([
    'results["trends"] is a str, expected list.',
    'results["visualizations"] is missing; it must be list.',
    'results["rates"] is a list of str and int, expected list[float].',
  ]);
});

test('O-99 no results, None, and anything but a dictionary are problems', () => {
  expect(validateResults(undefined, {}).problems[0]).toMatch(/without a variable `results`/);
  expect(validateResults(null, {}).problems[0]).toMatch(/is None/);
  expect(validateResults([1], {}).problems[0]).toMatch(/it is a list/);
  expect(validateResults('text', {}).problems[0]).toMatch(/it is a string/);
  expect(validateResults({ _type: 'set', items: [] }, {}).problems[0]).toMatch(/it is a set/);
  const table = { results: { ...builtin('DataFrame'), module: 'pandas' }, names: {} };
  expect(validateResults({ x: [1] }, {}, { types: table }).problems[0]).toMatch(/it is a DataFrame/);
  expect(validateResults({}, {}).problems).toEqual([]);
});

test('a dictionary with other keys is refused, one with a key _type is read', () => {
  expect(validateResults({ _type: 'dict', items: [[1, 'a']] }, {}).problems[0]).toMatch(/keys that are not text/);
  const { results, problems } = validateResults(
    {
      _type: 'dict',
      items: [
        ['_type', 'beam'],
        ['x', 1],
      ],
    },
    { x: 'int' },
  );
  expect(problems).toEqual([]);
  expect(results).toEqual({ _type: 'beam', x: 1 });
});

test('names that every object has are missing unless they are there', () => {
  expect(validateResults({}, { constructor: 'dict', __proto__x: 'any' }, { types: ofDict({}) }).problems).toHaveLength(
    2,
  );
});

test('what was cut is a problem where it was asked for and else noted, and too many results are refused', () => {
  const cut = { _type: 'truncated', type: 'list', length: 9, shown: 1, value: [1] };
  expect(validateResults({ rows: { inner: [0, cut] } }, {})).toMatchObject({
    problems: [],
    notes: ['results["rows"]["inner"][1] is too large and was truncated.'],
  });
  expect(validateResults({ rows: { inner: cut } }, { rows: 'dict' }, { maxMb: 3 })).toMatchObject({
    problems: [
      expect.stringMatching(/^results\["rows"\]\["inner"\] is too large: all of `results` may be 3 MB as JSON/),
    ],
    notes: [],
  });
  expect(validateResults({ ...cut, type: 'dict', value: {} }, {}).problems[0]).toMatch(/too large/);
});

test('O-97 moments are plain text in the results', () => {
  const moment = { _type: 'datetime', value: '2024-07-01T12:00:00' };
  const { results } = validateResults({ when: moment, list: [moment, { _type: 'complex', real: 1, imag: 2 }] }, {});
  expect(results).toEqual({
    when: '2024-07-01T12:00:00',
    list: ['2024-07-01T12:00:00', { _type: 'complex', real: 1, imag: 2 }],
  });
});

test('words that are no type are only looked for', () => {
  const { problems, notes } = validateResults({ a: 1 }, { a: 'summary of the data', b: 'a nice list' });
  expect(problems).toEqual(['results["b"] is missing; it must be a nice list.']);
  expect(notes[0]).toMatch(/not a type that can be checked/);
});

test.for([
  ['dict', { a: 1 }, true],
  ['dict', [1], false],
  ['dict[str, float]', { a: 1 }, true],
  ['dict[str, float]', { a: 'x' }, false],
  ['list', [1], true],
  ['list', { a: 1 }, false],
  ['list[int]', [1, 1.5], false],
  ['List[Dict[str, Any]]', [{ a: 1 }], true],
  ['str', 'x', true],
  ['str', 1, false],
  ['int', 3, true],
  ['int', 3.5, false],
  ['int', true, false],
  ['int', { _type: 'int', value: '9007199254740993' }, true],
  ['float', 3, true],
  ['float', { _type: 'float', value: 'NaN' }, true],
  ['number', 'x', false],
  ['bool', 1, false],
  ['None', null, true],
  ['Optional[int]', null, true],
  ['int | str', 'x', true],
  ['Union[int, str]', [], false],
  ['set', { _type: 'set', items: [] }, true],
  ['tuple', [1], true],
  ['datetime', { _type: 'datetime', value: '2024-01-01' }, true],
  ['datetime', '2024', false],
  ['pandas.DataFrame', { x: [1, 2] }, true],
  ['pandas.DataFrame', { x: 1 }, false],
  ['pandas.DataFrame', [1], false],
  ['pd.Series', [1], true],
  ['numpy.ndarray', 'x', false],
  ['any', 'x', true],
] as const)('without word from Python, %s and %j: %s', ([type, value, isFine]) => {
  const expected = parseExpectedType(type);
  expect(expected).toBeDefined();
  expect(validateResults({ a: value }, { a: type }).problems.length === 0).toBe(isFine);
});

test.for([
  '',
  '[',
  'list[',
  'list[int',
  'list of str',
  'int |',
  '| int',
  'Optional[',
  '123',
  'a, b',
  'x'.repeat(600),
  'list['.repeat(60),
])('%j is no type', (text) => {
  expect(parseExpectedType(text)).toBeUndefined();
});

test('an answer that a program spoilt counts as none', () => {
  const good = JSON.stringify(ofDict({ a: builtin('int') }));
  expect(parseTypes(good)).toEqual(ofDict({ a: builtin('int') }));
  for (const answer of [
    undefined,
    null,
    5,
    '',
    '{',
    '[]',
    '{"results":1,"names":{}}',
    '['.repeat(100_000),
    'x'.repeat(2_000_000),
    { results: 1 },
  ]) {
    expect(parseTypes(answer)).toBeUndefined();
  }
});
