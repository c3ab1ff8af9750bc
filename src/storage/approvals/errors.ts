/** The errors of operations on approvals. */
import { VivariumError } from '../../errors.ts';
import type { Approval, ApprovalStatus } from './approval.ts';

export function notFound(id: string): VivariumError {
  return new VivariumError(
    'APPROVAL_NOT_FOUND',
    `There is no approval ${JSON.stringify(id.slice(0, 64))}. It may be in another database. List the pending approvals to find it.`,
  );
}

/** For a decision that comes too late. */
export function undecidable(approval: Approval): VivariumError {
  if (approval.status === 'expired') return expired(approval);
  return new VivariumError(
    'APPROVAL_DECIDED',
    `Approval ${approval.id} was ${approval.status} ${byWhom(approval)}. The first decision counts. To decide differently, send the request again.`,
  );
}

/** For a run that nobody approved. */
export function notAllowed(approval: Approval): VivariumError {
  if (approval.status === 'expired') return expired(approval);
  if (approval.status !== 'pending') return undecidable(approval);
  return new VivariumError(
    'APPROVAL_PENDING',
    `Approval ${approval.id} is still pending, so its code was not run. Approve or edit it first.`,
  );
}

export function notClaimed({ id, run }: Approval, owner: string): VivariumError {
  const holder = run === null ? 'nobody' : JSON.stringify(run.owner);
  return new VivariumError(
    'APPROVAL_NOT_CLAIMED',
    `The run of approval ${id} is claimed by ${holder}, not by ${JSON.stringify(owner)}. Only the owner of the claim may finish it.`,
  );
}

/** Whether the code of an approval with this status may run. */
export function isAllowed(status: ApprovalStatus): boolean {
  return status === 'approved' || status === 'edited';
}

function expired({ id, expiresAt }: Approval): VivariumError {
  return new VivariumError(
    'APPROVAL_EXPIRED',
    `Approval ${id} expired at ${expiresAt?.toISOString() ?? 'an unknown time'} before anybody decided, so its code was not run. Send the request again.`,
  );
}

function byWhom({ decision }: Approval): string {
  return decision === null
    ? 'by an unknown reviewer'
    : `by ${JSON.stringify(decision.by)} at ${decision.at.toISOString()}`;
}
