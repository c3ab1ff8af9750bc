import { expect, test } from 'vitest';
import { describeOutcome, describeState } from './description.ts';
import type { StateReceipt } from './execution.ts';
import type { Outcome } from './outcome.ts';

const CRASHED = { status: 'crashed', signal: 'SIGSEGV', exitCode: null, reason: 'killed by SIGSEGV' } as const;

test.for<[Outcome, headline: string, clause: string]>([
  [{ status: 'succeeded' }, 'succeeded', 'it succeeded'],
  [{ status: 'raised' }, 'raised an exception', 'it raised an exception'],
  [{ status: 'timed-out', limit: 'wall', limitMs: 300 }, 'timed out after 300 ms', 'it timed out after 300 ms'],
  [
    { status: 'timed-out', limit: 'cpu', limitMs: 2500 },
    'timed out after 2.5 s of processor time',
    'it timed out after 2.5 s of processor time',
  ],
  [{ status: 'cancelled' }, 'cancelled', 'it was cancelled'],
  [
    { status: 'out-of-memory', limitMb: 64 },
    'out of memory: the limit is 64 MB',
    'it ran out of memory: the limit is 64 MB',
  ],
  [CRASHED, 'crashed: killed by SIGSEGV', 'it crashed: killed by SIGSEGV'],
])('%o reads as a headline and as a clause', ([outcome, headline, clause]) => {
  expect([describeOutcome(outcome), describeOutcome(outcome, 'it')]).toEqual([headline, clause]);
});

const receipt = (status: StateReceipt['status'], reason?: string): StateReceipt => ({
  status,
  generation: 0,
  variables: { added: [], changed: [], removed: [] },
  ...(reason !== undefined && { reason }),
});

test('the state is described only where something happened to it', () => {
  expect(describeState(receipt('preserved'))).toBe('');
  expect(describeState(receipt('preserved', 'a notice'))).toBe('a notice');
  expect(describeState(receipt('restored', 'it crashed'))).toBe(
    'the process was lost (it crashed); every variable is as it was before this run',
  );
  expect(describeState(receipt('lost'))).toBe(
    'all variables are lost (the reason is not known); this is a fresh interpreter',
  );
});

test('what happened before a run is never said of the run itself', () => {
  const restored = { earlier: { status: 'restored', reason: 'it was killed' } } as const;
  const lost = { earlier: { status: 'lost', reason: 'it was killed' } } as const;
  expect(describeState({ ...receipt('preserved'), ...restored })).toBe(
    'before this run the process was lost (it was killed); a copy with every variable took over, and what this run did is kept',
  );
  expect(describeState({ ...receipt('preserved', 'a notice'), ...restored })).toMatch(/is kept; a notice$/);
  expect(describeState({ ...receipt('lost', 'it was killed'), ...lost })).toBe(
    'all variables from before this run are lost (it was killed); it ran in a fresh interpreter, and what it did is kept',
  );
  expect(describeState({ ...receipt('restored', 'it crashed'), ...lost })).toMatch(
    /\(it crashed\).* before this run; before it, all variables had been lost \(it was killed\)$/,
  );
  expect(describeState({ ...receipt('restored', 'it crashed'), ...restored })).toMatch(/as it was before this run$/);
});
