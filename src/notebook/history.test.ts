import { expect, test } from 'vitest';
import type { Outcome } from '../execution/outcome.ts';
import type { TranscriptItem } from '../execution/transcript.ts';
import { RunHistory, type RecordEnd, type RunStart } from './history.ts';

const CRASHED: Outcome = { status: 'crashed', signal: 'SIGSEGV', exitCode: null, reason: 'killed by SIGSEGV' };

function end(
  options: { outcome?: Outcome; state?: RecordEnd['state']['status']; looksOnly?: boolean } = {},
): RecordEnd {
  const { outcome = { status: 'succeeded' }, state = 'preserved', looksOnly = false } = options;
  const variables = { added: [], changed: [], removed: [] };
  const receipt = { status: state, generation: 1, variables, ...(state !== 'preserved' && { reason: 'it was lost' }) };
  return { outcome, state: receipt, durationMs: 1, mayHaveWritten: !looksOnly };
}

/** The end of a run that found the state lost, in a receipt or in a later one. */
function foundLost(outcome: Outcome = { status: 'succeeded' }): RecordEnd {
  const { state, ...rest } = end({ outcome, state: 'lost' });
  return { ...rest, state: { ...state, earlier: { status: 'lost', reason: 'it was lost before' } } };
}

const printed = (text: string): TranscriptItem[] => [{ type: 'text', stream: 'stdout', text }];

function run(history: RunHistory, code: string, ending = end(), kind: RunStart['kind'] = 'run'): void {
  history.begin({ code, echo: 'last', kind })(printed(`output of ${code}`), ending);
}

const placesOf = (history: RunHistory): Record<string, string> =>
  Object.fromEntries(history.entries.map(({ code, standing }) => [code, standing]));

test('runs are numbered in the order in which they begin, also one whose end nobody saw', () => {
  const history = new RunHistory();
  run(history, 'a');
  history.begin({ code: 'b', echo: 'all', kind: 'run' });
  run(history, 'c');
  expect(history.entries.map(({ code, executionCount }) => [code, executionCount])).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ]);
  expect(history.entries.map(({ ending }) => ending?.outcome.status)).toEqual(['succeeded', undefined, 'succeeded']);
});

test('undoing takes back the last run that may have changed the state, and what looked at it', () => {
  const history = new RunHistory();
  run(history, 'init', end(), 'init');
  run(history, 'x = 1');
  run(history, 'x = 2', end({ outcome: { status: 'raised' } }));
  run(history, 'x', end({ looksOnly: true }));
  run(history, 'crash', end({ outcome: CRASHED, state: 'restored' }));
  history.undo();
  expect(placesOf(history)).toEqual({
    init: 'present',
    'x = 1': 'present',
    'x = 2': 'undone',
    x: 'undone',
    crash: 'undone',
  });
  history.undo();
  history.undo();
  expect(placesOf(history)).toMatchObject({ init: 'present', 'x = 1': 'undone' });
});

test('after a restart nothing that ran before is present', () => {
  const history = new RunHistory();
  history.restart('nothing was there');
  expect(history.restartReason).toBeUndefined();
  run(history, 'a');
  history.restart('it was reset');
  run(history, 'b');
  history.undo();
  history.undo();
  expect(placesOf(history)).toEqual({ a: 'past', b: 'undone' });
  expect(history.restartReason).toBe('it was reset');
});

test('a crash that costs the state makes itself and all before it past', () => {
  const history = new RunHistory();
  run(history, 'a');
  run(history, 'crash', end({ outcome: CRASHED, state: 'lost' }));
  run(history, 'b');
  expect(placesOf(history)).toEqual({ a: 'past', crash: 'past', b: 'present' });
  expect(history.restartReason).toBe('it was lost');
});

test('a run that finds the state lost is part of the new one, and so is the init code before it', () => {
  const history = new RunHistory();
  run(history, 'a');
  history.onFreshInterpreter();
  run(history, 'init', foundLost(), 'init');
  run(history, 'b', foundLost());
  expect(placesOf(history)).toEqual({ a: 'past', init: 'present', b: 'present' });
  expect(history.restartReason).toBe('it was lost before');
});

test('a loss that several runs tell of is one loss, whatever ran in between', () => {
  const history = new RunHistory();
  run(history, 'a');
  history.onFreshInterpreter();
  run(history, 'init', foundLost(), 'init');
  run(history, 'x = 1', foundLost(), 'variables');
  run(history, 'crash', { ...foundLost(CRASHED), state: { ...foundLost().state, status: 'restored' } });
  run(history, 'b', foundLost());
  expect(placesOf(history)).toEqual({ a: 'past', init: 'present', 'x = 1': 'present', crash: 'present', b: 'present' });
});

test('a run that was stopped after the state had been lost can be undone: what it did is kept', () => {
  const history = new RunHistory();
  history.onFreshInterpreter();
  run(history, 'a', foundLost({ status: 'cancelled' }));
  history.undo();
  expect(placesOf(history)).toEqual({ a: 'undone' });
});

test('the oldest outputs go first, then the oldest runs', () => {
  const history = new RunHistory({ maxBytes: 60 });
  run(history, 'a');
  run(history, 'b');
  run(history, 'c');
  run(history, 'd');
  expect(history.entries.map(({ omittedBytes }) => omittedBytes)).toEqual([0, 0, 0, 0]);
  run(history, 'e');
  run(history, 'f');
  expect(history.entries.map(({ omittedBytes }) => omittedBytes)).toEqual([11, 11, 0, 0, 0, 0]);
  expect(history.entries.map(({ outputs }) => outputs.length)).toEqual([0, 0, 1, 1, 1, 1]);
  run(history, 'x'.repeat(57));
  expect(history.entries.map(({ code }) => code[0])).toEqual(['d', 'e', 'f', 'x']);
  expect(history.omittedRuns).toBe(3);
});

test('an error counts as output, and is left out with it', () => {
  const history = new RunHistory({ maxBytes: 100 });
  const error = { name: 'E', value: 'v', traceback: 't'.repeat(200) };
  history.begin({ code: 'a', echo: 'last', kind: 'run' })([], { ...end({ outcome: { status: 'raised' } }), error });
  expect(history.entries[0]).toMatchObject({ omittedBytes: 202, ending: { outcome: { status: 'raised' } } });
  expect(history.entries[0]?.ending).not.toHaveProperty('error');
});

test('there are never more runs than fit, and one that begins with too much code is not kept', () => {
  const history = new RunHistory({ maxRuns: 2, maxBytes: 100 });
  for (const code of ['a', 'b', 'c']) run(history, code);
  expect(history.entries.map(({ code }) => code)).toEqual(['b', 'c']);
  run(history, 'x'.repeat(101));
  expect(history.entries).toEqual([]);
  expect(history.omittedRuns).toBe(4);
});

test('the data behind a picture is not kept', () => {
  const history = new RunHistory();
  const result = { kind: 'figure', data: { 'text/plain': 'F' }, chart: { type: 'line' }, title: 'T' } as const;
  history.begin({ code: 'plot', echo: 'last', kind: 'run' })([{ type: 'result', result }], end());
  expect(history.entries[0]?.outputs).toEqual([
    { type: 'result', result: { kind: 'figure', data: { 'text/plain': 'F' }, title: 'T' } },
  ]);
});
