import { expect, test } from 'vitest';
import { extractCode } from './extract-code.ts';

const FENCE = '```';

/** Input and the code in it. */
const TAKEN_OUT: readonly (readonly [name: string, text: string, code: string])[] = [
  ['L-49 a call of InternLM', '<|action_start|><|interpreter|>\nx = 1\nx\n<|action_end|>\n', 'x = 1\nx'],
  ['such a call after words', "Let's see.<|action_start|><|interpreter|>\nprint(1)<|action_end|>", 'print(1)'],
  ['such a call that breaks off', '<|action_start|><|interpreter|>\n  a = 1\n  b = 2', '  a = 1\n  b = 2'],
  [
    'such a call around a block',
    `<|action_start|><|interpreter|>\n${FENCE}python\na = 1\n${FENCE}\n<|action_end|>`,
    'a = 1',
  ],
  ['its marks in a string', 'print("<|action_start|><|interpreter|>")', 'print("<|action_start|><|interpreter|>")'],
  [
    'its end in a string',
    '<|action_start|><|interpreter|>\nprint("<|action_end|>")\n<|action_end|>',
    'print("<|action_end|>")',
  ],
  ['a block alone', '```python\nmath.sqrt(100)\n```', 'math.sqrt(100)'],
  ['a block in prose', 'Here is the code:\n\n```python\nprint(1)\n```\nIt prints 1.', 'print(1)'],
  ['prose with an apostrophe', "Here's it:\n```python\nprint('a')\n```\nThat's all.", "print('a')"],
  ['two blocks', 'First:\n```python\na = 1\n```\nthen:\n```python\nprint(a)\n```', 'a = 1\nprint(a)'],
  ['three blocks, one of a shell', '```py\na = 1\n```\n```bash\nls\n```\n```py\nb = 2\n```', 'a = 1\nb = 2'],
  ['no language', 'Run:\n```\nprint(1)\n```', 'print(1)'],
  ['several without a language', '```\na = 1\n```\n```\nb = 2\n```', 'a = 1\nb = 2'],
  ['output beside code', '```python\nprint("hi there")\n```\nOutput:\n```\nhi there\n```', 'print("hi there")'],
  ['python3', '```python3\nprint(1)\n```', 'print(1)'],
  ['a language in capitals', '```Python\nprint(1)\n```', 'print(1)'],
  ['a space before the language', '``` python\nprint(1)\n```', 'print(1)'],
  ['attributes', '```python title="a.py" linenums=1\nprint(1)\n```', 'print(1)'],
  ['attributes in braces', '```{python}\nprint(1)\n```', 'print(1)'],
  ['a class in braces', '```{.python .numberLines}\nprint(1)\n```', 'print(1)'],
  ['a file name', '```python:main.py\nprint(1)\n```', 'print(1)'],
  ['never closed', 'Sure!\n```python\nprint(1)\nprint(2)', 'print(1)\nprint(2)'],
  ['never closed, with an empty end', '```python\nprint(1)\n\n', 'print(1)'],
  ['closed at the end of a line', '```python\nprint(1)```', 'print(1)'],
  ['closed in a line that goes on', '```python\nprint(1)``` prints one', 'print(1)'],
  ['in a line', 'Use ```print(1)``` for it', 'print(1)'],
  ['in a line, with its language', 'Use ```python print(1)``` for it', 'print(1)'],
  ['twice in a line', '```a = 1``` and ```print(a)```', 'a = 1\nprint(a)'],
  ['beginning within a line', 'Answer: ```python\nif x:\n    y()\n```', 'if x:\n    y()'],
  ['code right after the fence', '```print(1)\nprint(2)```', 'print(1)\nprint(2)'],
  ['an import right after the fence', '```import math\nprint(math.pi)\n```', 'import math\nprint(math.pi)'],
  ['an assignment right after the fence', '```x = 1\nprint(x)```', 'x = 1\nprint(x)'],
  ['after a mark of a list', '- ```python\n  if x:\n      y()\n  ```', 'if x:\n    y()'],
  ['tildes', 'Code:\n~~~python\nprint(~~~1)\n~~~\n', 'print(~~~1)'],
  ['tildes around backticks', '~~~\ns = """\n```\n"""\n~~~', 's = """\n```\n"""'],
  ['four backticks around three', '````python\ns = 1 # ```\n````', 's = 1 # ```'],
  ['an indented fence', '1. Do:\n   ```python\n   if x:\n       y()\n   ```\n2. Done', 'if x:\n    y()'],
  ['an indented fence, less indented code', '   ```python\n x = 1\n   ```', 'x = 1'],
  ['a fence indented with a tab', '\t```python\n\tx = 1\n\t```', 'x = 1'],
  ['line ends of another system', 'Hi\r\n```python\r\na = 1\r\nb = 2\r\n```\r\n', 'a = 1\nb = 2'],
  [
    'a fence in a string of the code',
    '```python\nd = """\n```bash\nls\n```\n"""\nprint(d)\n```',
    'd = """\n```bash\nls\n```\n"""\nprint(d)',
  ],
  ['a fence in a short string', '```python\nprint("```")\nprint(2)\n```', 'print("```")\nprint(2)'],
  ['a string that is never closed', '```python\ns = """\nx\n```\nprose', 's = """\nx'],
  ['blank lines and trailing space', '```python\n\na = 1\n\nb = 2\n\n```', '\na = 1\n\nb = 2'],
  ['a heading before', '# Solution\n\n```python\nprint(1)\n```', 'print(1)'],
  ['a span in the prose beside a block', 'Use `x`:\n```python\nprint(x)\n```', 'print(x)'],
  ['an inline shell command beside a block', 'Run ```pip install x``` first:\n```python\nimport x\n```', 'import x'],
  ['one span in prose', 'Run `math.sqrt(100)`', 'math.sqrt(100)'],
  ['one span and nothing else', '`math.sqrt(100)`', 'math.sqrt(100)'],
  ['a span of two backticks', 'Please run ``print(1)``.', 'print(1)'],
  ['a span between apostrophes', "It's `print(1)` that's right", 'print(1)'],
  ['JSON', '{"code": "print(1)\\nprint(2)"}', 'print(1)\nprint(2)'],
  ['JSON with more in it', ' {"thought": "hm {}", "code": "print(1)", "n": [1, 2]}\n', 'print(1)'],
  ['JSON in a fence', 'Call:\n```json\n{"code": "print(1)"}\n```', 'print(1)'],
  ['JSON in a fence without a language', '```\n{"code": "print(1)"}\n```', 'print(1)'],
  ['JSON around a fence', '{"code": "```python\\nprint(1)\\n```"}', 'print(1)'],
  ['JSON with line breaks in its string', '{"code": "a = 1\nprint(a)"}', 'a = 1\nprint(a)'],
  ['single quotes and a last comma', "{'code': 'print(\"it\\'s\")',}", 'print("it\'s")'],
  ['a bare name', '{code: "print(1)", timeout: 5}', 'print(1)'],
  ['JSON with an escape', '{"code": "print(\\"\\u00e9\\")"}', 'print("é")'],
];

test.each(TAKEN_OUT)('taken out: %s', (_, text, code) => {
  expect(extractCode(text)).toBe(code);
});

const UNCHANGED: readonly (readonly [name: string, text: string])[] = [
  ['nothing', ''],
  ['plain code', 'import math\nprint(math.sqrt(100))\n'],
  ['plain prose', 'I cannot do that.'],
  ['a backtick in a string', 'print("use `x` here")'],
  ['backticks in a comment', 'x = 1  # see `y` and ```z```'],
  ['a fence in a string', `prompt = """\n${FENCE}python\nprint(1)\n${FENCE}\n"""\nprint(prompt)`],
  ['a fence in a string of single quotes', `p = '''\n${FENCE}\nx\n${FENCE}\n'''`],
  ['a fence in a short string', 'print("```python\\nx\\n```")'],
  [
    'a fence in a docstring',
    `def f():\n    """Use:\n\n    ${FENCE}python\n    f()\n    ${FENCE}\n    """\n    return 1`,
  ],
  ['a fence in the string of faulty code', `x = (\nprompt = """\n${FENCE}python\nrm()\n${FENCE}\n"""\ny = 'open`],
  ['a fence in a comment', '# ```python\n# x\n# ```\nprint(1)'],
  ['a string with a prefix', 'print(rf"`{x}`" f\'`\' b"`")'],
  ['a string right after a keyword', "return'`x`'"],
  ['an escaped quote before a backtick', 'print("\\"`x`")'],
  ['line ends of another system', 'print("`x`")\r\nprint(2)\r\n'],
  ['a shell block alone', 'Run:\n```bash\npip install numpy\n```'],
  ['a JSON block without code', '```json\n{"a": 1}\n```'],
  ['a shell command in a line', 'Run ```bash ls -l``` now'],
  ['an empty block', '```python\n```'],
  ['a fence and nothing else', '```'],
  ['two spans', 'Use `a` or `b`.'],
  ['a span in what may be code', 'x = `y`'],
  ['a span within parentheses', 'print(`x`)'],
  ['a span in a command', '!echo `date`'],
  ['spans that do not match', 'Run ``x` now'],
  ['a backtick alone', 'it`s'],
  ['a quotation', '> ```python\n> print(1)\n> ```'],
  ['an object without code', '{"a": "print(1)"}'],
  ['code that is no string', '{"code": 5}'],
  ['a set', '{x for x in "code"}'],
  ['a list', '["code", "print(1)"]'],
  ['an object that goes on', '{"code": "x"}; {1}'],
];

test.each(UNCHANGED)('unchanged: %s', (_, text) => {
  expect(extractCode(text)).toBe(text);
});

const LONG = 300_000;

test.each([
  ['backticks', '`'.repeat(LONG)],
  ['fences', '```\n'.repeat(LONG / 4)],
  ['fences in one line', '```x '.repeat(LONG / 5)],
  ['fences of two kinds', '```\n~~~\n'.repeat(LONG / 8)],
  ['quotes before a fence', `${`"a" `.repeat(LONG / 4)}\n\`\`\``],
  ['long strings that hold fences', '```\n"""\n```\n'.repeat(LONG / 12)],
  ['apostrophes', `\`${`'\\'`.repeat(LONG / 3)}`],
  ['spaces in a block', `\`\`\`python\n${' '.repeat(LONG)}x`],
  ['calls of InternLM', '<|action_start|><|interpreter|>\n'.repeat(LONG / 32)],
  ['half of such calls', `<|action_start|>${' '.repeat(LONG)}`],
  ['braces', `{${'"a": 1,'.repeat(LONG / 7)}}`],
  ['a name without an end', `{"${'\\"'.repeat(LONG / 2)}}`],
  ['runs of different lengths', Array.from({ length: 700 }, (_, length) => '`'.repeat(length)).join(' ')],
])('takes linear time: %s', (_, text) => {
  const startedAt = performance.now();
  extractCode(text);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});
