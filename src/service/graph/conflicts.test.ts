import { expect, test } from 'vitest';
import type { Approval, ApprovedRun } from '../../storage/approvals/approval.ts';
import { assertFree, nothingWaits, waitsForAnother } from './conflicts.ts';
import type { ServiceState } from './state.ts';

const AT = new Date(0);
const RUNNING: ApprovedRun = { status: 'running', owner: 'a', claimedAt: AT, leaseUntil: AT };
const LOST: ApprovedRun = { ...RUNNING, status: 'unknown' };
const FINISHED: ApprovedRun = { status: 'finished', owner: 'a', claimedAt: AT, finishedAt: AT, outcome: null };

function approval(more: Partial<Approval> = {}): Approval {
  return {
    id: 'a1',
    threadId: 't',
    checkpointNs: '',
    requestId: 'r',
    attempt: 1,
    code: 'x',
    codeSha256: '',
    payload: null,
    requestedBy: 'me',
    createdAt: AT,
    expiresAt: null,
    status: 'pending',
    decision: null,
    run: null,
    ...more,
  };
}

/** A request that may have run code with write access when its process was lost. */
const LAST: Partial<ServiceState> = {
  code: 'caput("X", 1)',
  next: 'execute',
  verdict: { mode: 'write_access', warnings: [], details: {}, reasoning: '', approvedKinds: [] },
};
const READ_ONLY: Partial<ServiceState> = {
  ...LAST,
  verdict: { mode: 'read_only', warnings: [], details: {}, reasoning: '', approvedKinds: [] },
};
const ENDED = { status: 'failed', failure: { type: 'X', message: '', facts: {} } } as const;

test('a thread without a request, or whose request has ended, is free', () => {
  expect(assertFree({}, null, false)).toEqual([]);
  expect(assertFree({ ...LAST, outcome: ENDED }, null, false)).toEqual([]);
});

test('a thread that waits for an approval is not free, unless the approval has expired', () => {
  expect(() => assertFree({ next: 'approve' }, approval(), true)).toThrow('waits for approval a1');
  expect(assertFree({ next: 'approve' }, approval({ status: 'expired' }), true)).toEqual([]);
});

test('a thread whose approved code runs is not free', () => {
  const asked = approval({ status: 'approved', run: RUNNING });
  expect(() => assertFree(LAST, asked, false)).toThrow('is already running');
});

test('code with write access that was lost is reported to the next reviewer', () => {
  expect(assertFree(LAST, null, false)).toEqual([
    expect.stringMatching(/^Earlier code of this thread .* may have written/),
  ]);
  const [warning] = assertFree(LAST, approval({ status: 'approved', run: LOST }), false);
  expect(warning).toContain('of approval a1');
});

test('code that could only read, or that never ran, needs no warning', () => {
  expect(assertFree(READ_ONLY, null, false)).toEqual([]);
  expect(assertFree({ ...LAST, next: 'analyze' }, null, false)).toEqual([]);
});

test('an answer to nothing is told why there is nothing', () => {
  expect(nothingWaits({}, null).message).toContain('has no request');
  const request = {} as ServiceState['request'];
  expect(nothingWaits({ request, outcome: ENDED }, null).message).toContain('has ended');
  expect(nothingWaits({ request }, approval({ run: FINISHED })).message).toContain('has already run');
  expect(nothingWaits({ request }, approval({ run: LOST })).message).toContain('was lost');
  expect(nothingWaits({ request }, null).message).toContain('does not wait for an approval');
});

test('an outdated approval says whether it was decided', () => {
  expect(waitsForAnother(approval()).message).toContain('is out of date');
  const rejected = approval({ status: 'rejected', decision: { type: 'reject', by: 'Ann', at: AT } });
  expect(waitsForAnother(rejected)).toMatchObject({ code: 'APPROVAL_DECIDED' });
});
