import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CellReader } from './cell-reader.ts';

function typed(text: string): string[] {
  const reader = new CellReader({ blankLineEndsBlock: true });
  return text.split('\n').flatMap((line) => reader.add(line));
}

function scripted(text: string): string[] {
  const reader = new CellReader({ blankLineEndsBlock: false });
  return [...text.split('\n').flatMap((line) => reader.add(line)), ...reader.finish()];
}

test('a simple line is a cell', () => {
  assert.deepEqual(typed('x = 1\n\nx'), ['x = 1', 'x']);
  assert.deepEqual(typed('for i in range(3): print(i)'), ['for i in range(3): print(i)']);
  assert.deepEqual(typed('d = {1: 2}'), ['d = {1: 2}']);
});

test('an open bracket, string or line waits for its end', () => {
  assert.deepEqual(typed('x = [1,\n\n2]'), ['x = [1,\n\n2]']);
  assert.deepEqual(typed('s = """a\n\nb: ( \'\n"""'), ['s = """a\n\nb: ( \'\n"""']);
  assert.deepEqual(typed('x = 1 + \\\n2'), ['x = 1 + \\\n2']);
  assert.deepEqual(typed("s = 'a\\\nb'"), ["s = 'a\\\nb'"]);
  const reader = new CellReader({ blankLineEndsBlock: true });
  reader.add('print(');
  assert.ok(reader.isPending);
  reader.clear();
  assert.ok(!reader.isPending);
});

test('brackets, quotes and colons in strings and comments mean nothing', () => {
  assert.deepEqual(typed(`x = '(['  # {:`), [`x = '(['  # {:`]);
  assert.deepEqual(typed(`x = 'it\\'s:'`), [`x = 'it\\'s:'`]);
  assert.deepEqual(typed(`x = "#" # '''`), [`x = "#" # '''`]);
});

test('a block that is typed ends with a blank line', () => {
  assert.deepEqual(typed('def f():\n    return 1\n\nf()'), ['def f():\n    return 1\n', 'f()']);
  assert.deepEqual(typed('if x:\n    y\nelse:\n    z\n'), ['if x:\n    y\nelse:\n    z\n']);
  assert.deepEqual(typed('@cache\ndef f(): # (\n  pass\n'), ['@cache\ndef f(): # (\n  pass\n']);
});

test('what only Python can judge is left to Python', () => {
  assert.deepEqual(typed("x = 'abc"), ["x = 'abc"]);
  assert.deepEqual(typed('x = )'), ['x = )']);
  assert.deepEqual(typed('if x:\n'), ['if x:\n']);
});

test('a block of a script ends where the next statement begins', () => {
  assert.deepEqual(scripted('def f():\n    a = 1\n\n    return a\nf()\nif 1:\n    x\nelse:\n    y\n# end\nz'), [
    'def f():\n    a = 1\n\n    return a',
    'f()',
    'if 1:\n    x\nelse:\n    y\n# end',
    'z',
  ]);
  assert.deepEqual(scripted('try:\n    a\n\nexcept E:\n    b'), ['try:\n    a\n\nexcept E:\n    b']);
  assert.deepEqual(scripted('@cache\ndef f(): pass\nf()'), ['@cache\ndef f(): pass', 'f()']);
});
