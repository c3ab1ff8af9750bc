import { expect, test } from 'vitest';
import { ProtocolViolation } from '../../hostile-json.ts';
import { parseWorkerFrame } from './worker-frame.ts';

const read = (header: object, payload = ''): unknown => parseWorkerFrame({ header, payload: Buffer.from(payload) });

test('what a run leaves out is what it has not', () => {
  expect(read({ type: 'done', id: 'a' })).toEqual({
    type: 'done',
    id: 'a',
    error: null,
    memory: false,
    changed: false,
    value: null,
    dataframes: [],
    saved: [],
    marked: false,
    touched: false,
    unprotected: null,
    variables: { added: [], changed: [], removed: [] },
  });
});

test('what a result leaves out is what it has not', () => {
  const data = { 'text/plain': '2' };
  const result = { type: 'result', id: 'a', kind: 'result', data };
  expect(read(result)).toEqual({ ...result, binary: [], chart: null, title: null, picture: null });
});

test('nothing that was left out is shared with another frame', () => {
  const frames = [0, 1].map(
    () => read({ type: 'done', id: 'a' }) as { variables: { added: string[] }; saved: unknown[] },
  );
  frames[0]?.variables.added.push('x');
  frames[0]?.saved.push('x');
  expect([frames[1]?.variables.added, frames[1]?.saved]).toEqual([[], []]);
});

test('bytes behind a result stand in its bundle as base64', () => {
  const header = { type: 'result', id: 'a', kind: 'figure', data: { 'text/plain': 'x' }, binary: [['image/png', 2]] };
  expect(read(header, 'ab')).toMatchObject({ data: { 'text/plain': 'x', 'image/png': 'YWI=' } });
  expect(() => read(header, 'a')).toThrow(ProtocolViolation);
});

test.each([
  ['no id', { type: 'done' }],
  ['a claim that is none', { type: 'done', id: 'a', memory: null }],
  ['a text where names belong', { type: 'done', id: 'a', variables: { added: 'x', changed: [], removed: [] } }],
  ['names in part', { type: 'done', id: 'a', variables: { added: [] } }],
  ['a value that is no JSON', { type: 'done', id: 'a', value: '{' }],
  ['no data', { type: 'result', id: 'a', kind: 'result' }],
  ['an unknown type', { type: 'other' }],
])('%s breaks the protocol', (_, header) => {
  expect(() => read(header)).toThrow(ProtocolViolation);
});
