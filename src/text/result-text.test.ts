import { expect, test } from 'vitest';
import type { Execution, Result } from '../execution/execution.ts';
import { describeResult } from './result-text.ts';

function tell(data: Result['data'], kind: Result['kind'] = 'display', figures: Execution['figures'] = []): string {
  return describeResult({ kind, data }, 0, { figures });
}

test.for([
  [{ 'text/plain': '<Markdown object>', 'text/markdown': '# Title\n' }, '# Title'],
  [{ 'text/plain': '<IPython.core.display.JSON object>', 'application/json': '{"a": 1}' }, '{"a": 1}'],
  [{ 'text/plain': '<__main__.F object at 0x7f00>', 'text/latex': '$x$' }, '$x$'],
  [{ 'text/plain': '<HTML object>', 'text/html': '<p>a</p><p>b</p>' }, 'a\nb'],
  [{ 'text/plain': '<HTML object>', 'text/html': '<img src="x">' }, '[HTML of 13 characters, without text]'],
  [{ 'text/plain': '<Image object>', 'image/png': 'iVBOR' }, '[image/png]'],
  [{ 'text/plain': '<__main__.Plain object at 0x7f00>' }, '<__main__.Plain object at 0x7f00>'],
  [{ 'text/plain': 'x**2', 'text/latex': '$x^{2}$' }, 'x**2'],
  [{ 'text/plain': '   a\n0  1', 'text/html': '<table></table>' }, '   a\n0  1'],
  [{ 'text/plain': 'Report(1)', 'text/markdown': '**one**' }, '**one**'],
  [{ 'text/plain': '', 'application/json': '[1]' }, '[1]'],
  [{ 'text/plain': 'Report(1)', 'text/markdown': '' }, 'Report(1)'],
  [
    { 'text/plain': '<HTML object>\n(text/html of 9 bytes left out)' },
    '<HTML object>\n(text/html of 9 bytes left out)',
  ],
] as const)('content is told where the text form says nothing: %j', ([data, text]) => {
  expect(tell(data)).toBe(text);
});

const FIGURE = { mime: 'image/png', sizeBytes: 1, result: 1 };

test.for([
  '[<matplotlib.lines.Line2D object at 0x7f12>]',
  '[<matplotlib.lines.Line2D object at 0x7f12>,\n <matplotlib.lines.Line2D object at 0x7f13>]',
  '<matplotlib.legend.Legend object at 0x7f12>',
  "Text(0.5, 1.0, 'Prices')",
  "<Axes: title={'center': 'Prices'}, xlabel='x'>",
  '<BarContainer object of 2 artists>',
])('what a plotting call returns is not told beside its figure: %s', (text) => {
  expect(tell({ 'text/plain': text }, 'result', [FIGURE])).toBe('');
  expect(tell({ 'text/plain': text }, 'result')).toBe(text);
  expect(tell({ 'text/plain': text }, 'display', [FIGURE])).toBe(text);
});

test('a value beside a figure is told', () => {
  expect(tell({ 'text/plain': '42' }, 'result', [FIGURE])).toBe('42');
  expect(tell({ 'text/plain': "'Text(0.5, 1.0, x)'" }, 'result', [FIGURE])).toBe("'Text(0.5, 1.0, x)'");
});

test('content from a session cannot send sequences to a terminal', () => {
  const hostile = '\u001B]0;owned\u0007\u202Ex';
  for (const mime of ['text/markdown', 'text/latex', 'application/json', 'text/html']) {
    expect(tell({ 'text/plain': '<A object>', [mime]: hostile })).toBe(String.raw`\u{202e}x`);
  }
  expect(tell({ 'text/plain': '<A object>', [`x/y${hostile}`]: 'z' })).toBe(String.raw`[x/y\u{202e}x]`);
});

test('any value takes linear time', () => {
  const before = process.cpuUsage();
  for (const part of ['Text(0, 0, )', '<matplotlib.a object at 0x1>, ', '<Axes', '[', '<a.']) {
    tell({ 'text/plain': `${part.repeat(50_000)}x` }, 'result', [FIGURE]);
  }
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
