import { describe, expect, test } from 'vitest';
import { ConfigDocument } from './document.ts';

const ENVIRONMENT = { NAME: 'value', EMPTY: '', NUMBER: '8888', _x1: 'under', NESTED: '${NAME}' };

function valueOf(text: string): unknown {
  const document = new ConfigDocument(`key: ${JSON.stringify(text)}`, ENVIRONMENT);
  expect(document.problems).toEqual([]);
  return (document.content() as { key: unknown }).key;
}

function problemOf(text: string): string | undefined {
  return new ConfigDocument(`key: ${JSON.stringify(text)}`, ENVIRONMENT).problems[0]?.text;
}

describe('references to environment variables', () => {
  test.for([
    ['plain', 'plain'],
    ['${NAME}', 'value'],
    ['a ${NAME} b ${NAME}', 'a value b value'],
    ['${_x1}', 'under'],
    ['${NAME:-other}', 'value'],
    ['${MISSING:-other}', 'other'],
    ['${EMPTY:-other}', 'other'],
    ['${MISSING:-with spaces, :- and $}', 'with spaces, :- and $'],
    ['$${NAME}', '${NAME}'],
    ['$$${NAME}', '$${NAME}'],
    ['${NESTED}', '${NAME}'],
    ['$NAME and $ and {NAME}', '$NAME and $ and {NAME}'],
    ['${NUMBER}', '8888'],
    ['${EMPTY}', null],
    ['${MISSING:-}', null],
    ['a${EMPTY}', 'a'],
    ['', ''],
  ] as const)('%j becomes %j', ([text, value]) => {
    expect(valueOf(text)).toBe(value);
  });

  test.for(['${}', '${1X}', '${A-B}', '${NAME', '${NAME:other}', '${ NAME }', '${A:-${B}}'])(
    '%j is not a valid reference',
    (text) => {
      expect(problemOf(text)).toMatch(
        /is not a valid reference: write \$\{NAME\}, \$\{NAME:-default\}, or \$\$\{ for the characters themselves$/u,
      );
    },
  );

  test('a variable that is not set is named, and its value counts as left out', () => {
    const document = new ConfigDocument('a: 1\nb: "x ${MISSING}"', ENVIRONMENT);
    expect(document.problems).toEqual([]);
    expect(document.unset).toEqual([{ line: 2, key: 'b', variable: 'MISSING' }]);
    expect(document.content()).toEqual({ a: 1, b: null });
  });

  test('only the first problem of a value is told, and one for each value', () => {
    const document = new ConfigDocument('a: "${ONE} ${TWO}"\nb: ["${THREE}", ok, "${FOUR}"]\nc: "${5} ${6}"', {});
    expect(document.unset).toEqual([
      { line: 1, key: 'a', variable: 'ONE' },
      { line: 2, key: 'b.0', variable: 'THREE' },
      { line: 2, key: 'b.2', variable: 'FOUR' },
    ]);
    expect(document.problems).toEqual([{ line: 3, key: 'c', text: expect.stringContaining('"${5}"') as string }]);
  });

  test('keys are not replaced, and values that are not text are left alone', () => {
    const document = new ConfigDocument('"${NAME}": 1\nb: true\nc: null\n', ENVIRONMENT);
    expect(document.content()).toEqual({ '${NAME}': 1, b: true, c: null });
    expect([...document.interpolated]).toEqual([]);
  });

  test('it is remembered which values came from the environment, by their full names', () => {
    const text = 'a: { b: "${NAME}", c: plain }\nlist:\n  - x\n  - { d: "${MISSING:-1}" }\nescaped: "$${NAME}"';
    expect([...new ConfigDocument(text, ENVIRONMENT).interpolated]).toEqual(['a.b', 'list.1.d']);
  });

  test('an alias has the value of its anchor', () => {
    const document = new ConfigDocument('a: &x "${NAME}"\nb: *x\n', ENVIRONMENT);
    expect(document.content()).toEqual({ a: 'value', b: 'value' });
  });
});

describe('the line of a key', () => {
  const document = new ConfigDocument(
    [
      'top:',
      '  inner: 1',
      '  list:',
      '    - first',
      '    - name: second',
      '7: number',
      'alias: &a',
      '  deep: 2',
      'ref: *a',
    ].join('\n'),
    {},
  );

  test.for<[readonly (string | number)[], number | undefined]>([
    [['top'], 1],
    [['top', 'inner'], 2],
    [['top', 'list', 0], 4],
    [['top', 'list', 1, 'name'], 5],
    [['7'], 6],
    [['ref', 'deep'], 8],
    [['top', 'missing'], 1],
    [['top', 'inner', 'too', 'deep'], 2],
    [['missing'], undefined],
    [[], undefined],
  ])('%j is %s', ([path, line]) => {
    expect(document.lineOf(path)).toBe(line);
  });

  test('an empty document has no lines and no content', () => {
    const empty = new ConfigDocument('', {});
    expect(empty.lineOf(['a'])).toBeUndefined();
    expect(empty.content() ?? null).toBeNull();
  });
});

test('a syntax error is told with its line, and nothing is replaced then', () => {
  const document = new ConfigDocument('a: "${MISSING}"\nb: [1,\n', {});
  expect(document.problems.length).toBeGreaterThan(0);
  expect(document.problems.every(({ text }) => !text.includes('MISSING'))).toBe(true);
  expect(document.problems[0]?.line).toBeGreaterThan(1);
});
