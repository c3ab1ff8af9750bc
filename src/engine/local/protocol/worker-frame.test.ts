import { expect, test } from 'vitest';
import { ProtocolViolation } from '../../hostile-json.ts';
import { parseWorkerFrame } from './worker-frame.ts';

const read = (header: object, payload = ''): unknown => parseWorkerFrame({ header, payload: Buffer.from(payload) });

test('fields that the end of a run leaves out have their defaults', () => {
  expect(read({ type: 'done', id: 'a' })).toEqual({
    type: 'done',
    id: 'a',
    error: null,
    memory: false,
    changed: false,
    value: null,
    dataframes: [],
    results: null,
    saved: [],
    marked: false,
    touched: false,
    unprotected: null,
    remedy: null,
    threads: 0,
    variables: { added: [], changed: [], removed: [] },
  });
});

test('fields that a result leaves out have their defaults', () => {
  const data = { 'text/plain': '2' };
  const result = { type: 'result', id: 'a', kind: 'result', data };
  expect(read(result)).toEqual({
    ...result,
    texts: [],
    binary: [],
    chartBytes: 0,
    chart: null,
    title: null,
    picture: null,
    wait: false,
  });
});

test('the defaults of one frame are not shared with another', () => {
  const frames = [0, 1].map(
    () => read({ type: 'done', id: 'a' }) as { variables: { added: string[] }; saved: unknown[] },
  );
  frames[0]?.variables.added.push('x');
  frames[0]?.saved.push('x');
  expect([frames[1]?.variables.added, frames[1]?.saved]).toEqual([[], []]);
});

test('bytes behind a result are in its data as base64', () => {
  const header = { type: 'result', id: 'a', kind: 'figure', data: { 'text/plain': 'x' }, binary: [['image/png', 2]] };
  expect(read(header, 'ab')).toMatchObject({ data: { 'text/plain': 'x', 'image/png': 'YWI=' } });
  expect(() => read(header, 'a')).toThrow(ProtocolViolation);
});

test.each([
  ['no id', { type: 'done' }],
  ['null where a boolean belongs', { type: 'done', id: 'a', memory: null }],
  ['a text where names belong', { type: 'done', id: 'a', variables: { added: 'x', changed: [], removed: [] } }],
  ['changes with fields missing', { type: 'done', id: 'a', variables: { added: [] } }],
  ['a value that is not JSON', { type: 'done', id: 'a', value: '{' }],
  ['no data', { type: 'result', id: 'a', kind: 'result' }],
  ['an unknown type', { type: 'other' }],
  ['a process that cannot be', { type: 'resumed', pid: 2 ** 40, files: '' }],
  ['pid 1 as a worker', { type: 'ready', pid: 1, isEmpty: true }],
])('%s breaks the protocol', (_, header) => {
  expect(() => read(header)).toThrow(ProtocolViolation);
});

const FRAME = {
  name: 'df',
  type: 'DataFrame',
  rows: 1,
  columnCount: 1,
  columns: [{ name: 'n', dtype: 'int64', missing: null }],
  preview: [[1]],
  index: ['a'],
  repr: 'n',
  note: 'cut',
};
const VARIABLE = { name: 'x', type: 'int', description: '1', sizeBytes: 28 };
const SAVED = { path: 'a.png', title: null, chart: null, picture: null };
const CUT = { total: 3, kept: 2, reduced: 1, totalBytes: 9, keptBytes: 5 };
const TOKEN = '0123456789abcdef'.repeat(2);

/** Each kind of frame with all of its fields. */
const WHOLE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ready: { pid: 2, isEmpty: true },
  cleared: { files: 'restored' },
  twin: { pid: 3, token: TOKEN, dropped: 'no room', refreshed: true },
  renewed: {},
  unprotected: { reason: 'no slot' },
  resumed: { pid: 4, files: 'kept: too large' },
  result: {
    id: 'a',
    kind: 'figure',
    data: { 'text/plain': 'x' },
    texts: [['text/html', 0]],
    binary: [['image/png', 0]],
    chartBytes: 0,
    title: 'T',
    picture: 1,
    wait: true,
  },
  cut: { id: 'a', results: CUT },
  done: {
    id: 'a',
    error: { name: 'E', value: 'v', traceback: 't' },
    memory: true,
    changed: true,
    value: '[1]',
    dataframes: [FRAME],
    saved: [SAVED],
    results: CUT,
    marked: true,
    touched: true,
    unprotected: 'threads',
    remedy: 'end them',
    threads: 1,
    variables: { added: ['a'], changed: [], removed: [], omitted: 1, unseen: 1 },
  },
  table: { id: 'a', problem: null },
  variables: { id: 'a', variables: [VARIABLE] },
};

test.for(Object.entries(WHOLE))('a frame of type %s with all its fields is read', ([type, fields]) => {
  expect(read({ type, ...fields })).toMatchObject({ type });
});

test.for(Object.entries(WHOLE).flatMap(([type, fields]) => Object.keys(fields).map((field) => [type, field] as const)))(
  'in a frame of type %s, a wrong %s breaks the protocol and is named',
  ([type, field]) => {
    for (const wrong of [Number.NaN, { unexpected: 1 }, [[[]]], -1.5]) {
      expect(() => read({ type, ...WHOLE[type], [field]: wrong }), JSON.stringify(wrong)).toThrow(ProtocolViolation);
      expect(() => read({ type, ...WHOLE[type], [field]: wrong })).toThrow(field);
    }
  },
);

test.for(['ready', 'cleared', 'twin', 'resumed', 'cut', 'table', 'variables'])(
  'a frame of type %s needs each of its fields',
  (type) => {
    for (const field of Object.keys(WHOLE[type] ?? {})) {
      const { [field]: _, ...rest } = { type, ...WHOLE[type] } as Record<string, unknown>;
      expect(() => read(rest), `without ${field}`).toThrow(field);
    }
  },
);

test('fields that we do not know are dropped', () => {
  for (const [type, fields] of Object.entries(WHOLE)) {
    expect(read({ type, ...fields, sneaky: 1, __proto__: { polluted: 1 } })).not.toHaveProperty('sneaky');
  }
});

const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

/** Limits of what a worker may say: the last value that is allowed, and the first that is not. */
test.for<[what: string, type: string, allowed: object, refused: object]>([
  ['pid', 'ready', { pid: 2 }, { pid: 1 }],
  ['pid of a twin', 'twin', { pid: 2 }, { pid: 0 }],
  ['pid of the resumed', 'resumed', { pid: 2 }, { pid: 2.5 }],
  ['token', 'twin', { token: 'f'.repeat(32) }, { token: 'f'.repeat(33) }],
  ['letters of a token', 'twin', { token: 'f'.repeat(32) }, { token: 'F'.repeat(32) }],
  ['text about files', 'cleared', { files: 'x'.repeat(1000) }, { files: 'x'.repeat(1001) }],
  ['title', 'result', { title: 'x'.repeat(1000) }, { title: 'x'.repeat(1001) }],
  ['MIME type', 'result', { data: { ['m'.repeat(200)]: '' } }, { data: { ['m'.repeat(201)]: '' } }],
  ['binary forms', 'result', { binary: many(32, ['a', 0]) }, { binary: many(33, ['a', 0]) }],
  ['long texts', 'result', { texts: many(32, ['a', 0]) }, { texts: many(33, ['a', 0]) }],
  ['length of a text', 'result', { texts: [['a', 0]] }, { texts: [['a', 0.5]] }],
  ['size of a chart', 'result', { chartBytes: 0 }, { chartBytes: (2 << 20) + 1 }],
  ['results that were left out', 'cut', { results: CUT }, { results: { ...CUT, total: -1 } }],
  ['length of a binary form', 'result', { binary: [['a', 0]] }, { binary: [['a', -1]] }],
  ['number of a picture', 'result', { picture: 1 }, { picture: 0 }],
  [
    'added names',
    'done',
    { variables: { added: many(1000, 'a'), changed: [], removed: [] } },
    { variables: { added: many(1001, 'a'), changed: [], removed: [] } },
  ],
  [
    'omitted names',
    'done',
    { variables: { added: [], changed: [], removed: [], omitted: 0 } },
    { variables: { added: [], changed: [], removed: [], omitted: -1 } },
  ],
  [
    'unseen variables',
    'done',
    { variables: { added: [], changed: [], removed: [], unseen: 0 } },
    { variables: { added: [], changed: [], removed: [], unseen: -1 } },
  ],
  ['reason for no twin', 'done', { unprotected: 'x'.repeat(1000) }, { unprotected: 'x'.repeat(1001) }],
  ['tables', 'done', { dataframes: many(100, FRAME) }, { dataframes: many(101, FRAME) }],
  [
    'rows of a preview',
    'done',
    { dataframes: [{ ...FRAME, preview: many(100, [1]) }] },
    { dataframes: [{ ...FRAME, preview: many(101, [1]) }] },
  ],
  [
    'columns of a table',
    'done',
    { dataframes: [{ ...FRAME, columns: many(1000, FRAME.columns[0]) }] },
    { dataframes: [{ ...FRAME, columns: many(1001, FRAME.columns[0]) }] },
  ],
  ['rows of a table', 'done', { dataframes: [{ ...FRAME, rows: 0 }] }, { dataframes: [{ ...FRAME, rows: -1 }] }],
  ['saved figures', 'done', { saved: many(100, SAVED) }, { saved: many(101, SAVED) }],
  [
    'path of a saved figure',
    'done',
    { saved: [{ ...SAVED, path: 'x'.repeat(4096) }] },
    { saved: [{ ...SAVED, path: 'x'.repeat(4097) }] },
  ],
  ['problem of a table', 'table', { problem: 'x'.repeat(2000) }, { problem: 'x'.repeat(2001) }],
  ['variables', 'variables', { variables: many(10_000, VARIABLE) }, { variables: many(10_001, VARIABLE) }],
  [
    'size of a variable',
    'variables',
    { variables: [{ ...VARIABLE, sizeBytes: null }] },
    { variables: [{ ...VARIABLE, sizeBytes: -1 }] },
  ],
])('the %s is limited', ([, type, allowed, refused]) => {
  expect(read({ type, ...WHOLE[type], ...allowed }, '')).toMatchObject({ type });
  expect(() => read({ type, ...WHOLE[type], ...refused }, '')).toThrow(ProtocolViolation);
});

test.for([null, 1, 'done', [], [{ type: 'done' }], {}, { type: null }, { type: ['done'] }])(
  'a header %j is no frame',
  (header) => {
    expect(() => parseWorkerFrame({ header, payload: Buffer.alloc(0) })).toThrow(/^an unknown frame/);
  },
);

test('texts, bytes and the chart follow the header one after the other', () => {
  const header = {
    type: 'result',
    id: 'a',
    kind: 'figure',
    data: {},
    texts: [['text/html', 3]],
    binary: [['image/png', 2]],
    chartBytes: 9,
  };
  const payload = Buffer.concat([Buffer.from('é!'), Buffer.from([1, 2]), Buffer.from('{"a":[1]}')]);
  expect(parseWorkerFrame({ header, payload })).toMatchObject({
    data: { 'text/html': 'é!', 'image/png': 'AQI=' },
    chart: { a: [1] },
  });
  expect(() => parseWorkerFrame({ header, payload: payload.subarray(0, -1) })).toThrow('a frame shorter than it says');
});

test.for(['{"a":', '['.repeat(100)])('a chart that is not flat JSON breaks the protocol: %s', (text) => {
  const header = { type: 'result', id: 'a', kind: 'figure', data: {}, chartBytes: text.length };
  expect(() => parseWorkerFrame({ header, payload: Buffer.from(text) })).toThrow(ProtocolViolation);
});

test('several binary forms share the payload one after the other, and the last may be empty', () => {
  const header = {
    type: 'result',
    id: 'a',
    kind: 'figure',
    data: {},
    binary: [
      ['a', 2],
      ['b', 3],
      ['c', 0],
    ],
  };
  expect(read(header, 'ABCDE')).toMatchObject({ data: { a: 'QUI=', b: 'Q0RF', c: '' } });
  expect(() => read(header, 'ABCD')).toThrow(new ProtocolViolation('a frame shorter than it says'));
});

test('the value of a variable is parsed once, within the depth that JSON may have', () => {
  expect(read({ type: 'done', id: 'a', value: '{"a":[null]}' })).toMatchObject({ value: { json: { a: [null] } } });
  expect(read({ type: 'done', id: 'a', value: 'null' })).toMatchObject({ value: { json: null } });
  expect(() => read({ type: 'done', id: 'a', value: '['.repeat(65) + ']'.repeat(65) })).toThrow('nested deeper');
});

test('of a saved figure only what is known is passed on', () => {
  const saved = [SAVED, { path: 'b.png', title: 'B', chart: [1], picture: 2 }];
  expect(read({ type: 'done', id: 'a', saved })).toMatchObject({ saved: [{ path: 'a.png' }, saved[1]] });
  expect((read({ type: 'done', id: 'a', saved: [SAVED] }) as { saved: object[] }).saved[0]).toEqual({ path: 'a.png' });
});
