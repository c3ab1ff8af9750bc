import { expect, test } from 'vitest';
import { withoutNotebookLines } from './notebook-code.ts';

const DISABLED = "print('Assume we have this package, ! is disabled!')";

test.for([
  ['!ls -l', DISABLED],
  ['!!ls', DISABLED],
  ['%pip install x', DISABLED],
  ['%conda install x', DISABLED],
  ['if a:\n    !ls\nb', `if a:\n    ${DISABLED}\nb`],
  ['x = !ls', `x = (${DISABLED} or [])`],
  ['a.b[0] = !ls', `a.b[0] = (${DISABLED} or [])`],
  ['%matplotlib inline\nx', 'pass\nx'],
  ['%time f(1)', 'f(1)'],
  ['%%time\nf(1)', '\nf(1)'],
  ['\n\n%%capture out\n!ls', `\n\n\n${DISABLED}`],
  ['%%bash\nls $HOME\n', DISABLED],
  ['%%!\nls', DISABLED],
])('%j becomes Python', ([code = '', expected]) => {
  expect(withoutNotebookLines(code)).toBe(expected);
});

test('a magic that Python cannot replace prints a notice on the same line', () => {
  expect(withoutNotebookLines('%timeit f(1)\nx')).toMatch(/^print\('The magic %timeit .*'\)\nx$/);
  expect(withoutNotebookLines('y = %who')).toMatch(/^y = print\('The magic %who /);
  expect(withoutNotebookLines('%%writefile a.py\nx = 1')).toMatch(
    /^print\('The magic %%writefile .* its cell was not run/,
  );
});

test('a command over several lines keeps its line count, so that tracebacks show the right line', () => {
  expect(withoutNotebookLines('!echo a \\\n  b\n1/0')).toBe(`${DISABLED}\n\n1/0`);
});

test.for([
  'x = (7\n%5)',
  'x = [\n!=1]',
  's = """\n!ls\n%pip\n"""',
  "s = '''it's\n%%bash'''",
  's = "a\\\n!ls"',
  'x = 7 \\\n  %y',
  'a != b',
  'a %b',
  '# it\'s a comment\nx = "100 %"',
  'f"{x!r:>10}"',
  '',
])('%j is Python and stays as it is', (code) => {
  expect(withoutNotebookLines(code)).toBe(code);
});

test('long lines without content are fast', () => {
  const started = performance.now();
  withoutNotebookLines(`${' '.repeat(200_000)}x\n${'a '.repeat(100_000)}\n"""${'\\'.repeat(100_001)}`);
  expect(performance.now() - started).toBeLessThan(1000);
});
