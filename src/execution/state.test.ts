import { expect, test } from 'vitest';
import { lostReceipt, NO_CHANGES, remarkedReceipt, StateAccount, untouchedReceipt } from './state.ts';

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
