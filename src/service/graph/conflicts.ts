/** Why an answer finds nothing to answer, and why a request must wait. */
import type { Approval } from '../../storage/approvals/approval.ts';
import { undecidable } from '../../storage/approvals/errors.ts';
import { ServiceConfigurationError, WorkflowError } from '../api/failures.ts';
import type { ServiceState } from './state.ts';
import { sha256Of } from '../../storage/approvals/approval.ts';
import { taken } from '../approval/claim.ts';

/**
 * Refuses a new request on a thread whose last one waits for an answer or runs approved code. Gives what must be told
 * about the last one: code that was lost half way may have written, and nobody else would hear of it.
 */
export function assertFree(last: Partial<ServiceState>, asked: Approval | null, isWaiting: boolean): string[] {
  if (last.outcome) return [];
  if (isWaiting && asked?.run === null && asked.status !== 'expired') throw stillWaiting(asked);
  const isUnfinished = asked?.run != null && asked.run.status !== 'finished';
  const mayHaveRun = isUnfinished || last.next === 'execute';
  if (!mayHaveRun || last.verdict?.mode === 'read_only') return [];
  if (asked?.run?.status === 'running') throw taken(asked.id, asked.run.status);
  return [lostRun(last.code ?? '', asked)];
}

function lostRun(code: string, asked: Approval | null): string {
  const whose = asked === null ? '' : `, of approval ${asked.id}`;
  return `Earlier code of this thread (sha256 ${sha256Of(code).slice(0, 12)}…${whose}) was stopped or lost with its process: it may have written, in part or in full. Look at what it changed before this code runs.`;
}

function stillWaiting({ id }: Approval): Error {
  return new ServiceConfigurationError(
    `This thread waits for approval ${id}. Answer it with new Command({ resume: … }), or use another thread_id for a new request.`,
  );
}

/** Of a request whose thread was used for another one while it was worked on. */
export function takenOver(): Error {
  return new WorkflowError(
    'The result is not known: another request began on this thread meanwhile. Use one thread_id for each request that runs at the same time.',
    { stage: 'unknown' },
  );
}

/** Of an approval whose request waits for another one, or for none. */
export function waitsForAnother(approval: Approval): Error {
  if (approval.status !== 'pending') return undecidable(approval);
  return new ServiceConfigurationError(
    `Approval ${approval.id} is out of date: its request has gone on without it, so nothing was decided. List the pending approvals and decide about the present one.`,
  );
}

export function nothingWaits({ request, outcome }: Partial<ServiceState>, asked: Approval | null): Error {
  if (request === undefined) {
    return new ServiceConfigurationError(
      'This thread has no request. Check thread_id, checkpoint_ns and user_id: they must be those of the request.',
    );
  }
  if (outcome) {
    return new ServiceConfigurationError(
      'The request of this thread has ended, so there is nothing to resume. Send a new request instead of a Command.',
    );
  }
  if (asked?.run) return taken(asked.id, asked.run.status);
  return new ServiceConfigurationError(
    'The request of this thread does not wait for an approval: it is being worked on, or its process was lost. Wait for it, or send the request again.',
  );
}
