import { expect, test } from 'vitest';
import type { Execution } from '../execution/execution.ts';
import { orderOutput } from './ordered-output.ts';

type Step = { readonly out: string } | { readonly err: string } | { readonly show: string };

function tell(steps: readonly Step[], maxChars = 1000, extra: readonly string[] = []): string {
  const shown = steps.flatMap((step) => ('show' in step ? [step.show] : []));
  let index = -1;
  const transcript: Execution['transcript'] = steps.map((step) => {
    if ('show' in step) return { type: 'result', index: (index += 1), timeMs: 0 };
    const [stream, text] = 'out' in step ? (['stdout', step.out] as const) : (['stderr', step.err] as const);
    return { type: 'text', stream, text, timeMs: 0 };
  });
  const results = shown.map((text) => ({ kind: 'display' as const, data: { 'text/plain': text } }));
  return orderOutput({ transcript, results, figures: [] }, maxChars, extra, (stream, isCut) =>
    isCut ? `(${stream} is cut)` : '',
  ).join('\n');
}

test('output and results stand in the order in which they came', () => {
  expect(tell([{ out: 'a\n' }, { show: 'x' }, { out: 'b\n' }, { show: 'y' }], 1000, ['[files: f]'])).toBe(
    'a\nx\nb\ny\n[files: f]',
  );
});

test('what stderr says is marked, and what follows it is too', () => {
  expect(tell([{ out: 'a\n' }, { err: 'oh\n' }, { err: 'no\n' }, { out: 'b\n' }, { out: 'c' }])).toBe(
    'a\n[stderr]\noh\nno\n[stdout]\nb\nc',
  );
  expect(tell([{ err: 'oh\n' }, { show: '42' }, { out: 'b\n' }])).toBe('[stderr]\noh\n[result]\n42\nb');
  expect(tell([{ err: 'oh\n' }], 1000, ['[figure]', '[files: f]'])).toBe('[stderr]\noh\n[figure]\n[files: f]');
});

test('a bar that other output interrupts is told once, in its last state', () => {
  expect(tell([{ err: '\r 10%' }, { out: 'a\n' }, { err: '\r100%' }, { show: 'x' }, { err: '\n' }])).toBe(
    'a\n[stderr]\n100%\n[result]\nx',
  );
});

test('blank output says nothing', () => {
  expect(tell([{ out: '\n' }, { show: 'x' }, { err: '  \n' }])).toBe('x');
});

test('of a long stream the head and the tail stay in their places among the results', () => {
  const steps = [
    { out: 'a'.repeat(50) },
    { show: 'x' },
    { out: 'b'.repeat(50) },
    { show: 'y' },
    { out: 'c'.repeat(50) },
  ];
  expect(tell(steps, 100)).toBe(
    ['a'.repeat(30), '… 90 characters omitted …', 'x', 'y', 'c'.repeat(30), '(stdout is cut)'].join('\n'),
  );
  expect(tell(steps, 200)).toBe(
    [
      'a'.repeat(50),
      'x',
      'b'.repeat(10),
      '… 30 characters omitted …',
      'b'.repeat(10),
      'y',
      'c'.repeat(50),
      '(stdout is cut)',
    ].join('\n'),
  );
});

test('of many results the first and the last stay in their places among the output', () => {
  const steps = Array.from({ length: 9 }, (_, n) => [{ show: `${n}`.repeat(20) }, { out: `o${n}\n` }]).flat();
  const text = tell(steps, 120);
  expect(text).toMatch(/^0{20}\no0\n1{20}\no1\n2+\n… \d+ characters omitted …\no2\no3/u);
  expect(text).toMatch(/\n7{20}\no7\n8{20}\no8$/u);
});

test('paths of libraries are hidden where a library wrote them, and stay where the program printed them', () => {
  const text = '/opt/e/lib/python3.13/site-packages/a.py';
  expect(tell([{ out: text }, { err: text }])).toBe(`${text}\n[stderr]\n<python>/a.py`);
});

test('what plotting calls return is not told where every value is printed, if there is a figure', () => {
  const text = "[<matplotlib.lines.Line2D object at 0x7f12>]\nText(0.5, 1.0, 'T')\ndone\n";
  const entry = { type: 'text', stream: 'stdout', text, timeMs: 0 } as const;
  const run = { transcript: [entry], results: [], figures: [{ mime: 'image/png', sizeBytes: 1 }] };
  expect(orderOutput(run, 1000, [], () => '')).toEqual(['done']);
  expect(orderOutput({ ...run, figures: [] }, 1000, [], () => '')).toEqual([text.trimEnd()]);
});
