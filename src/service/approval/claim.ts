import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { VivariumError } from '../../errors.ts';
import type { Approval, Decision } from '../../storage/approvals/approval.ts';
import { isAllowed } from '../../storage/approvals/errors.ts';
import type { Approvals } from '../../storage/approvals/approvals.ts';
import { WorkflowError } from '../api/failures.ts';

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/**
 * Decides, or finds the same decision by somebody who did not act on it, for example because their process died. For
 * approved code, the claim settles who runs it. Any other decision counts as abandoned after the time of a lease.
 */
export async function decideOnce(approvals: Approvals, id: string, decision: Decision, by: string): Promise<Approval> {
  try {
    return await approvals.decide(id, decision, { by });
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'APPROVAL_DECIDED') throw error;
    const decided = await approvals.get(id);
    if (decided.run !== null || !isSame(decided.decision, decision) || !isAbandoned(decided)) throw error;
    return decided;
  }
}

function isSame(made: Approval['decision'], decision: Decision): boolean {
  if (made === null) return false;
  const { by: _by, at: _at, codeSha256: _hash, ...plain } = made;
  return isDeepStrictEqual(plain, decision);
}

function isAbandoned({ status, decision }: Approval): boolean {
  return isAllowed(status) || (decision !== null && Date.now() - decision.at.getTime() > LEASE_MS);
}

/** The right to continue after a decision. */
export interface RunClaim extends AsyncDisposable {
  finish(outcome: string): Promise<void>;
}

/** Claims the run of approved code, which runs only once: one caller gets the claim. Other decisions need no claim. */
export async function claimRun(approvals: Approvals, approval: Approval): Promise<RunClaim> {
  if (!isAllowed(approval.status)) {
    return { finish: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const owner = `run-${randomUUID()}`;
  const claim = await approvals.claimExecution(approval.id, owner, LEASE_MS);
  if (claim.status !== 'claimed') throw alreadyClaimed(approval.id, claim.status);
  const timer = setInterval(() => void approvals.renewClaim(approval.id, owner, LEASE_MS).catch(() => false), RENEW_MS);
  timer.unref();
  let outcome = 'failed';
  return {
    finish: async (status) => {
      outcome = status;
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await approvals.finish(approval.id, owner, { outcome });
    },
  };
}

/** Why nobody else may run the code. */
export function alreadyClaimed(id: string, status: 'running' | 'finished' | 'unknown'): Error {
  switch (status) {
    case 'running':
      return new VivariumError(
        'APPROVAL_DECIDED',
        `The code of approval ${id} is already running. Wait until it ends.`,
      );
    case 'finished':
      return new VivariumError(
        'APPROVAL_DECIDED',
        `The code of approval ${id} has already run, and approved code runs only once.`,
      );
    case 'unknown':
      return new WorkflowError(
        `The process that ran the code of approval ${id} was lost. Whether the code ran to its end is not known, so it is not run again. Check what it changed, and send a new request if needed.`,
        { stage: 'execution' },
      );
  }
}
