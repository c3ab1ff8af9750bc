/** Conflicts on a thread: why a request cannot start, and why an answer has nothing to answer. */
import { sha256Of, type Approval } from '../../storage/approvals/approval.ts';
import { undecidable } from '../../storage/approvals/errors.ts';
import { ServiceConfigurationError, WorkflowError } from '../api/failures.ts';
import type { ServiceState } from './state.ts';
import { alreadyClaimed } from '../approval/claim.ts';

/**
 * Refuses a new request on a thread whose last request waits for an answer or runs approved code. Returns warnings for the
 * reviewer: code whose process was lost may have written something, and nobody else would report it.
 */
export function assertFree(last: Partial<ServiceState>, asked: Approval | null, isWaiting: boolean): string[] {
  if (last.outcome) return [];
  if (isWaiting && asked?.run === null && asked.status !== 'expired') throw stillWaiting(asked);
  const isUnfinished = asked?.run != null && asked.run.status !== 'finished';
  const mayHaveRun = isUnfinished || last.next === 'execute';
  if (!mayHaveRun || last.verdict?.mode === 'read_only') return [];
  if (asked?.run?.status === 'running') throw alreadyClaimed(asked.id, asked.run.status);
  return [lostRun(last.code ?? '', asked)];
}

function lostRun(code: string, asked: Approval | null): string {
  const whose = asked === null ? '' : `, of approval ${asked.id}`;
  return `Earlier code of this thread (sha256 ${sha256Of(code).slice(0, 12)}…${whose}) was stopped or lost with its process: it may have written, in part or in full. Check what it changed before this code runs.`;
}

function stillWaiting({ id }: Approval): Error {
  return new ServiceConfigurationError(
    `This thread waits for approval ${id}. Answer it with new Command({ resume: … }), or use another thread_id for a new request.`,
  );
}

/** For a request whose thread was used for another request in the meantime. */
export function takenOver(): Error {
  return new WorkflowError(
    'The result is not known: another request started on this thread in the meantime. Use a separate thread_id for each concurrent request.',
    { stage: 'unknown' },
  );
}

/** For an approval whose request no longer waits for it. */
export function waitsForAnother(approval: Approval): Error {
  if (approval.status !== 'pending') return undecidable(approval);
  return new ServiceConfigurationError(
    `Approval ${approval.id} is out of date: its request no longer waits for it, so nothing was decided. List the pending approvals and decide on the current one.`,
  );
}

export function nothingWaits({ request, outcome }: Partial<ServiceState>, asked: Approval | null): Error {
  if (request === undefined) {
    return new ServiceConfigurationError(
      'This thread has no request. Check thread_id, checkpoint_ns and user_id: they must be the same as in the request.',
    );
  }
  if (outcome) {
    return new ServiceConfigurationError(
      'The request of this thread has ended, so there is nothing to resume. Send a new request instead of a Command.',
    );
  }
  if (asked?.run) return alreadyClaimed(asked.id, asked.run.status);
  return new ServiceConfigurationError(
    'The request of this thread does not wait for an approval: it is still running, or its process was lost. Wait for it, or send the request again.',
  );
}
