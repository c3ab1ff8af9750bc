import { describe, expect, test } from 'vitest';
import { CellReader } from './cell-reader.ts';

function typed(text: string): string[] {
  const reader = new CellReader({ blankLineEndsBlock: true });
  return text.split('\n').flatMap((line) => reader.add(line));
}

function scripted(text: string): string[] {
  const reader = new CellReader({ blankLineEndsBlock: false });
  return [...text.split('\n').flatMap((line) => reader.add(line)), ...reader.finish()];
}

describe('A complete line is a cell at once', () => {
  test.for([
    'x = 1',
    'for i in range(3): print(i)',
    'if x: y = 1; z = 2',
    'd = {1: 2}',
    'lambda: 0',
    'x[1:]',
    'print("a:")',
    'x = 1  # why:',
    '# only a comment',
    '%vars',
    '()',
    "f'{x:>10}'",
    'x = """one line"""',
    "x = ''",
    'x = """"""',
    'x = "\\\\"',
    "x = r'\\d'",
    'x = a if b else c',
    'pass;',
  ])('%j', (line) => {
    expect(typed(line)).toEqual([line]);
    expect(scripted(line)).toEqual([line]);
  });

  test('and blank lines between cells mean nothing', () => {
    expect(typed('\n   \nx = 1\n\n\t\nx')).toEqual(['x = 1', 'x']);
    expect(scripted('\n\nx = 1\n\n\nx\n\n')).toEqual(['x = 1', 'x']);
  });
});

describe('An open', () => {
  test.for([
    ['bracket', 'x = [1,\n2]'],
    ['bracket over blank lines', 'x = [1,\n\n\n2]'],
    ['parenthesis', 'print(\n1,\n)'],
    ['brace', 'd = {\n"a": 1,\n}'],
    ['nest of brackets', 'x = ([{\n}\n]\n)'],
    ['bracket with a comment', 'x = [  # ]\n1]'],
    ['bracket with a string', 'x = ["]",\n1]'],
    ['bracket with a colon at the end of a line', 'd = {1:\n2}'],
    ['string in three quotes', 's = """a\n\nb: ( \'\n"""'],
    ['string in three single quotes', "s = '''a\n\"\"\"\n'''"],
    ['string with an escaped quote', 's = """a\\"""\n"""'],
    ['string with one or two quotes in it', 's = """a"\n""b"""'],
    ['line', 'x = 1 + \\\n2'],
    ['line over several lines', 'x = 1 + \\\n2 + \\\n3'],
    ['string that a backslash continues', "s = 'a\\\nb'"],
    ['bracket in a call of a block', 'if f(\nx): y'],
  ] as const)('%s waits for its end', ([, code]) => {
    expect(typed(code)).toEqual([code]);
    expect(scripted(code)).toEqual([code]);
  });

  test('cell is pending, can be discarded, and a new one begins', () => {
    const reader = new CellReader({ blankLineEndsBlock: true });
    expect(reader.isPending).toBe(false);
    expect(reader.add('print(')).toEqual([]);
    expect(reader.isPending).toBe(true);
    reader.clear();
    expect(reader.isPending).toBe(false);
    expect(reader.finish()).toEqual([]);
    expect(reader.add('1 + 1')).toEqual(['1 + 1']);
  });

  test('cell is the last one when there are no more lines, and only once', () => {
    const reader = new CellReader({ blankLineEndsBlock: false });
    reader.add('x = [1,');
    expect(reader.finish()).toEqual(['x = [1,']);
    expect(reader.finish()).toEqual([]);
    expect(reader.isPending).toBe(false);
  });
});

describe('A typed block', () => {
  test.for([
    ['a function', 'def f():\n    return 1\n'],
    ['a function with an empty body so far', 'def f():\n'],
    ['both branches', 'if x:\n    y\nelse:\n    z\n'],
    ['an attempt', 'try:\n\ty\nexcept E:\n\tz\nfinally:\n\tw\n'],
    ['a decorated function', '@cache\ndef f(): # (\n  pass\n'],
    ['a colon before a comment', 'if x:  # why\n    y\n'],
    ['a class', 'class A:\n    x = 1\n    def f(self): pass\n'],
    ['an asynchronous loop', 'async for x in y():\n    z\n'],
    ['a match', 'match x:\n    case 1:\n        y\n'],
    ['spaces after the colon', 'while x: \n    y\n'],
    ['a bracket in it', 'def f():\n    return [\n        1,\n    ]\n'],
  ] as const)('ends with a blank line: %s', ([, code]) => {
    const [block = '', ...rest] = typed(`${code}\nafter()`);
    expect([block.trimEnd(), rest]).toEqual([code.trimEnd(), ['after()']]);
  });

  test('may be ended by a line of spaces', () => {
    expect(typed('def f():\n    return 1\n    \nf()')).toEqual(['def f():\n    return 1\n    ', 'f()']);
  });

  test('does not end at a blank line in a string or bracket', () => {
    expect(typed('def f():\n    """a\n\n    b"""\n\nf()')).toEqual(['def f():\n    """a\n\n    b"""\n', 'f()']);
  });

  test('that is only a decorator waits for its definition, and a blank line gives up', () => {
    const reader = new CellReader({ blankLineEndsBlock: true });
    expect(reader.add('@cache')).toEqual([]);
    expect(reader.add('@retry(3)')).toEqual([]);
    expect(reader.add('')).toEqual(['@cache\n@retry(3)\n']);
  });

  test('continues with an unindented line, which is part of it', () => {
    expect(typed('if x:\n    y\nz = 1')).toEqual(['if x:\n    y\nz = 1']);
  });
});

describe('A block of a script', () => {
  test('ends where the next statement begins', () => {
    const script = 'def f():\n    a = 1\n\n    return a\nf()\nif 1:\n    x\nelse:\n    y\n# end\nz';
    expect(scripted(script)).toEqual([
      'def f():\n    a = 1\n\n    return a',
      'f()',
      'if 1:\n    x\nelse:\n    y\n# end',
      'z',
    ]);
  });

  test.for(['elif x:\n    b', 'else:\n    b', 'except E:\n    b', 'finally:\n    b', 'except* E:\n    b'])(
    'continues with %j, also after a blank line',
    (rest) => {
      expect(scripted(`head:\n    a\n\n${rest}`)).toEqual([`head:\n    a\n\n${rest}`]);
    },
  );

  test.for(['elsewhere = 1', 'exceptional()', 'finally_done = 2', 'elif_x = 3'])(
    'is not continued by the name %j',
    (line) => {
      expect(scripted(`if x:\n    a\n${line}`)).toEqual(['if x:\n    a', line]);
    },
  );

  test('is followed by another block at once', () => {
    expect(scripted('for a in b:\n  c\nfor d in e:\n  f')).toEqual(['for a in b:\n  c', 'for d in e:\n  f']);
  });

  test('keeps its decorators', () => {
    expect(scripted('@cache\ndef f(): pass\nf()')).toEqual(['@cache\ndef f(): pass', 'f()']);
    expect(scripted('@a\n@b(\n1)\n\ndef f():\n  pass\nf()')).toEqual(['@a\n@b(\n1)\n\ndef f():\n  pass', 'f()']);
  });

  test('is not ended by text at the start of a line in a string', () => {
    expect(scripted('def f():\n    """doc\nnot code\n"""\nf()')).toEqual([
      'def f():\n    """doc\nnot code\n"""',
      'f()',
    ]);
  });
});

describe('What only Python can judge is left to Python', () => {
  test.for(["x = 'abc", 'x = )', ')]}', '"a', 'x = = 1', '    indented', 'else:'])('%j', (line) => {
    expect(scripted(line)).toEqual([line]);
  });

  test('a string that ends with its line does not swallow the next one', () => {
    expect(typed("x = 'abc\ny = 1")).toEqual(["x = 'abc", 'y = 1']);
  });

  test('a closing bracket too many does not hide one that is open', () => {
    expect(typed('x = )(\n1)')).toEqual(['x = )(\n1)']);
  });
});

test('a long cell is read in reasonable time', () => {
  const reader = new CellReader({ blankLineEndsBlock: false });
  reader.add('x = [');
  for (let line = 0; line < 500; line += 1) reader.add(`    "line ${line}", # [ ( {`);
  expect(reader.add(']')).toHaveLength(1);
});
