import { expect, test } from 'vitest';
import type { Summary } from '../../../execution/event.ts';
import { toOutputLine, toResultLine } from './lines.ts';

const receipt = { status: 'preserved', generation: 0, variables: { added: [], changed: [], removed: [] } } as const;
const done = (summary: Partial<Summary>) =>
  toOutputLine({ type: 'done', summary: { state: receipt, ...summary } as Summary });

test('output has its stream as the type, and the time in nanoseconds', () => {
  expect(toOutputLine({ type: 'output', stream: 'stderr', text: 'oh\n' }, 1_700_000_000_123)).toEqual({
    type: 'stderr',
    text: 'oh\n',
    timestamp: 1_700_000_000_123_000_000,
  });
});

test('the forms of a result have the names of E2B, and others are extra', () => {
  const data = {
    'text/plain': 'x',
    'text/html': '<b>x</b>',
    'text/markdown': '*x*',
    'image/svg+xml': '<svg/>',
    'image/png': 'cG5n',
    'image/jpeg': 'anBn',
    'application/pdf': 'cGRm',
    'text/latex': '$x$',
    'application/json': '{"a":[1]}',
    'application/javascript': 'x()',
    'e2b/data': '{"a":[1,2]}',
    'application/vnd.own': 'own',
  };
  expect(toResultLine({ kind: 'display', data })).toEqual({
    type: 'result',
    text: 'x',
    html: '<b>x</b>',
    markdown: '*x*',
    svg: '<svg/>',
    png: 'cG5n',
    jpeg: 'anBn',
    pdf: 'cGRm',
    latex: '$x$',
    json: { a: [1] },
    javascript: 'x()',
    data: { a: [1, 2] },
    extra: { 'application/vnd.own': 'own' },
    is_main_result: false,
  });
});

test.each([
  ["'text'", 'text'],
  [`"it's"`, "it's"],
  ["'", "'"],
  ['[1]', '[1]'],
  [`'a' + "b"`, `'a' + "b"`],
])('the value %s is shown as %s', (text, shown) => {
  expect(toResultLine({ kind: 'result', data: { 'text/plain': text } })).toMatchObject({
    text: shown,
    is_main_result: true,
  });
});

test.each(['{', `${'['.repeat(100_000)}${']'.repeat(100_000)}`])(
  'JSON that is none, or too deep, stays text',
  (text) => {
    const line = toResultLine({ kind: 'result', data: { 'application/json': text } });
    expect(line).toMatchObject({ json: text });
    expect(() => JSON.stringify(line)).not.toThrow();
  },
);

test('a picture brings the data behind it', () => {
  const line = toResultLine({ kind: 'figure', data: { 'image/png': 'cG5n' }, chart: { type: 'unknown', title: 'a' } });
  expect(line).toMatchObject({ png: 'cG5n', chart: { type: 'unknown', title: 'a' }, is_main_result: false });
});

test('an exception is an error with its traceback', () => {
  const error = { name: 'ValueError', value: 'no', traceback: 'Traceback …' };
  expect(done({ outcome: { status: 'raised' }, error })).toEqual({ type: 'error', ...error });
});

test('a run that did not come to its own end says how it ended and what became of the variables', () => {
  expect(done({ outcome: { status: 'timed-out', limit: 'wall', limitMs: 5000 } })).toEqual({
    type: 'error',
    name: 'TimeoutError',
    value: 'the run timed out after 5 s',
    traceback: '',
  });
  const state = { ...receipt, status: 'restored', reason: 'killed' } as const;
  expect(done({ outcome: { status: 'crashed', signal: 'SIGKILL', exitCode: null, reason: 'killed' }, state })).toEqual({
    type: 'error',
    name: 'ContextCrashed',
    value: 'the run crashed: killed; the process was lost (killed); every variable is as it was before this run',
    traceback: '',
  });
});

test('success and what E2B has no word for is no line', () => {
  expect(done({ outcome: { status: 'succeeded' } })).toBeUndefined();
  expect(toOutputLine({ type: 'clear' })).toBeUndefined();
});
