import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { assign, changeDirectory, pythonString, pythonValue, runSource } from './python-code.ts';

function evaluate(expression: string, before = ''): unknown {
  const code = `${before}\nimport json\nprint(json.dumps(${expression}))`;
  return JSON.parse(
    execFileSync('python3', ['-I', '-c', code], { encoding: 'utf8', env: { PYTHONIOENCODING: 'utf8' } }),
  );
}

test.for([
  'plain',
  'it\'s "quoted"',
  'two\nlines\t\\n and a \\',
  '""" \'\'\' #',
  'ünïcödé 😀 \u2028 \u0000 \ud800',
  '\u007f${x}{y}%s',
])('%j means the same in Python', (text) => {
  expect(evaluate(pythonString(text))).toBe(text);
});

test('a JSON value means the same in Python', () => {
  const value = { a: [1, 2.5, true, false, null, 'x"\n'], ü: {} };
  expect(evaluate(pythonValue(value))).toEqual(value);
  expect(evaluate('x', assign('x', pythonValue(value)))).toEqual(value);
});

test('only a name can be assigned to', () => {
  expect(assign('größe_2', '1')).toBe('größe_2 = 1');
  for (const name of ['', '2x', 'a b', 'a.b', 'x = 1; y', 'a\n']) {
    expect(() => assign(name, '1')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  }
});

test('a source runs in its own namespace and returns the requested result', () => {
  const source = 'x = 6\ndef answer(y):\n    return [x * y, __name__, answer.__code__.co_filename]';
  const expression = runSource({ source, name: 'mine', result: 'names["answer"](7)' });
  expect(evaluate(`[${expression}, "x" in globals()]`)).toEqual([[42, 'mine', '<mine>'], false]);
});

test('the working directory can be changed', () => {
  const name = '/tmp';
  expect(evaluate('__import__("os").getcwd()', changeDirectory(name))).toBe(name);
});
