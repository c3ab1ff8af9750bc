import { expect, test } from 'vitest';
import type { Result } from '../execution/execution.ts';
import type { TranscriptItem } from '../execution/transcript.ts';
import { toMimeBundle, toOutputs } from './outputs.ts';

const text = (stream: 'stdout' | 'stderr', content: string): TranscriptItem => ({
  type: 'text',
  stream,
  text: content,
});
const result = (kind: Result['kind'], data: Result['data']): TranscriptItem => ({
  type: 'result',
  result: { kind, data },
});

test('outputs keep their order, and pieces of one stream are one output', () => {
  const items = [
    text('stdout', 'a\nb'),
    text('stdout', 'c\n'),
    text('stderr', 'e'),
    result('display', { 'text/plain': 'd' }),
    text('stdout', 'f'),
    result('result', { 'text/plain': '5' }),
    result('figure', { 'text/plain': 'F', 'image/png': 'AAAA', 'image/svg+xml': '<svg>\n</svg>' }),
  ];
  expect(toOutputs(items, undefined, 7)).toEqual([
    { output_type: 'stream', name: 'stdout', text: ['a\n', 'bc\n'] },
    { output_type: 'stream', name: 'stderr', text: ['e'] },
    { output_type: 'display_data', data: { 'text/plain': ['d'] }, metadata: {} },
    { output_type: 'stream', name: 'stdout', text: ['f'] },
    { output_type: 'execute_result', execution_count: 7, data: { 'text/plain': ['5'] }, metadata: {} },
    {
      output_type: 'display_data',
      data: { 'text/plain': ['F'], 'image/png': 'AAAA', 'image/svg+xml': ['<svg>\n', '</svg>'] },
      metadata: {},
    },
  ]);
});

test('an exception comes last, its traceback as lines', () => {
  const error = { name: 'ValueError', value: 'two\nlines', traceback: 'Traceback:\n  x\nValueError: two\nlines\n' };
  expect(toOutputs([text('stdout', 'a')], error, 1).at(-1)).toEqual({
    output_type: 'error',
    ename: 'ValueError',
    evalue: 'two\nlines',
    traceback: ['Traceback:', '  x', 'ValueError: two', 'lines'],
  });
});

test('JSON becomes itself where the format allows it, and stays text elsewhere', () => {
  const data = {
    'application/json': '{"a": [1, "\\ud800"], "\\udc00": 2, "__proto__": 3}',
    'application/vnd.plotly.v1+json': '[1]',
    'model/gltf+json': '{}',
  };
  const bundle = toMimeBundle(data);
  expect(JSON.stringify(bundle['application/json'])).toBe(String.raw`{"a":[1,"\\ud800"],"\\udc00":2,"__proto__":3}`);
  expect(bundle).toMatchObject({ 'application/vnd.plotly.v1+json': [1], 'model/gltf+json': ['{}'] });
});

test('what claims to be JSON or a type and is not does no harm', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  expect(toMimeBundle({ 'application/json': deep })).toEqual({ 'application/json': deep });
  expect(toMimeBundle({ 'application/json': '{"a":', 'no type': 'x', 'text/\n': 'x' })).toEqual({
    'application/json': '{"a":',
  });
});

test('colours stay in text, and orders for a terminal do not, wherever they are', () => {
  const evil = '\u001B[31mred\u001B[0m\0\u001B]0;title\u0007\u202E';
  const shown = String.raw`${'\u001B[31mred\u001B[0m'}\u{0}\u{1b}]0;title\u{7}\u{202e}`;
  const error = { name: 'E\n\u0007', value: evil, traceback: evil };
  expect(toOutputs([text('stdout', evil), result('result', { 'text/plain': evil })], error, 1)).toMatchObject([
    { output_type: 'stream', name: 'stdout', text: [shown] },
    { data: { 'text/plain': [shown] } },
    { ename: String.raw`E \u{7}`, evalue: shown, traceback: [shown] },
  ]);
});
