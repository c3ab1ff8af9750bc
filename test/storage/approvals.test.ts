import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ApprovalRequest } from '../../src/storage/approvals/approval.ts';
import { describeBackends, opened } from './backends.ts';

const HOUR_MS = 3_600_000;
const ASKED: ApprovalRequest = {
  threadId: 'thread',
  requestId: 'request',
  attempt: 1,
  code: 'print("π")',
  payload: { analysis: { calls: ['print'] }, effects: null },
  requestedBy: 'agent',
};
const REVIEWER = { by: 'ada' };

describeBackends(({ fresh, query }) => {
  test('an approval is kept as it was asked for, with the hash of its code', async () => {
    const { approvals } = await opened(await fresh());
    const before = Date.now();
    const asked = await approvals.create({ ...ASKED, checkpointNs: 'nested:1', expiresInMs: HOUR_MS });
    expect(asked).toMatchObject({ ...ASKED, checkpointNs: 'nested:1', status: 'pending', decision: null, run: null });
    expect(asked.codeSha256).toBe(sha256('print("π")'));
    expect(asked.createdAt.getTime()).toBeGreaterThanOrEqual(before - 1000);
    expect(asked.expiresAt?.getTime()).toBe(asked.createdAt.getTime() + HOUR_MS);
    expect(await approvals.get(asked.id)).toEqual(asked);
  });

  test('an approval is there when the storage is opened again', async () => {
    const place = await fresh();
    const first = await opened(place);
    const asked = await first.approvals.create(ASKED);
    await first.close();
    expect(await (await opened(place)).approvals.list({ status: 'pending' })).toEqual([asked]);
  });

  test('asking twice is asking once, unless anything that matters differs', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    expect(await approvals.create({ ...ASKED, payload: 'other' })).toMatchObject({ id, payload: ASKED.payload });
    const others = [
      { ...ASKED, threadId: 'other' },
      { ...ASKED, checkpointNs: 'other' },
      { ...ASKED, requestId: 'other' },
      { ...ASKED, attempt: 2 },
      { ...ASKED, code: 'print(2)' },
    ];
    const ids = await Promise.all(others.map(async (other) => (await approvals.create(other)).id));
    expect(new Set([id, ...ids]).size).toBe(6);
  });

  test('an approval that is decided is given to who asks again, with its decision', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    await approvals.decide(id, { type: 'reject', reason: 'no' }, REVIEWER);
    expect(await approvals.create(ASKED)).toMatchObject({ id, status: 'rejected' });
  });

  test.each([
    [{ type: 'approve' }, 'approved', sha256('print("π")')],
    [{ type: 'edit', code: 'print(2)', reason: 'better' }, 'edited', sha256('print(2)')],
    [{ type: 'reject', reason: 'dangerous' }, 'rejected', undefined],
    [{ type: 'respond', text: 'use pandas' }, 'responded', undefined],
  ] as const)('a decision is kept with who made it and when: %j', async (decision, status, codeSha256) => {
    const { approvals } = await opened(await fresh());
    const { id, codeSha256: proposed } = await approvals.create(ASKED);
    const decided = await approvals.decide(id, decision, REVIEWER);
    expect(decided).toMatchObject({ status, codeSha256: proposed, decision: { ...decision, by: 'ada' } });
    expect(decided.decision?.codeSha256).toBe(codeSha256);
    expect(decided.decision?.at).toBeInstanceOf(Date);
    expect(await approvals.get(id)).toEqual(decided);
    expect(await approvals.list({ status })).toEqual([decided]);
    expect(await approvals.list({ status: 'pending' })).toEqual([]);
  });

  test('a second decision is told who decided, when and how', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    const { decision } = await approvals.decide(id, { type: 'reject' }, REVIEWER);
    const second = approvals.decide(id, { type: 'approve' }, { by: 'bob' });
    await expect(second).rejects.toMatchObject({ code: 'APPROVAL_DECIDED' });
    await expect(second).rejects.toThrow(`was rejected by "ada" at ${decision?.at.toISOString()}`);
  });

  test.each(['no', 'a\0b', '\ud800', '00000000-0000-4000-8000-000000000000'])(
    'an unknown id is said to be unknown: %j',
    async (id) => {
      const { approvals } = await opened(await fresh());
      const attempts = [
        () => approvals.get(id),
        () => approvals.decide(id, { type: 'approve' }, REVIEWER),
        () => approvals.claimExecution(id, 'me', 1000),
        () => approvals.finish(id, 'me', null),
      ];
      for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    },
  );

  test('what waits beyond its time has expired, can neither be decided nor run, and is written down once', async () => {
    const { approvals, audit } = await opened(await fresh());
    const { id } = await approvals.create({ ...ASKED, expiresInMs: 0 });
    expect(await approvals.get(id)).toMatchObject({ status: 'expired' });
    expect(await approvals.list({ status: 'pending' })).toEqual([]);
    expect(await approvals.list({ status: 'expired' })).toHaveLength(1);
    await expect(approvals.claimExecution(id, 'me', 1000)).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' });
    await expect(approvals.decide(id, { type: 'approve' }, REVIEWER)).rejects.toMatchObject({
      code: 'APPROVAL_EXPIRED',
    });
    expect(await approvals.expire()).toEqual([]);
    expect((await audit.list()).map(({ action, actor }) => `${actor} ${action}`)).toEqual([
      'agent requested',
      'vivarium expired',
    ]);
  });

  test('expiring takes what is over at the given time, and nothing else', async () => {
    const { approvals } = await opened(await fresh());
    const ids = ['short', 'long', 'endless', 'decided'].map(async (threadId) => {
      const expiresInMs = { short: HOUR_MS, long: 3 * HOUR_MS, decided: HOUR_MS }[threadId] ?? null;
      return (await approvals.create({ ...ASKED, threadId, expiresInMs })).id;
    });
    const [short, , , decided = ''] = await Promise.all(ids);
    await approvals.decide(decided, { type: 'approve' }, REVIEWER);
    expect(await approvals.expire()).toEqual([]);
    const expired = await approvals.expire(new Date(Date.now() + 2 * HOUR_MS));
    expect(expired.map(({ id }) => id)).toEqual([short]);
    expect(await approvals.list({ status: 'pending' })).toHaveLength(2);
  });

  test('only what was approved or edited may be run', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    await expect(approvals.claimExecution(id, 'me', 1000)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    await approvals.decide(id, { type: 'reject' }, REVIEWER);
    await expect(approvals.claimExecution(id, 'me', 1000)).rejects.toMatchObject({ code: 'APPROVAL_DECIDED' });
  });

  test('a claim gives exactly the code that was allowed', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    await approvals.decide(id, { type: 'edit', code: 'print(2)' }, REVIEWER);
    const claim = await approvals.claimExecution(id, 'me', HOUR_MS);
    expect(claim).toMatchObject({ status: 'claimed', code: 'print(2)', codeSha256: sha256('print(2)') });
  });

  test('code that was changed behind the approval is not run', async () => {
    const place = await fresh();
    const { approvals } = await opened(place);
    const { id } = await approvals.create(ASKED);
    await approvals.decide(id, { type: 'approve' }, REVIEWER);
    await query(place, `UPDATE vivarium.approvals SET code = 'evil()' WHERE id = '${id}'`);
    await expect(approvals.claimExecution(id, 'me', HOUR_MS)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(await approvals.get(id)).toMatchObject({ run: null });
  });

  test('a run goes on while its lease is renewed, and has one end', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    await approvals.decide(id, { type: 'approve' }, REVIEWER);
    await approvals.claimExecution(id, 'me', HOUR_MS);
    expect(await approvals.claimExecution(id, 'you', HOUR_MS)).toMatchObject({
      status: 'running',
      run: { owner: 'me' },
    });
    expect(await approvals.renewClaim(id, 'me', 2 * HOUR_MS)).toBe(true);
    expect(await approvals.renewClaim(id, 'you', HOUR_MS)).toBe(false);
    await expect(approvals.finish(id, 'you', 'fine')).rejects.toMatchObject({ code: 'APPROVAL_NOT_CLAIMED' });
    const outcome = { status: 'succeeded', artifacts: ['a1'] };
    expect(await approvals.finish(id, 'me', outcome)).toMatchObject({ run: { status: 'finished', outcome } });
    expect(await approvals.finish(id, 'me', 'again')).toMatchObject({ run: { outcome } });
    expect(await approvals.claimExecution(id, 'you', HOUR_MS)).toMatchObject({ status: 'finished', run: { outcome } });
    expect(await approvals.renewClaim(id, 'me', HOUR_MS)).toBe(false);
  });

  test('a run whose owner fell silent is unknown and never given to another; the owner may still finish it', async () => {
    const { approvals } = await opened(await fresh());
    const { id } = await approvals.create(ASKED);
    await approvals.decide(id, { type: 'approve' }, REVIEWER);
    await approvals.claimExecution(id, 'slow', 0);
    expect(await approvals.claimExecution(id, 'other', HOUR_MS)).toMatchObject({
      status: 'unknown',
      run: { owner: 'slow' },
    });
    expect(await approvals.get(id)).toMatchObject({ run: { status: 'unknown' } });
    expect(await approvals.renewClaim(id, 'slow', HOUR_MS)).toBe(false);
    expect(await approvals.finish(id, 'slow', 'late')).toMatchObject({ run: { status: 'finished', outcome: 'late' } });
  });

  test('what cannot be stored is refused, and nothing is', async () => {
    const { approvals, audit } = await opened(await fresh());
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    const wrong: unknown[] = [
      { ...ASKED, threadId: '' },
      { ...ASKED, requestId: 'x'.repeat(513) },
      { ...ASKED, code: 'a\0b' },
      { ...ASKED, code: 'x'.repeat((1 << 20) + 1) },
      { ...ASKED, code: '\ud800' },
      { ...ASKED, attempt: 1.5 },
      { ...ASKED, expiresInMs: -1 },
      { ...ASKED, payload: 'x'.repeat(5 << 20) },
      { ...ASKED, payload: circle },
      { ...ASKED, surprise: 1 },
    ];
    for (const request of wrong) {
      await expect(approvals.create(request as ApprovalRequest)).rejects.toMatchObject({ code: 'RECORD_INVALID' });
    }
    const { id } = await approvals.create(ASKED);
    await expect(approvals.decide(id, { type: 'shrug' } as never, REVIEWER)).rejects.toMatchObject({
      code: 'RECORD_INVALID',
    });
    await expect(approvals.decide(id, { type: 'approve' }, { by: '' })).rejects.toMatchObject({
      code: 'RECORD_INVALID',
    });
    expect(await approvals.list()).toHaveLength(1);
    expect(await audit.list()).toHaveLength(1);
  });

  test('any text in payloads, reasons and names comes back as it was', async () => {
    const { approvals } = await opened(await fresh());
    const hostile = `'; DROP TABLE approvals; -- $1 ? \u{1f40d} \u0001`;
    const payload = { [hostile]: ['a\0b', '\ud800', null, 1e300, { deep: [[]] }] };
    const { id } = await approvals.create({ ...ASKED, threadId: hostile, code: hostile, payload });
    await approvals.decide(id, { type: 'reject', reason: hostile }, { by: hostile });
    const found = await approvals.list({ threadId: hostile });
    expect(found).toMatchObject([
      { threadId: hostile, code: hostile, payload, decision: { reason: hostile, by: hostile } },
    ]);
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
