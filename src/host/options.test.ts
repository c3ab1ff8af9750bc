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
    parseConfig({ dataDir: '/tmp/none', mounts, network: true, environment: { A: '1', B: '2' } }),
    null,
  );
  const inherited = { mounts: [{ ...mounts[0], writable: false }], network: true, environment: { A: '1', B: '2' } };
  expect(own.parseSession({})).toMatchObject(inherited);
  expect(own.parseOnce('1', {}).settings).toMatchObject(inherited);
  const other = { mounts: [], network: false, environment: { C: '3' } };
  expect(own.parseSession(other)).toMatchObject(other);
  expect(own.parseSession(other).environment).not.toHaveProperty('A');
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
  ['environment', () => parser.parseSession({ environment: { 'A=B': '' } })],
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
