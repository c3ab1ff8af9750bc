import { expect, test } from 'vitest';
import type { StateReceipt } from './execution.ts';
import {
  acknowledge,
  closedReceipt,
  effectsOf,
  NO_CHANGES,
  remarkedReceipt,
  StateAccount,
  untouchedReceipt,
  type StateEvent,
} from './state.ts';

const EFFECT = { variables: NO_CHANGES, unprotected: null, remedy: null };
const RESTORED = { status: 'restored', reason: 'the worker crashed' } as const;
const LOST = { status: 'lost', reason: 'the enclosure is gone' } as const;
const QUIET = { event: null };

/** The receipt of a run, and that a caller has got it. */
function received(account: StateAccount, event: StateEvent | null = null): StateReceipt {
  const receipt = account.receipt({ event }, EFFECT);
  acknowledge(receipt);
  return receipt;
}

test('a run that nothing happened to preserves the state', () => {
  const account = new StateAccount();
  expect(received(account)).toEqual({ status: 'preserved', generation: 1, variables: NO_CHANGES });
  expect(account.receipt(QUIET, { ...EFFECT, unprotected: 'threads' })).toMatchObject({ unprotected: 'threads' });
});

test('what happens during a run is in its receipt, and starts a generation', () => {
  const account = new StateAccount();
  expect(received(account, RESTORED)).toMatchObject({ ...RESTORED, generation: 2 });
  expect(received(account, LOST)).toMatchObject({ ...LOST, generation: 3 });
  expect(received(account)).toEqual({ status: 'preserved', generation: 3, variables: NO_CHANGES });
});

test('a receipt that no caller has received is told again, and one that was received is not', () => {
  const account = new StateAccount();
  account.note(RESTORED);
  const told = { status: 'preserved', generation: 2, variables: NO_CHANGES, earlier: RESTORED };
  expect(account.receipt(QUIET, EFFECT)).toEqual(told);
  expect(received(account)).toEqual(told);
  expect(received(account)).toEqual({ status: 'preserved', generation: 2, variables: NO_CHANGES });
});

test('what happened to a run whose receipt was not received is told by the next one', () => {
  const account = new StateAccount();
  account.receipt({ event: RESTORED, ifUntold: { status: 'restored', reason: 'a left run crashed' } }, EFFECT);
  expect(received(account).earlier).toEqual({ status: 'restored', reason: 'a left run crashed' });
  account.receipt({ event: null, ifUntold: { status: 'preserved', reason: 'a left run was stopped' } }, EFFECT);
  expect(received(account)).toMatchObject({ status: 'preserved', reason: 'a left run was stopped' });
  expect(received(account)).not.toHaveProperty('reason');
});

test('an event that comes while a receipt is on its way is not taken for told', () => {
  const account = new StateAccount();
  account.note(RESTORED);
  const receipt = account.receipt(QUIET, EFFECT);
  account.note(LOST);
  acknowledge(receipt);
  expect(received(account)).toMatchObject({ status: 'lost', earlier: LOST, generation: 3 });
});

test('a changed copy of a receipt acknowledges the same', () => {
  for (const change of [closedReceipt, remarkedReceipt]) {
    const account = new StateAccount();
    account.note(RESTORED);
    acknowledge(change(account.receipt(QUIET, EFFECT), 'a reason'));
    expect(received(account)).not.toHaveProperty('earlier');
  }
});

test('a remark learns when it is told, and the receipt below it too', () => {
  const account = new StateAccount();
  account.note(RESTORED);
  const told: string[] = [];
  const once = remarkedReceipt(account.receipt(QUIET, EFFECT), 'one', () => told.push('one'));
  const twice = remarkedReceipt(
    remarkedReceipt(once, 'two', () => told.push('two')),
    'three',
  );
  expect(twice.reason).toMatch(/one; two; three$/);
  expect(told).toEqual([]);
  acknowledge(twice);
  expect(told).toEqual(['one', 'two']);
  expect(received(account)).not.toHaveProperty('earlier');
});

test('a reset that its owner asked for makes everything before it meaningless', () => {
  const account = new StateAccount();
  account.note(LOST);
  expect(account.receipt(QUIET, EFFECT)).toMatchObject({ ...LOST, generation: 2 });
  account.reset();
  expect(received(account)).toEqual({ status: 'preserved', generation: 3, variables: NO_CHANGES });
});

test('a rollback is told along with what was not told before it', () => {
  const account = new StateAccount();
  account.receipt({ event: null, ifUntold: { status: 'preserved', reason: 'a run was left' } }, EFFECT);
  expect(account.rollBack()).toBe(2);
  expect(received(account)).toMatchObject({ reason: 'a run was left; then the last change was rolled back' });
  account.rollBack();
  expect(received(account)).not.toHaveProperty('reason');
});

const NOTICE = { status: 'preserved', reason: 'a leftover was ended' } as const;
const CRASHED = { status: 'restored', reason: 'the run crashed' } as const;
const GONE = { status: 'lost', reason: 'the run ended everything' } as const;
const [R, L, N, C, G] = [RESTORED, LOST, NOTICE, CRASHED, GONE].map(({ reason }) => reason);

/** What happened between runs and during the run, and what the receipt of the run says of it. */
type Row = readonly [
  between: readonly StateEvent[],
  during: StateEvent | null,
  status: StateReceipt['status'],
  reason: string | undefined,
  earlier: StateReceipt['earlier'],
  generation: number,
];
const ROWS: readonly Row[] = [
  [[], null, 'preserved', undefined, undefined, 1],
  [[], CRASHED, 'restored', C, undefined, 2],
  [[], GONE, 'lost', G, undefined, 2],
  [[NOTICE], null, 'preserved', N, undefined, 1],
  [[NOTICE], CRASHED, 'restored', `${C}; ${N}`, undefined, 2],
  [[NOTICE], GONE, 'lost', `${G}; ${N}`, undefined, 2],
  [[RESTORED], null, 'preserved', undefined, RESTORED, 2],
  [[RESTORED], CRASHED, 'restored', C, RESTORED, 3],
  [[RESTORED], GONE, 'lost', `${G}; before this run, ${R}`, undefined, 3],
  [[LOST], null, 'lost', L, LOST, 2],
  [[LOST], CRASHED, 'restored', C, LOST, 3],
  [[LOST], GONE, 'lost', `${G}; before this run, ${L}`, undefined, 3],
  [[NOTICE, RESTORED], null, 'preserved', N, RESTORED, 2],
  [[RESTORED, LOST], CRASHED, 'restored', C, LOST, 4],
  [[LOST, RESTORED], null, 'lost', `${L}; ${R}`, { status: 'lost', reason: `${L}; ${R}` }, 3],
  [[LOST, NOTICE], null, 'lost', `${L}; ${N}`, LOST, 2],
  [[LOST, LOST], null, 'lost', L, LOST, 3],
];

test.for(ROWS)('%j between runs and %j during one: %s', ([between, during, status, reason, earlier, generation]) => {
  const account = new StateAccount();
  for (const event of between) account.note(event);
  expect(received(account, during)).toEqual({
    status,
    generation,
    variables: NO_CHANGES,
    ...(reason !== undefined && { reason }),
    ...(earlier !== undefined && { earlier }),
  });
  expect(received(account)).toEqual({ status: 'preserved', generation, variables: NO_CHANGES });
});

test('the generation never goes back, and each event starts one', () => {
  const account = new StateAccount();
  const steps: readonly (() => void)[] = [
    () => account.note(RESTORED),
    () => account.note(LOST),
    () => void received(account, RESTORED),
    () => void received(account, LOST),
    () => account.reset(),
    () => void account.rollBack(),
  ];
  for (const [index, step] of steps.entries()) {
    step();
    expect(account.generation).toBe(index + 2);
  }
});

test('a caller that never takes a result does not make the untold grow, and a loss is not crowded out', () => {
  const account = new StateAccount();
  account.note(LOST);
  for (let run = 0; run < 100; run += 1) {
    account.receipt({ event: null, ifUntold: { status: 'preserved', reason: `run ${run} was left` } }, EFFECT);
  }
  const receipt = received(account);
  expect(receipt.earlier).toEqual(LOST);
  expect(receipt.reason).toMatch(/run 99 was left$/);
  expect(receipt.reason?.length).toBeLessThan(300);
});

test('a remedy is told once a caller has received it, and again for another reason', () => {
  const account = new StateAccount();
  const effect = (unprotected: string, remedy: string) => ({ variables: NO_CHANGES, unprotected, remedy });
  expect(account.receipt(QUIET, effect('2 threads', 'end them'))).toMatchObject({ remedy: 'end them' });
  const second = account.receipt(QUIET, effect('3 threads', 'end them'));
  expect(second).toMatchObject({ unprotected: '3 threads', remedy: 'end them' });
  acknowledge(second);
  const third = account.receipt(QUIET, effect('4 threads', 'end them'));
  expect(third).toMatchObject({ unprotected: '4 threads' });
  expect(third).not.toHaveProperty('remedy');
  expect(account.receipt(QUIET, effect('90 MB', 'free some'))).toMatchObject({ remedy: 'free some' });
});

test('the variables of the run and what protects it are told whatever happened', () => {
  const variables = { added: ['a'], changed: ['b'], removed: ['c'] };
  for (const event of [null, RESTORED, LOST]) {
    const receipt = new StateAccount().receipt({ event }, { variables, unprotected: 'a live thread', remedy: null });
    expect(receipt).toMatchObject({ variables, unprotected: 'a live thread' });
  }
});

test('a receipt can be corrected by what only the host knows', () => {
  const receipt = untouchedReceipt(3);
  expect(receipt).toMatchObject({
    status: 'preserved',
    generation: 3,
    reason: expect.stringMatching(/before any/) as unknown,
  });
  expect(closedReceipt(receipt, 'closed')).toMatchObject({ status: 'lost', reason: 'closed' });
  expect(remarkedReceipt(new StateAccount().receipt(QUIET, EFFECT), 'full')).toMatchObject({ reason: 'full' });
  expect(remarkedReceipt(closedReceipt(receipt, 'closed'), 'full')).toMatchObject({ reason: 'closed; full' });
});

test('a receipt says what became of that which the run did', () => {
  expect(effectsOf({ status: 'preserved', earlier: RESTORED })).toBe('kept');
  expect(effectsOf({ status: 'restored', earlier: LOST })).toBe('undone');
  expect(effectsOf({ status: 'lost', earlier: LOST })).toBe('kept');
  expect(effectsOf({ status: 'lost' })).toBe('lost');
});
