import type { Approval } from '../../storage/approval/approval.ts';

/** An approval as JSON, with the keys in snake case like all JSON of the service. */
export function approvalJson(approval: Approval): Readonly<Record<string, unknown>> {
  const { decision, run } = approval;
  return {
    id: approval.id,
    status: approval.status,
    thread_id: approval.threadId,
    attempt: approval.attempt,
    code: approval.code,
    code_sha256: approval.codeSha256,
    requested_by: approval.requestedBy,
    created_at: approval.createdAt,
    expires_at: approval.expiresAt,
    decision: decision && { ...withoutHash(decision), code_sha256: decision.codeSha256 ?? null },
    run: run && {
      status: run.status,
      owner: run.owner,
      claimed_at: run.claimedAt,
      ...(run.status === 'finished'
        ? { finished_at: run.finishedAt, outcome: run.outcome }
        : { lease_until: run.leaseUntil }),
    },
    payload: approval.payload,
  };
}

function withoutHash(decision: NonNullable<Approval['decision']>): object {
  const { codeSha256: _, ...rest } = decision;
  return rest;
}
