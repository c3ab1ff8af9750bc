/** Python that is built or read here, judged by a real Python. */
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Json } from '../../src/execution/execution.ts';
import { readPythonTuple } from '../../src/tool/action/python-literal.ts';
import { assign, pythonString, pythonValue } from '../../src/text/code/python-code.ts';
import { extractCode } from '../../src/text/code/extract-code.ts';
import { generate, judgeInPython, type Generator } from '../support/generated.ts';

const CHARACTERS = [
  'a',
  ' ',
  "'",
  '"',
  '\\',
  '\n',
  '\r',
  '\t',
  '\u0000',
  '\u007f',
  '\u0085',
  '\u2028',
  '{',
  '}',
  '#',
  'é',
  '你',
  '😀',
];

test('every text and every JSON value means the same in Python', () => {
  const texts = generate(500, 1, (generator) => generator.text([...CHARACTERS, '\ud800', '\udfff'], 12));
  expect(judgeInPython('def judge(code): return eval(code)', texts.map(pythonString))).toEqual(texts);
  const values = generate(300, 2, (generator) => jsonValue(generator, 3));
  expect(judgeInPython('def judge(code): return eval(code)', values.map(pythonValue))).toEqual(values);
});

test('every name that can be assigned to is a name to Python', () => {
  const ends = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code));
  const names = ends.flatMap((end) => [end, `a${end}`]);
  const accepted = names.filter((name) => isAssignable(name));
  expect(accepted).toContain('é');
  const judged = judgeInPython<boolean>(IS_NAME, accepted);
  expect(accepted.filter((_, index) => !judged[index])).toEqual([]);
});

test('tuples are read as Python itself reads them', () => {
  const texts = generate(3000, 3, tupleText);
  const expected = judgeInPython(LITERAL, texts);
  for (const [index, text] of texts.entries()) {
    expect(readPythonTuple(text), JSON.stringify(text)).toEqual(expected[index]);
  }
});

test('a damaged tuple is refused, or read as Python reads it', () => {
  const texts = generate(5000, 4, (generator) => {
    const text = tupleText(generator);
    const at = generator.number(text.length + 1);
    return text.slice(0, at) + generator.pick(['', '(', ')', ',', '"', "'", '\\', '\n', '[', '1']) + text.slice(at + 1);
  });
  const expected = judgeInPython<unknown>(LITERAL, texts);
  const read = texts.map(readPythonTuple);
  const both = texts.flatMap((text, index) => {
    return read[index] === null || expected[index] === null
      ? []
      : [{ text, ours: read[index], theirs: expected[index] }];
  });
  expect(both.length).toBeGreaterThan(500);
  for (const { text, ours, theirs } of both) expect(ours, JSON.stringify(text)).toEqual(theirs);
});

/** Pieces of programs with everything that could be taken for Markdown. */
const FRAGMENTS = [
  'x = 1',
  "s = '`x`'",
  's = "```"',
  'print("it\'s `y`")',
  "t = r'\\'",
  'd = """\n```python\nprint(1)\n```\n"""',
  "d = '''it's\n~~~\n'''",
  'f(f"`{x}`", b"`")',
  '# don`t ```python',
  "x = 'a' 'b`'  # '`",
  'if x:\n    y = "`"',
  'q = x if\'`\'else"`"',
  'z = ("a"\n  "`")',
  'w = "a\\\n`b"',
  "u = '\\'`'",
  'print("""`""")',
  'v = {"code`": 1}',
  "m = x['`']",
  'def f():\n    """Use `f`."""\n    return"`"',
];

test('code that Python can parse is never changed', () => {
  const programs = generate(3000, 5, (generator) => {
    const lines = generator.list(5, () => generator.pick(FRAGMENTS)).concat(generator.pick(FRAGMENTS));
    return lines.join(generator.pick(['\n', '\n\n', '; ']));
  });
  const isValid = judgeInPython<boolean>(PARSES, programs);
  const valid = programs.filter((_, index) => isValid[index]);
  expect(valid.length).toBeGreaterThan(1000);
  for (const program of valid) {
    expect(extractCode(program)).toBe(program);
    expect(extractCode(`Here it is:\n\`\`\`\`python\n${program}\n\`\`\`\`\nDone.`)).toBe(program);
  }
});

test('each notebook line becomes Python on its line, and all other lines stay as they are', () => {
  const cells = generate(2000, 6, (generator) => {
    const fragments = generator.list(4, () => generator.pick(FRAGMENTS));
    const magics = ['!ls -l', '%pip install a', 'y = !date', '%matplotlib inline', '%time f(1)', 'x?', '!a \\\n  b'];
    return { fragments, cell: [...fragments, generator.pick(magics), 'last = 1'].join('\n') };
  });
  const plain = cells.map(({ fragments }) => fragments.join('\n'));
  const isValid = judgeInPython<boolean>(PARSES, plain);
  const whole = cells.filter((_, index) => isValid[index]);
  expect(whole.length).toBeGreaterThan(1000);
  const found = judgeInPython<[boolean, number]>(
    TRANSLATES,
    whole.map(({ fragments, cell }) => JSON.stringify([fragments.join('\n'), cell])),
  );
  expect(found).toEqual(whole.map(({ cell }) => [true, cell.split('\n').length]));
});

/** Whether plain code stays as it is, and in which line the last statement is in the cell with a notebook line. */
const TRANSLATES = `import ast, json, sys
sys.path.insert(0, ${JSON.stringify(path.resolve('python'))})
from _vivarium.notebook import syntax
def judge(both):
    plain, cell = json.loads(both)
    head = ast.parse(plain)
    tree = syntax.parse_notebook(cell, ast.parse, syntax.as_python).tree
    return [ast.dump(ast.Module(tree.body[:len(head.body)], [])) == ast.dump(ast.Module(head.body, [])), tree.body[-1].lineno]`;

/** Characters that are newer than this Python are not judged. */
const IS_NAME = `import unicodedata
def judge(name):
    return name.isidentifier() or any(unicodedata.category(each) == "Cn" for each in name)`;

const PARSES = `import ast
def judge(code):
    try:
        ast.parse(code)
        return True
    except SyntaxError:
        return False`;

/** A tuple as a list; null for all else, such as a number that JSON cannot hold. */
const LITERAL = `import ast
def judge(text):
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, (tuple, list)) else [value] if text.lstrip().startswith("(") else None`;

function tupleText(generator: Generator): string {
  const items = generator.list(4, () => literal(generator, 2));
  const gap = (): string => generator.pick(['', ' ', '\n', ' # note\n']);
  if (items.length === 0) return `(${gap()})`;
  const end = items.length === 1 ? ',' : generator.pick(['', ',']);
  return `(${gap()}${items.join(`${gap()},${gap()}`)}${end}${gap()})`;
}

function literal(generator: Generator, depth: number): string {
  const kind = generator.number(depth > 0 ? 6 : 4);
  if (kind === 0) return generator.pick(['True', 'False', 'None']);
  if (kind === 1) return generator.pick(['0', '-1', '12', '1_000', '2.5', '-.5', '3.', '1e3', '2.5E-2', '+7']);
  if (kind < 4) return generator.list(2, () => stringLiteral(generator)).join(' ') || "''";
  const inner = generator.list(3, () => literal(generator, depth - 1));
  if (kind === 4) return `[${inner.join(', ')}]`;
  return inner.length === 1 ? `(${inner[0]},)` : `(${inner.join(',')})`;
}

function stringLiteral(generator: Generator): string {
  const quote = generator.pick(["'", '"', "'''", '"""']);
  const prefix = generator.pick(['', '', 'r', 'u', 'R']);
  const plain = [
    'a',
    'é',
    '😀',
    ' ',
    ',',
    ')',
    '#',
    quote.startsWith("'") ? '"' : "'",
    ...(quote.length > 1 ? ['\n'] : []),
  ];
  const escapes = String.raw`\n \t \\ \' \" \x41 \u00e9 \U0001f600 \101 \0 \7z \a \b \f \r \v \q`.split(' ');
  const body = generator.text(/r/i.test(prefix) ? plain : [...plain, ...escapes, '\\\n'], 6);
  return prefix + quote + body + quote;
}

function jsonValue(generator: Generator, depth: number): Json {
  const kind = generator.number(depth > 0 ? 6 : 4);
  if (kind === 0) return generator.pick([null, true, false]);
  if (kind === 1) return generator.pick([0, -1, 1.5, 1e300, 2 ** 53, -1e-7]);
  if (kind < 4) return generator.text(CHARACTERS, 6);
  const items = generator.list(3, () => jsonValue(generator, depth - 1));
  return kind === 4 ? items : Object.fromEntries(items.map((item) => [generator.text(CHARACTERS, 4), item]));
}

function isAssignable(name: string): boolean {
  try {
    return assign(name, '1') === `${name} = 1`;
  } catch {
    return false;
  }
}
