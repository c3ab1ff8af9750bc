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
 * Decides, or finds that the same was decided before by somebody who did not come to act on it. Who may run approved code
 * is settled by a claim; another decision counts as left behind when its maker has had time to act on it.
 */
export async function decideOnce(approvals: Approvals, id: string, decision: Decision, by: string): Promise<Approval> {
  try {
    return await approvals.decide(id, decision, { by });
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'APPROVAL_DECIDED') throw error;
    const decided = await approvals.get(id);
    if (decided.run !== null || !isSame(decided.decision, decision) || !isLeft(decided)) throw error;
    return decided;
  }
}

function isSame(made: Approval['decision'], decision: Decision): boolean {
  if (made === null) return false;
  const { by: _by, at: _at, codeSha256: _hash, ...plain } = made;
  return isDeepStrictEqual(plain, decision);
}

function isLeft({ status, decision }: Approval): boolean {
  return isAllowed(status) || (decision !== null && Date.now() - decision.at.getTime() > LEASE_MS);
}

/** The right to go on after a decision. */
export interface RunClaim extends AsyncDisposable {
  finish(outcome: string): Promise<void>;
}

/** Code that was allowed runs once, ever: of all who come with the decision one gets the claim. Other decisions run nothing. */
export async function claimRun(approvals: Approvals, approval: Approval): Promise<RunClaim> {
  if (!isAllowed(approval.status)) {
    return { finish: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const owner = `run-${randomUUID()}`;
  const claim = await approvals.claimExecution(approval.id, owner, LEASE_MS);
  if (claim.status !== 'claimed') throw taken(approval.id, claim.status);
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

/** Why nobody else may run it. */
export function taken(id: string, status: 'running' | 'finished' | 'unknown'): Error {
  switch (status) {
    case 'running':
      return new VivariumError('APPROVAL_DECIDED', `The code of approval ${id} is running already. Wait for its end.`);
    case 'finished':
      return new VivariumError('APPROVAL_DECIDED', `The code of approval ${id} has been run already; it runs once.`);
    case 'unknown':
      return new WorkflowError(
        `The process that ran the code of approval ${id} was lost: whether the code ran to its end is not known, so it is not run again. Look at what it changed, and ask for the code anew if need be.`,
        { stage: 'execution' },
      );
  }
}
