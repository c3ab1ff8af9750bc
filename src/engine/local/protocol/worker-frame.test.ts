import { expect, test } from 'vitest';
import { ProtocolViolation } from '../../hostile-json.ts';
import { parseWorkerFrame } from './worker-frame.ts';

const parse = (header: unknown, payload: Buffer): unknown => parseWorkerFrame({ header, payload, size: 7, cost: 5 });
const read = (header: object, payload = ''): unknown => parse(header, Buffer.from(payload));

test('fields that the end of a run leaves out have their defaults', () => {
  expect(read({ type: 'done', id: 'a' })).toEqual({
    type: 'done',
    id: 'a',
    error: null,
    memory: false,
    changed: false,
    results: null,
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
    cost: 0,
    title: null,
    picture: null,
    wait: false,
  });
});

test('the defaults of one frame are not shared with another', () => {
  const frames = [0, 1].map(() => read({ type: 'done', id: 'a' }) as { variables: { added: string[] } });
  frames[0]?.variables.added.push('x');
  expect(frames[1]?.variables.added).toEqual([]);
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
  ['a value that is not there', { type: 'value', id: 'a', jsonBytes: 0 }],
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
const SAVED = { path: 'a.png', title: null, picture: null };
const CUT = { total: 3, kept: 2, reduced: 1, totalBytes: 9, keptBytes: 5 };
const TOKEN = '0123456789abcdef'.repeat(2);

const REPORTS = ['dataframe', 'saved'];

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
    results: CUT,
    marked: true,
    touched: true,
    unprotected: 'threads',
    remedy: 'end them',
    threads: 1,
    variables: { added: ['a'], changed: [], removed: [], omitted: 1, unseen: 1 },
  },
  dataframe: { id: 'a', summary: FRAME },
  saved: { id: 'a', ...SAVED, chartBytes: 0 },
  table: { id: 'a', problem: null },
  variables: { id: 'a', variables: [VARIABLE] },
};

test.for(Object.entries(WHOLE))('a frame of type %s with all its fields is read', ([type, fields]) => {
  expect(read({ type, ...fields })).toMatchObject({ type: REPORTS.includes(type) ? 'report' : type });
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

const forms = (count: number): object => Object.fromEntries(many(count, '').map((text, index) => [`a/${index}`, text]));
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
  ['size of a chart', 'result', { chartBytes: 0 }, { chartBytes: (1 << 20) + 1 }],
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
  [
    'rows of a preview',
    'dataframe',
    { summary: { ...FRAME, preview: many(100, [1]) } },
    { summary: { ...FRAME, preview: many(101, [1]) } },
  ],
  [
    'cells of a row',
    'dataframe',
    { summary: { ...FRAME, preview: [many(200, 1)] } },
    { summary: { ...FRAME, preview: [many(201, 1)] } },
  ],
  [
    'columns of a table',
    'dataframe',
    { summary: { ...FRAME, columns: many(1000, FRAME.columns[0]) } },
    { summary: { ...FRAME, columns: many(1001, FRAME.columns[0]) } },
  ],
  ['rows of a table', 'dataframe', { summary: { ...FRAME, rows: 0 } }, { summary: { ...FRAME, rows: -1 } }],
  ['path of a saved figure', 'saved', { path: 'x'.repeat(4096) }, { path: 'x'.repeat(4097) }],
  ['forms', 'result', { data: forms(32) }, { data: forms(33) }],
  [
    'text of a result',
    'result',
    { data: { 'text/plain': 'x'.repeat(100_000) } },
    { data: { 'text/plain': 'x'.repeat(100_001) } },
  ],
  [
    'name of a variable',
    'variables',
    { variables: [{ ...VARIABLE, name: 'x'.repeat(1000) }] },
    { variables: [{ ...VARIABLE, name: 'x'.repeat(1001) }] },
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
  expect(read({ type, ...WHOLE[type], ...allowed }, '')).toHaveProperty('type');
  expect(() => read({ type, ...WHOLE[type], ...refused }, '')).toThrow(ProtocolViolation);
});

test.for([null, 1, 'done', [], [{ type: 'done' }], {}, { type: null }, { type: ['done'] }])(
  'a header %j is no frame',
  (header) => {
    expect(() => parse(header, Buffer.alloc(0))).toThrow(/^an unknown frame/);
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
  expect(parse(header, payload)).toMatchObject({
    data: { 'text/html': 'é!', 'image/png': 'AQI=' },
    chart: { a: [1] },
  });
  expect(() => parse(header, payload.subarray(0, -1))).toThrow('a frame shorter than it says');
});

test.for(['{"a":', '['.repeat(100)])('a chart that is not flat JSON breaks the protocol: %s', (text) => {
  const header = { type: 'result', id: 'a', kind: 'figure', data: {}, chartBytes: text.length };
  expect(() => parse(header, Buffer.from(text))).toThrow(ProtocolViolation);
});

test('a text of bytes that are no text breaks the protocol', () => {
  const header = { type: 'result', id: 'a', kind: 'figure', data: {}, texts: [['text/html', 2]] };
  expect(() => parse(header, Buffer.from([0x61, 0xff]))).toThrow(new ProtocolViolation('text that is not UTF-8'));
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
  const value = (text: string): unknown => read({ type: 'value', id: 'a', jsonBytes: text.length }, text);
  expect(value('{"a":[null]}')).toEqual({ type: 'report', id: 'a', size: 7, cost: 5 + 5, value: { a: [null] } });
  expect(value('null')).toMatchObject({ value: null });
  expect(() => value('['.repeat(65) + ']'.repeat(65))).toThrow('nested deeper');
  expect(() => value('{')).toThrow('not JSON');
  expect(() => read({ type: 'value', id: 'a', jsonBytes: 4 }, 'null ')).toThrow('another length');
});

test('of a saved figure only what is known is passed on', () => {
  const saved = { type: 'saved', id: 'a', ...SAVED };
  expect(read(saved)).toEqual({ type: 'report', id: 'a', size: 7, cost: 5, saved: { path: 'a.png' } });
  expect(read({ ...saved, title: 'B', picture: 2, chartBytes: 3 }, '[1]')).toMatchObject({
    saved: { path: 'a.png', title: 'B', chart: [1], picture: 2 },
  });
});

test('a complaint names a field and nothing that a session has said', () => {
  const wrong = [
    { type: 'x'.repeat(1000) },
    { type: 'result', id: 'a', kind: 'result', data: { ['secret'.repeat(20)]: 1 } },
    { type: 'done', id: 'a', variables: { added: many(600_000, 0), changed: [], removed: [] } },
  ];
  for (const header of wrong)
    expect(() => read(header)).toThrow(/^(an unknown frame|a wrong (result.data|done.variables.added))$/);
});

test('words that become part of receipts are one short line, and errors have no orders for a terminal', () => {
  const evil = `x\n\u001B[2J\u0007${'y'.repeat(900)}`;
  const sentence = String.raw`x \u{7}${'y'.repeat(900)}`.slice(0, 299) + '…';
  expect(read({ type: 'unprotected', reason: evil })).toMatchObject({ reason: sentence });
  expect(read({ type: 'resumed', pid: 2, files: evil })).toMatchObject({ files: sentence });
  expect(read({ type: 'result', id: 'a', kind: 'figure', data: {}, title: evil })).toMatchObject({ title: sentence });
  const error = { name: evil, value: '\u0007', traceback: 'a\n\u001B[2J\u202E' };
  expect(read({ type: 'done', id: 'a', unprotected: evil, remedy: evil, error })).toMatchObject({
    unprotected: sentence,
    remedy: sentence,
    error: { name: sentence, value: String.raw`\u{7}`, traceback: `a\n${String.raw`\u{1b}[2J\u{202e}`}` },
  });
});
