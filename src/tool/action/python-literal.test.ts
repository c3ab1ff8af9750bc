import { expect, test } from 'vitest';
import { readPythonTuple } from './python-literal.ts';

test.for<[string, unknown]>([
  ['("import math;math.sqrt(100)",)', ['import math;math.sqrt(100)']],
  ["('a', 1, -2.5, True, None)", ['a', 1, -2.5, true, null]],
  ['"a", 20', ['a', 20]],
  ['("one")', ['one']],
  ['()', []],
  ["(['a', ('b', 1_000)], [])", [['a', ['b', 1000]], []]],
  [String.raw`('a\n\t\x41\u00e9\'"', r'\n')`, ['a\n\tAé\'"', String.raw`\n`]],
  ['("""two\nlines""", \'a\' "b")', ['two\nlines', 'ab']],
  ['( # comment\n"a",\n)', ['a']],
])('%j is a tuple', ([text, expected]) => {
  expect(readPythonTuple(text)).toEqual(expected);
});

test.for([
  '',
  'name',
  '"alone"',
  '("open',
  '("a" 5)',
  '(1,, 2)',
  '("a",) x',
  '(f("a"),)',
  '{"a": 1}',
  '('.repeat(1000),
])('%j is none', (text) => {
  expect(readPythonTuple(text)).toBeNull();
});
