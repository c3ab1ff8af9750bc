import { expect, test } from 'vitest';
import { fencedBlocks, inlineBlocks, isPython } from './fences.ts';

test.for([
  ['python', true],
  ['python3', true],
  ['py', true],
  ['py3', true],
  ['ipython', true],
  ['ipython3', true],
  ['', false],
  ['pytb', false],
  ['javascript', false],
] as const)('a block marked "%s" is Python: %s', ([language, expected]) => {
  expect(isPython({ language, code: 'x' })).toBe(expected);
});

test('each block has its language in lower case and its own code', () => {
  const text = '```Python\na = 1\n```\ntext\n~~~ SQL\nselect 1\n~~~\n```\nplain\n```';
  expect(fencedBlocks(text)).toEqual([
    { language: 'python', code: 'a = 1' },
    { language: 'sql', code: 'select 1' },
    { language: '', code: 'plain' },
  ]);
});

test.for([
  ['a shorter fence', '````\na\n```\nb\n````', 'a\n```\nb'],
  ['a fence of the other kind', '~~~\na\n```\nb\n~~~', 'a\n```\nb'],
  ['a longer fence closes it', '```\na\n`````\nb', 'a'],
  ['spaces after the closing fence', '```\na\n```  \nb', 'a'],
  ['no closing fence', '```\na\nb', 'a\nb'],
])('where a block ends: %s', ([, text = '', code]) => {
  expect(fencedBlocks(text).map((block) => block.code)).toEqual([code]);
});

test('a fence inside of a string closes a block of another language, but not one of Python', () => {
  const body = 's = """\n```\n"""\nx';
  expect(fencedBlocks(`\`\`\`python\n${body}\n\`\`\``)).toEqual([{ language: 'python', code: body }]);
  expect(fencedBlocks(`\`\`\`ruby\n${body}\n\`\`\``)[0]).toEqual({ language: 'ruby', code: 's = """' });
});

test.for([
  ['python title="a.py"', 'python'],
  ['python:main.py', 'python'],
  ['python, numbered', 'python'],
  ['{.python #id}', 'python'],
  ['c++', 'c++'],
  ['c#', 'c#'],
  ['objective-c', 'objective-c'],
])('the info "%s" names %s', ([info, language]) => {
  expect(fencedBlocks(`\`\`\`${info}\nx\n\`\`\``)).toEqual([{ language, code: 'x' }]);
});

test.for(['x = 1', 'print(1)', 'import math', 'for x in y:', 'from a import b', 'if x:', 'def f():', 'class A:'])(
  'the statement "%s" after a fence is no language',
  (statement) => {
    expect(fencedBlocks(`\`\`\`${statement}\nmore\n\`\`\``).map(({ language }) => language)).not.toContain('x');
    expect(inlineBlocks(`\`\`\`${statement}\nmore\n\`\`\``)).toEqual([{ language: '', code: `${statement}\nmore` }]);
  },
);

test('the indentation of a fence is taken off each line, and no more than that', () => {
  expect(fencedBlocks('  ```\n  if x:\n      y\n z\n\n  w\n  ```')[0]?.code).toBe('if x:\n    y\nz\n\nw');
  expect(fencedBlocks('\t```\n\tx\n  y\n\t```')[0]?.code).toBe('x\n  y');
});

test('blocks within lines end at the same number of backticks', () => {
  expect(inlineBlocks('a ```x``` b ````y ``` z```` c')).toEqual([
    { language: '', code: 'x' },
    { language: '', code: 'y ``` z' },
  ]);
  expect(inlineBlocks('```sh ls``` ```PY f()``` ```word x```')).toEqual([
    { language: 'sh', code: 'ls' },
    { language: 'py', code: 'f()' },
    { language: '', code: 'word x' },
  ]);
  expect(inlineBlocks('``` ``` and ```open')).toEqual([]);
  expect(inlineBlocks('```a b\n> c\n> d```')).toEqual([]);
});

test('an inline block with its language on the first line loses the indentation of its first line', () => {
  expect(inlineBlocks('- ```python\n  if x:\n      y()\n  ```')).toEqual([
    { language: 'python', code: 'if x:\n    y()' },
  ]);
});
