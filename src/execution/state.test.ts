import { expect, test } from 'vitest';
import { lostReceipt, NO_CHANGES, remarkedReceipt, StateAccount, untouchedReceipt, type StateEvent } from './state.ts';

const EFFECT = { variables: NO_CHANGES, unprotected: null };
const RESTORED = { status: 'restored', reason: 'the worker crashed' } as const;
const LOST = { status: 'lost', reason: 'the enclosure is gone' } as const;

test('a run that nothing happens to preserves the state', () => {
  const account = new StateAccount();
  expect(account.receipt(null, EFFECT)).toEqual({ status: 'preserved', generation: 1, variables: NO_CHANGES });
  expect(account.receipt(null, { ...EFFECT, unprotected: 'threads' })).toMatchObject({ unprotected: 'threads' });
});

test('a loss during a run starts a new generation', () => {
  const account = new StateAccount();
  expect(account.receipt(RESTORED, EFFECT)).toMatchObject({ ...RESTORED, generation: 2 });
  expect(account.receipt(LOST, EFFECT)).toMatchObject({ ...LOST, generation: 3 });
  expect(account.receipt(null, EFFECT)).toEqual({ status: 'preserved', generation: 3, variables: NO_CHANGES });
});

test('what happened between runs is in the next receipt, once', () => {
  const account = new StateAccount();
  account.note(RESTORED);
  expect(account.generation).toBe(2);
  expect(account.receipt(null, EFFECT)).toMatchObject({ ...RESTORED, generation: 2 });
  expect(account.receipt(null, EFFECT)).not.toHaveProperty('reason');
});

test('of several events between runs the first counts, but a loss always does', () => {
  const account = new StateAccount();
  account.note({ status: 'preserved', reason: 'a leftover was ended' });
  account.note(RESTORED);
  expect(account.receipt(null, EFFECT)).toMatchObject({ status: 'preserved', reason: 'a leftover was ended' });
  account.note(RESTORED);
  account.note(LOST);
  expect(account.receipt(null, EFFECT)).toMatchObject({ ...LOST, generation: 4 });
});

test('a loss between runs is not hidden by a restored run, and a lost run hides what came before', () => {
  const account = new StateAccount();
  account.note(LOST);
  expect(account.receipt(RESTORED, EFFECT)).toMatchObject(LOST);
  account.note(RESTORED);
  expect(account.receipt(LOST, EFFECT)).toMatchObject(LOST);
});

test('an event that cost nothing leaves the status to the run', () => {
  const account = new StateAccount();
  account.note({ status: 'preserved', reason: 'a leftover was ended' });
  expect(account.receipt(RESTORED, EFFECT)).toMatchObject({ status: 'restored', reason: 'a leftover was ended' });
});

test('a reset makes what happened before it irrelevant, a rollback does not', () => {
  const account = new StateAccount();
  account.note(RESTORED);
  expect(account.rollBack()).toBe(3);
  expect(account.receipt(null, EFFECT)).toMatchObject({ ...RESTORED, generation: 3 });
  account.note(LOST);
  account.reset();
  expect(account.receipt(null, EFFECT)).toEqual({ status: 'preserved', generation: 5, variables: NO_CHANGES });
});

test('a receipt can be corrected by what only the host knows', () => {
  const receipt = untouchedReceipt(3);
  expect(receipt).toEqual({ status: 'preserved', generation: 3, variables: NO_CHANGES });
  expect(lostReceipt(receipt, 'closed')).toMatchObject({ status: 'lost', reason: 'closed' });
  expect(remarkedReceipt(receipt, 'full')).toMatchObject({ status: 'preserved', reason: 'full' });
  expect(remarkedReceipt(lostReceipt(receipt, 'closed'), 'full')).toMatchObject({ reason: 'closed' });
});

const NOTICE = { status: 'preserved', reason: 'a leftover was ended' } as const;
const CRASHED = { status: 'restored', reason: 'the run crashed' } as const;
const GONE = { status: 'lost', reason: 'the run ended everything' } as const;

/** What happened between runs and during the run, and what the receipt of the run says of it. */
test.for<
  [
    between: readonly StateEvent[],
    during: StateEvent | null,
    status: string,
    reason: string | undefined,
    generation: number,
  ]
>([
  [[], null, 'preserved', undefined, 1],
  [[], CRASHED, 'restored', CRASHED.reason, 2],
  [[], GONE, 'lost', GONE.reason, 2],
  [[NOTICE], null, 'preserved', NOTICE.reason, 1],
  [[NOTICE], CRASHED, 'restored', NOTICE.reason, 2],
  [[NOTICE], GONE, 'lost', GONE.reason, 2],
  [[RESTORED], null, 'restored', RESTORED.reason, 2],
  [[RESTORED], CRASHED, 'restored', RESTORED.reason, 3],
  [[RESTORED], GONE, 'lost', GONE.reason, 3],
  [[LOST], null, 'lost', LOST.reason, 2],
  [[LOST], CRASHED, 'lost', LOST.reason, 3],
  [[LOST], GONE, 'lost', GONE.reason, 3],
  [[NOTICE, NOTICE], null, 'preserved', NOTICE.reason, 1],
  [[NOTICE, RESTORED], GONE, 'lost', GONE.reason, 3],
  [[NOTICE, LOST], null, 'lost', LOST.reason, 2],
  [[RESTORED, NOTICE], null, 'restored', RESTORED.reason, 2],
  [[RESTORED, LOST], CRASHED, 'lost', LOST.reason, 4],
  [[LOST, RESTORED], null, 'lost', LOST.reason, 3],
  [[LOST, NOTICE], CRASHED, 'lost', LOST.reason, 3],
  [[LOST, GONE], null, 'lost', GONE.reason, 3],
])(
  'after %j between runs and %j in the run, the state is %s because of %s in generation %d',
  ([between, during, status, reason, generation]) => {
    const account = new StateAccount();
    for (const event of between) account.note(event);
    const receipt = account.receipt(during, EFFECT);
    expect(receipt).toEqual({ status, generation, variables: NO_CHANGES, ...(reason !== undefined && { reason }) });
    expect(account.generation).toBe(generation);
    expect(account.receipt(null, EFFECT)).toEqual({ status: 'preserved', generation, variables: NO_CHANGES });
  },
);

test('a generation is never used twice, whatever happens', () => {
  const account = new StateAccount();
  const seen = new Set([account.generation]);
  const steps = [
    () => account.note(LOST),
    () => void account.rollBack(),
    () => account.reset(),
    () => void account.receipt(RESTORED, EFFECT),
    () => void account.receipt(LOST, EFFECT),
    () => account.note(RESTORED),
  ];
  for (const step of steps) {
    step();
    expect(seen.has(account.generation)).toBe(false);
    seen.add(account.generation);
  }
});

test('what the run did to the variables is said whatever became of the state', () => {
  const variables = { added: ['a'], changed: ['b'], removed: [], omitted: 3 };
  for (const event of [null, RESTORED, LOST]) {
    const receipt = new StateAccount().receipt(event, { variables, unprotected: 'a live thread' });
    expect(receipt).toMatchObject({ variables, unprotected: 'a live thread' });
  }
});

test('a correction keeps everything else of the receipt', () => {
  const receipt = new StateAccount().receipt(RESTORED, { variables: NO_CHANGES, unprotected: 'threads' });
  expect(lostReceipt(receipt, 'closed')).toEqual({ ...receipt, status: 'lost', reason: 'closed' });
  expect(remarkedReceipt(receipt, 'full')).toEqual(receipt);
});
