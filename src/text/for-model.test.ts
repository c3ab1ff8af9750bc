import { expect, test } from 'vitest';
import type { Execution } from '../execution/execution.ts';
import { forModel } from './for-model.ts';

const QUIET: Execution = {
  id: 'e',
  sessionId: 's',
  outcome: { status: 'succeeded' },
  logs: { stdout: '', stderr: '' },
  results: [],
  transcript: [],
  dataframes: [],
  figures: [],
  files: [],
  state: { status: 'preserved', generation: 1, variables: { added: [], changed: [], removed: [] } },
  durationMs: 1,
  isolation: {
    level: 'namespaces',
    uid: 'own',
    files: 'private-root',
    network: 'none',
    proc: 'private',
    memory: [],
    processes: [],
    disk: [],
    seccomp: true,
    landlock: 0,
    missing: [],
  },
};

test('a run without a word says so', () => {
  expect(forModel(QUIET)).toBe('The code ran and printed nothing.');
});

test('everything that happened is there, and no base64', () => {
  const text = forModel({
    ...QUIET,
    logs: { stdout: '\u001B[31mred\u001B[0m\n', stderr: 'careful\n' },
    results: [
      {
        kind: 'figure',
        data: { 'text/plain': '<Figure>', 'image/png': 'iVBOR' },
        title: 'Sales',
        chart: { type: 'bar' },
      },
      { kind: 'result', data: { 'text/plain': '42' } },
    ],
    figures: [
      { result: 0, path: 'sales.png', mime: 'image/png', sizeBytes: 5, title: 'Sales', chart: { type: 'bar' } },
    ],
    files: [{ path: 'sales.png', sizeBytes: 5, mime: 'image/png', change: 'created' }],
    state: { status: 'preserved', generation: 1, variables: { added: ['x'], changed: [], removed: ['y'] } },
  });
  expect(text).toBe(
    [
      'red',
      '[stderr]',
      'careful',
      '[figure "Sales": bar chart, saved as sales.png]',
      '42',
      '[files: sales.png (5 bytes)]',
      '[variables: added x; removed y]',
    ].join('\n'),
  );
});

test('long output cannot push out the error and the fate of the state', () => {
  const text = forModel(
    {
      ...QUIET,
      outcome: { status: 'raised' },
      logs: { stdout: 'x'.repeat(1_000_000), stderr: 'y'.repeat(1_000_000) },
      results: Array.from({ length: 1000 }, () => ({
        kind: 'display' as const,
        data: { 'text/plain': 'z'.repeat(9000) },
      })),
      files: Array.from({ length: 1000 }, (_, n) => ({
        path: `${n}`,
        sizeBytes: 1,
        mime: 'a/b',
        change: 'created' as const,
      })),
      error: { name: 'ValueError', value: 'no', traceback: 'Traceback …\nValueError: no' },
      state: { ...QUIET.state, status: 'restored', reason: 'it crashed' },
    },
    { maxChars: 2000 },
  );
  expect(text.length).toBeLessThan(3000);
  expect(text).toContain('ValueError: no');
  expect(text).toContain('980 more]');
  expect(text).toContain('(it crashed); every variable is as it was before this run');
});

test.for([
  [{ status: 'timed-out', limit: 'wall', limitMs: 500 }, '[timed out after 500 ms]'],
  [{ status: 'out-of-memory', limitMb: 256 }, '[out of memory: the limit is 256 MB]'],
  [
    { status: 'crashed', signal: 'SIGSEGV', exitCode: null, reason: 'killed by SIGSEGV' },
    '[crashed: killed by SIGSEGV]',
  ],
  [{ status: 'cancelled' }, '[cancelled]'],
] as const)('how a run ended is told: %o', ([outcome, line]) => {
  expect(forModel({ ...QUIET, outcome })).toBe(line);
});

test('a model hears that its variables are at risk, and why', () => {
  const state = { ...QUIET.state, unprotected: '2 live threads besides the main one' };
  expect(forModel({ ...QUIET, state })).toBe(
    '[if the next run crashes, all variables are lost: 2 live threads besides the main one]',
  );
});

test('what is cut says where all of it is, and what is whole does not', () => {
  const spill = { path: '/workspace/.output/run-1.stdout.txt', id: 'a', sizeBytes: 7001 };
  const long = { ...QUIET, logs: { stdout: 'x'.repeat(7000), stderr: '' }, spills: { stdout: spill } };
  expect(forModel(long)).toMatch(
    /1000 characters omitted[^]*\n\(all of it is in \/workspace\/\.output\/run-1\.stdout\.txt\)$/u,
  );
  expect(forModel({ ...long, logs: { stdout: 'x'.repeat(5000), stderr: '' } })).toBe('x'.repeat(5000));
});

test('two long streams leave room for what was shown', () => {
  const text = forModel({
    ...QUIET,
    logs: { stdout: 'o'.repeat(9000), stderr: 'e'.repeat(9000) },
    results: [{ kind: 'result', data: { 'text/plain': `begin ${'r'.repeat(1000)} end` } }],
  });
  expect(text).toMatch(/begin r{1000} end$/u);
  expect(text.length).toBeLessThan(10_200);
});
