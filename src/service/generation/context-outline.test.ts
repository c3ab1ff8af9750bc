import { describe, expect, test } from 'vitest';
import type { Json } from '../../execution/execution.ts';
import { outlineContext } from './context-outline.ts';
import { summarizeFailure } from './generator.ts';
import { oneLine, quote } from './quote.ts';

/** The outline of one value under `context.T`. */
function described(value: Json): string {
  return outlineContext({ T: value }).replace(/^context\.T: /u, '');
}

describe('a value is outlined as Python would show it', () => {
  test.for<[Json, string]>([
    [null, 'None'],
    [true, 'bool = True'],
    [false, 'bool = False'],
    [3, 'int = 3'],
    [2.5, 'float = 2.5'],
    ['text', 'str of 4 characters = "text"'],
    ['a"b\nc', String.raw`str of 5 characters = "a\"b\nc"`],
    ['x'.repeat(61), `str of 61 characters = "${'x'.repeat(60)}…"`],
    [[], 'list, empty'],
    [[1, 2], 'list of 2 int, for example [1, 2]'],
    [[1, 2, 3, 4], 'list of 4 int, for example [1, 2, 3, …]'],
    [[1, 'a', null, true, 2.5], 'list of 5 int and str and None, for example [1, "a", None, …]'],
    [[[1, [2]], { a: 1 }], 'list of 2 list and dict, for example [[1, […]], {"a": 1}]'],
    [{}, 'dict of 0, for example {}'],
    [{ _type: 'int', value: '9007199254740993' }, 'int = 9007199254740993'],
    [{ _type: 'float', value: 'NaN' }, 'float = NaN'],
    [{ _type: 'int', value: 5 }, 'int = ?'],
    [{ _type: 'frozenset', items: [1, 2, 3, 4] }, 'frozenset of 4, for example [1, 2, 3, …]'],
    [{ _type: 'dict', items: [[1, 'a']] }, 'dict of 1, for example [[1, "a"]]'],
    [{ _type: 'set' }, 'set of 0, for example None'],
    [{ _type: 'Series', index: [0, 1], value: [5, 6] }, 'pandas Series of 2, for example [5, 6]'],
    [{ _type: 'DataFrame' }, 'pandas DataFrame of 0 rows, for example None'],
    [{ _type: 'datetime', value: '2024-07-01T12:00:00' }, 'datetime = "2024-07-01T12:00:00"'],
    [{ _type: 'decimal', value: '1.50' }, 'decimal = "1.50"'],
  ])('%j', ([value, text]) => {
    expect(described(value)).toBe(text);
  });
});

describe('a path', () => {
  test.for([
    ['plain_1', '.plain_1'],
    ['_x', '._x'],
    ['1st', '["1st"]'],
    ['with space', '["with space"]'],
    ['class', '["class"]'],
    ['None', '["None"]'],
    ['ünï', '["ünï"]'],
    ['a"b', String.raw`["a\"b"]`],
    ['', '[""]'],
  ] as const)('to %j is written %s', ([name, step]) => {
    expect(outlineContext({ [name]: 1 })).toBe(`context${step}: int = 1`);
  });

  test('is cut at 200 characters', () => {
    const [path = ''] = outlineContext({ ['n'.repeat(500)]: 1 }).split(': ');
    expect(path).toBe(`context.${'n'.repeat(192)}…`);
  });

  test('goes down to the field of a key, and deeper values are samples', () => {
    expect(outlineContext({ T: { key: { field: { sub: { x: { y: 1 } } } } } })).toBe(
      'context.T.key.field.sub.x: dict of 1, for example {"y": 1}',
    );
  });
});

describe('the number of lines', () => {
  const wide = (count: number): Record<string, Json> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, index]));

  test('is 150 at most: what fits is shown whole, and one name more costs a line for the rest', () => {
    expect(outlineContext(wide(150)).split('\n').at(-1)).toBe('context.n149: int = 149');
    const lines = outlineContext(wide(151)).split('\n');
    expect(lines).toHaveLength(150);
    expect(lines.at(-1)).toBe('context: 2 more names');
  });

  test('of a branch that has no room for its members is one', () => {
    const branches = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`b${index}`, wide(5)]));
    const lines = outlineContext(branches).split('\n');
    expect(lines).toHaveLength(150);
    expect(lines[0]).toBe('context.b0: dict of 5, for example {"n0": 0, "n1": 1, "n2": 2, …}');
  });

  test('of an empty context is none', () => {
    expect(outlineContext({})).toBe('');
  });
});

describe('foreign text in a prompt', () => {
  test('is fenced by more backticks than it has', () => {
    expect(quote('plain', { maxChars: 100 })).toBe('```text\nplain\n```');
    expect(quote('a ```` b', { maxChars: 100, language: 'python' })).toBe('`````python\na ```` b\n`````');
  });

  test('loses its trailing space, its middle if it is too long, and its terminal escapes', () => {
    expect(quote('x \n\n', { maxChars: 10 })).toBe('```text\nx\n```');
    const cut = quote(`${'a'.repeat(20)}${'z'.repeat(20)}`, { maxChars: 10 });
    expect(cut).toBe('```text\naaaaa\n… 30 characters omitted …\nzzzzz\n```');
    expect(quote('\u001b[31mred', { maxChars: 100 })).not.toContain('\u001b');
  });

  test('on one line has no line breaks, and says where it was cut', () => {
    expect(oneLine('  a\n\tb\r\n c ', 100)).toBe('a b c');
    expect(oneLine('abcdef', 6)).toBe('abcdef');
    expect(oneLine('abcdefg', 6)).toBe('abcde…');
    expect(oneLine('\u001b[2Jx', 100)).not.toContain('\u001b');
  });
});

test('the summary of a failure is one line of at most 300 characters', () => {
  const failure = { attemptNumber: 2, stage: 'results', errorType: 'E', failedCode: null, traceback: null } as const;
  expect(summarizeFailure({ ...failure, errorMessage: 'a\n  b', analysisIssues: [] })).toBe(
    'Attempt 2, results: E: a b',
  );
  const long = summarizeFailure({ ...failure, errorMessage: 'x'.repeat(500), analysisIssues: [] });
  expect(long).toHaveLength(301);
  expect(long.endsWith('x…')).toBe(true);
});
