import { expect, test } from 'vitest';
import { parseConfig } from '../config.ts';
import { parseKeyedRun, parseRun, SettingsParser } from './options.ts';

const config = parseConfig({ dataDir: '/tmp/none', idleMs: 1000, limits: { timeoutMs: 7000 } });
const parser = new SettingsParser(config, 'x = 1');

test('what is not given comes from the host', () => {
  const settings = parser.parseSession({ limits: { memoryMb: 64 } });
  expect(settings).toMatchObject({ initCode: 'x = 1', idleMs: 1000, echo: 'last', network: false, mounts: [] });
  expect(settings.limits).toEqual({ ...config.limits, memoryMb: 64 });
  expect(parser.parseSession({ initCode: null, idleMs: null })).toMatchObject({ initCode: null, idleMs: null });
});

test('a session has the mounts, network and environment of the host unless it is given its own', () => {
  const mounts = [{ source: '/srv/data', target: '/data' }];
  const own = new SettingsParser(
    parseConfig({ dataDir: '/tmp/none', mounts, network: true, env: { A: '1', B: '2' } }),
    null,
  );
  const inherited = { mounts: [{ ...mounts[0], writable: false }], network: true, env: { A: '1', B: '2' } };
  expect(own.parseSession({})).toMatchObject(inherited);
  expect(own.parseOnce('1', {}).settings).toMatchObject(inherited);
  const other = { mounts: [], network: false, env: { C: '3' } };
  expect(own.parseSession(other)).toMatchObject(other);
  expect(own.parseSession(other).env).not.toHaveProperty('A');
});

// Callers from JavaScript can send what the compiler refuses.
test('an undefined limit counts as not given', () => {
  // @ts-expect-error - see above
  expect(parser.parseSession({ limits: { timeoutMs: undefined } }).limits.timeoutMs).toBe(7000);
});

test.for<[string, () => unknown]>([
  // @ts-expect-error - see above
  ['timeoutMS', () => parseRun('1', { timeoutMS: 5 })],
  // @ts-expect-error - see above
  ['user', () => parseKeyedRun('1', { user: 'a' })],
  // @ts-expect-error - see above
  ['initcode', () => parser.parseSession({ initcode: '' })],
  // @ts-expect-error - see above
  ['memoryMB', () => parser.parseSession({ limits: { memoryMB: 1 } })],
  // @ts-expect-error - see above
  ['idleMs', () => parser.parseOnce('1', { idleMs: 5 })],
  // @ts-expect-error - see above
  ['limits', () => parser.parseSession({ limits: 5 })],
  // @ts-expect-error - see above
  ['code', () => parseRun(5, {})],
  ['id', () => parser.parseSession({ id: '../up' })],
  ['env', () => parser.parseSession({ env: { 'A=B': '' } })],
])('an error about %s names it', ([name, act]) => {
  const says = { code: 'CONFIG_INVALID', message: expect.stringContaining(name) as unknown };
  expect(act).toThrow(expect.objectContaining(says));
});

test('a run once has the settings of a session and the options of a run', () => {
  const { settings, run } = parser.parseOnce('1', { echo: 'all', timeoutMs: 5, clientId: 'c' });
  expect(settings).toMatchObject({ clientId: 'c', initCode: 'x = 1', echo: 'all', idleMs: null });
  expect(run).toMatchObject({ code: '1', timeoutMs: 5, whenBusy: 'queue' });
});

test('a filename has 1 to 500 characters on one line', () => {
  for (const filename of ['job.py', '<string>', '/srv/übung 1.py', 'x'.repeat(500)]) {
    expect(parseRun('1', { filename }).filename).toBe(filename);
    expect(parser.parseOnce('1', { filename }).run.filename).toBe(filename);
  }
  for (const filename of ['', 'x'.repeat(501), 'a\nb', 'a\rb', 'a\u2028b', 'a\0b', '\ud800']) {
    expect(() => parseRun('1', { filename })).toThrow(/must have 1 to 500 characters[^]*filename/u);
  }
});

test.for<[option: string, accepted: readonly unknown[], refused: readonly unknown[]]>([
  ['echo', ['all', 'last', 'none', undefined], ['', 'ALL', null, true]],
  ['timeoutMs', [1, 86_400_000, undefined], [0, -1, 1.5, 86_400_001, Infinity, NaN, '5', null]],
  ['resultVariable', ['x', '_x1', 'größe', '变量', undefined], ['', '1x', 'a.b', 'a b', 'a\n', 'x;', null, 5]],
  ['svg', [true, false, undefined], [1, 'true', null]],
  ['whenBusy', ['queue', 'refuse', undefined], ['wait', '', null]],
  ['signal', [new AbortController().signal, undefined], [{}, { aborted: true }, null]],
])('of a run, %s accepts %j and refuses %j', ([option, accepted, refused]) => {
  for (const value of accepted) {
    const options = { [option]: value };
    const expected = option === 'whenBusy' && value === undefined ? 'queue' : value;
    expect(parseRun('1', options)).toHaveProperty([option], expected);
    expect(parser.parseOnce('1', options)).toBeDefined();
  }
  for (const value of refused) {
    const refusal: unknown = expect.objectContaining({ code: 'CONFIG_INVALID', message: naming(option) });
    expect(() => parseRun('1', { [option]: value })).toThrow(refusal);
    expect(() => parseKeyedRun('1', { [option]: value })).toThrow(refusal);
    expect(() => parser.parseOnce('1', { [option]: value })).toThrow(refusal);
  }
});

const LONG = 'x'.repeat(500);

test.for<[option: string, accepted: readonly unknown[], refused: readonly unknown[]]>([
  [
    'id',
    ['a', 'A.b_c-9', '0', 'x'.repeat(100)],
    ['', '-a', '.a', '_a', 'a/b', 'a b', 'é', 'a\n', 'x'.repeat(101), 5, null],
  ],
  ['clientId', ['c', ' ', LONG, '../../etc'], ['', `${LONG}x`, 5, null]],
  ['initCode', ['', 'import os', null], [5, false, ['x']]],
  ['network', [true, false], ['yes', 1, null]],
  ['readOnly', [true, false], ['yes', 0, null]],
  ['echo', ['all', 'last', 'none'], ['some', null]],
  ['idleMs', [1, 2 ** 40, null], [0, -1, 0.5, '5']],
  ['limits', [{}, { cpuMs: null }, { memoryMb: 16, spillMb: 0 }], [null, [], 5, { memoryMb: 15 }, { cpu: 1 }]],
  ['env', [{}, { A: '', _b9: 'x=y\n' }], [{ '': 'x' }, { '1A': 'x' }, { 'A B': 'x' }, { A: 1 }, null]],
  ['mounts', [[], [{ source: '/a', target: '/b' }]], [[{ source: 'a', target: '/b' }], [{ source: '/a' }], {}, null]],
  [
    'mounts',
    [[{ source: '/a', target: '/b', writable: true }]],
    [[{ source: '/a', target: '/b/../c' }], [{ source: '/a', target: '/b/.' }]],
  ],
])('of a session, %s accepts %j and refuses %j', ([option, accepted, refused]) => {
  for (const value of accepted) {
    expect(parser.parseSession({ [option]: value })).toHaveProperty([option]);
    expect(parser.parseCreated({ [option]: value }).settings).toHaveProperty([option]);
  }
  for (const value of refused) {
    const refusal: unknown = expect.objectContaining({ code: 'CONFIG_INVALID', message: naming(option) });
    expect(() => parser.parseSession({ [option]: value })).toThrow(refusal);
    expect(() => parser.parseCreated({ [option]: value })).toThrow(refusal);
  }
});

test.for(['id', 'sessionId', 'chatId', 'clientId'])('a %s that selects a session has 1 to 500 characters', (option) => {
  for (const value of ['a', '/', '\n', LONG]) {
    expect(parseKeyedRun('1', { [option]: value })).toHaveProperty([option], value);
  }
  for (const value of ['', `${LONG}x`, 5, null, {}]) {
    expect(() => parseKeyedRun('1', { [option]: value })).toThrow(option);
    expect(() => parseRun('1', { [option]: 'a' })).toThrow(option);
  }
});

test('several mistakes are told at once, and where the options are listed', () => {
  expect(() => parser.parseSession({ echo: 'some', limits: { memoryMb: 1 }, netwrok: true } as object)).toThrow(
    /netwrok[^]*echo[^]*limits\.memoryMb[^]*docs\/options\.md/,
  );
});

test('the settings of a session without options are the defaults, and a signal is not one of them', () => {
  const { settings, signal } = parser.parseCreated({});
  expect(settings).toEqual(parser.parseSession({}));
  expect(signal).toBeUndefined();
  const controller = new AbortController();
  const created = parser.parseCreated({ id: 'a', signal: controller.signal });
  expect(created.signal).toBe(controller.signal);
  expect(created.settings).not.toHaveProperty('signal');
  expect(created.settings.id).toBe('a');
});

test('a run once takes no id and no idle time, and is never closed for being idle', () => {
  for (const options of [{ id: 'a' }, { idleMs: 5 }, { sessionId: 'a' }]) {
    expect(() => parser.parseOnce('1', options as object)).toThrow(Object.keys(options)[0]);
  }
  const { settings, run } = parser.parseOnce('x = 1', { limits: { memoryMb: 64 }, timeoutMs: 9, svg: true });
  expect(settings).toMatchObject({ idleMs: null, echo: 'last', limits: { memoryMb: 64, timeoutMs: 7000 } });
  expect(settings).not.toHaveProperty('timeoutMs');
  expect(run).toMatchObject({ code: 'x = 1', timeoutMs: 9, svg: true });
  expect(run).not.toHaveProperty('limits');
});

test('limits of a session replace those of the host one by one, and only those', () => {
  for (const [name, value] of Object.entries(config.limits)) {
    const other = value === null ? 5 : value * 2;
    expect(parser.parseSession({ limits: { [name]: other } }).limits).toEqual({ ...config.limits, [name]: other });
  }
});

function naming(option: string): string {
  return expect.stringContaining(option) as string;
}
