/** The oracle itself: it believes what can be true and notices what cannot. */
import { describe, expect, test } from 'vitest';
import { Beliefs, Lie } from './beliefs.ts';
import { assign, change, compose, look, READING, writeFile, type Program } from './programs.ts';
import type { Answer, Receipt } from './receipts.ts';
import { EMPTY, readingOf, type State } from './state.ts';

const NONE = { added: [], changed: [], removed: [] };
const SUCCEEDED = { status: 'succeeded' } as const;
const CANCELLED = { status: 'cancelled' } as const;
const CRASHED = { status: 'crashed', signal: 'SIGKILL', exitCode: null, reason: 'killed' } as const;
const SET = compose([assign('x', '1', 1), writeFile('f', 'new'), assign('y', '2', 2)], { kind: 'succeeds' });
const ADD = compose([change('x', 'x += 1', (x) => Number(x) + 1)], { kind: 'succeeds' });
const AFTER_SET: State = { variables: { x: 1, y: 2 }, files: { f: 'new' } };

function answer(parts: Omit<Partial<Answer>, 'state'> = {}, state: Partial<Receipt> = {}): Answer {
  const receipt: Receipt = { status: 'preserved', generation: 1, variables: NONE, ...state };
  const usual = { outcome: SUCCEEDED, stdout: '', files: [], hasRun: true, tellsEarlier: true, isCut: false };
  return { ...usual, ...parts, state: receipt };
}

function told(added: readonly string[], changed: readonly string[] = []): Partial<Receipt> {
  return { variables: { added, changed, removed: [] } };
}

/** A session in which SET has run. */
function afterSet(): Beliefs {
  const beliefs = new Beliefs({});
  beliefs.learn(SET, answer({ files: ['f'] }, told(['x', 'y'])));
  return beliefs;
}

function reading(state: State): [Program, Answer] {
  return [READING, answer({ value: readingOf(state) })];
}

test('a run that did all it should leaves one possible state, which a reading confirms', () => {
  const beliefs = afterSet();
  expect(beliefs.list).toMatchObject([{ state: AFTER_SET, undo: EMPTY }]);
  beliefs.learn(...reading(AFTER_SET));
  expect(beliefs.list).toMatchObject([{ state: AFTER_SET, undo: AFTER_SET }]); // a reading is no look
});

const LIES: Readonly<Record<string, (beliefs: Beliefs) => void>> = {
  'another value': (beliefs) => beliefs.learn(...reading({ ...AFTER_SET, variables: { x: 1, y: 3 } })),
  'another file': (beliefs) => beliefs.learn(...reading({ ...AFTER_SET, files: { f: '' } })),
  'a change that is not named': (beliefs) => beliefs.learn(ADD, answer()),
  'a variable that did not change': (beliefs) => beliefs.learn(ADD, answer({}, told([], ['x', 'y']))),
  'a file that was not written': (beliefs) => beliefs.learn(ADD, answer({ files: ['f'] }, told([], ['x']))),
  'restored, but it succeeded': (beliefs) => beliefs.learn(ADD, answer({}, { status: 'restored' })),
  'lost, but it succeeded': (beliefs) => beliefs.learn(ADD, answer({}, { status: 'lost' })),
  'an exception that cannot be': (beliefs) =>
    beliefs.learn(ADD, answer({ outcome: { status: 'raised' }, error: { name: 'NameError' } })),
  'other output': (beliefs) => beliefs.learn(ADD, answer({ stdout: '2\n' }, told([], ['x']))),
  'another value that is shown': (beliefs) => beliefs.learn(look('x'), answer({ shown: '2', value: 1 })),
  'restored, but it is gone': (beliefs) => {
    beliefs.learn(ADD, answer({ outcome: CRASHED }, { status: 'restored' }));
    beliefs.learn(...reading({ ...AFTER_SET, variables: {} }));
  },
  'lost, but it is still there': (beliefs) => {
    beliefs.learn(ADD, answer({ outcome: CRASHED }, { status: 'lost' }));
    beliefs.learn(...reading(AFTER_SET));
  },
  'a loss after which nothing is said': (beliefs) => {
    beliefs.learnNothing(ADD, false);
    beliefs.learn(...reading({ ...AFTER_SET, variables: {} }));
  },
  'a rollback of more than one change': (beliefs) => {
    beliefs.learn(ADD, answer({}, told([], ['x'])));
    beliefs.rolledBack('restored');
    beliefs.learn(...reading(EMPTY));
  },
  'a second rollback': (beliefs) => {
    beliefs.learn(look('x'), answer({ shown: '1', value: 1 }));
    beliefs.rolledBack('restored');
    beliefs.learn(...reading(EMPTY));
    beliefs.rolledBack('restored'); // of the reading
    beliefs.rolledBack('restored');
  },
};

describe.for(Object.entries(LIES))('%s', ([, tell]) => {
  test('is a lie', () => {
    expect(() => tell(afterSet())).toThrow(Lie);
  });
});

test('a run that was stopped may have done any part of its steps, as far as its receipt agrees', () => {
  const beliefs = new Beliefs({});
  beliefs.learn(SET, answer({ outcome: CANCELLED, files: ['f'] }, told(['x'])));
  const states = beliefs.list.map(({ state }) => state);
  expect(states).toContainEqual({ variables: { x: 1 }, files: { f: '' } });
  expect(states).toContainEqual({ variables: { x: 1 }, files: { f: 'new' } });
  expect(states).toHaveLength(2);
});

test('a file that was opened in vain is named, as it was or empty', () => {
  const beliefs = afterSet();
  const starved = { outcome: { status: 'raised' }, error: { name: 'OSError' }, files: ['f'] } as const;
  beliefs.learn(compose([writeFile('f', 'newer')], { kind: 'succeeds' }), answer(starved));
  beliefs.learn(...reading({ ...AFTER_SET, files: { f: '' } }));
  beliefs.learn(compose([writeFile('f', 'newer')], { kind: 'succeeds' }), answer(starved));
  beliefs.learn(...reading({ ...AFTER_SET, files: { f: '' } }));
  expect(beliefs.list).toMatchObject([{ state: { files: { f: '' } } }]);
});

test('a loss that was not told yet must be told by the next receipt, and what the run did is kept', () => {
  const beliefs = afterSet();
  beliefs.disturb();
  const earlier = { status: 'lost', reason: 'killed' } as const;
  beliefs.learn(SET, answer({ files: [] }, { status: 'lost', earlier, ...told(['x', 'y']) }));
  expect(beliefs.list.map(({ state }) => state)).toEqual([AFTER_SET]);
});

test('a run that never began may tell of a loss before it, and did nothing itself', () => {
  const beliefs = afterSet();
  const earlier = { status: 'lost', reason: 'killed' } as const;
  beliefs.learn(ADD, answer({ outcome: CANCELLED, hasRun: false }, { status: 'lost', earlier }));
  const state = { variables: {}, files: { f: 'new' } };
  expect(beliefs.list).toMatchObject([{ state, since: 'nothing' }]);
  expect(() => beliefs.learn(...reading(AFTER_SET))).toThrow(Lie);
});

test('a receipt that leaves a loss to a later one changes nothing', () => {
  const beliefs = afterSet();
  beliefs.learn(ADD, answer({ outcome: CANCELLED, hasRun: false, tellsEarlier: false }));
  const earlier = { status: 'lost', reason: 'killed' } as const;
  beliefs.learn(SET, answer({ files: [] }, { status: 'lost', earlier, ...told(['x', 'y']) }));
  expect(beliefs.list.map(({ state }) => state)).toEqual([AFTER_SET]);
});

test('a restore that was not told yet costs nothing but the way back', () => {
  const beliefs = afterSet();
  const earlier = { status: 'restored', reason: 'killed' } as const;
  beliefs.learn(look('x'), answer({ shown: '1', value: 1 }, { earlier }));
  expect(beliefs.list).toMatchObject([{ state: AFTER_SET, undo: null }]);
});

test('init code is in every fresh interpreter, and files stay', () => {
  const beliefs = new Beliefs({ base: 7 });
  beliefs.learn(SET, answer({ files: ['f'] }, told(['x', 'y'])));
  beliefs.reset();
  expect(beliefs.guess).toEqual({ variables: { base: 7 }, files: { f: 'new' } });
});

test('of files that were restored in part, each may be as it was or as it is', () => {
  const beliefs = afterSet();
  beliefs.learn(
    compose([writeFile('f', 'newer'), writeFile('g', 'g')], { kind: 'succeeds' }),
    answer({ files: ['f', 'g'] }),
  );
  beliefs.rolledBack('restored in part: not f: Operation not permitted');
  beliefs.learn(...reading({ ...AFTER_SET, files: { f: 'newer' } }));
  expect(beliefs.list).toMatchObject([{ state: { files: { f: 'newer' } } }]);
});
