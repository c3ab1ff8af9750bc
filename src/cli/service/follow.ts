import type { PythonExecutorService, ServiceEvent } from '../../service/service.ts';
import type { Approval, Decision } from '../../storage/approval/approval.ts';
import type { Context } from '../terminal/context.ts';
import { askDecision, canAsk } from '../review/decision-prompt.ts';
import { printReview } from '../review/approval-text.ts';
import { printFailure, printResult, printWaiting, type PrintOptions } from './outcome.ts';
import { ProgressDisplay } from './progress.ts';

/** The name in the audit log for approvals without a review. */
const APPROVED_BY_FLAG = 'cli --yes';

export interface FollowOptions extends PrintOptions {
  readonly service: PythonExecutorService;
  /** Who decides at this terminal. */
  readonly by: string;
  /** Approve everything without asking. */
  readonly yes?: boolean;
  /** The options that lead another command to the same records. */
  readonly sameAgain: string;
}

/** Follows a request until it ends or waits for a decision that nobody makes here. Resolves to the exit code. */
export async function follow(
  events: AsyncIterable<ServiceEvent>,
  options: FollowOptions,
  context: Context,
): Promise<number> {
  const display = new ProgressDisplay(context.stderr);
  const { signal } = context.lifetime;
  try {
    for (let current = events; ;) {
      const settled = await display.watch(current);
      if (settled.status === 'completed') return await printResult(settled.result, options, context);
      const { approval } = settled;
      const decided = await decide(approval, options, context);
      if (decided === null) return await printWaiting(approval, options, context);
      current = options.service.streamDecision(approval.id, decided.decision, { by: decided.by, signal });
    }
  } catch (error) {
    signal.throwIfAborted();
    const exitCode = await printFailure(error, options, context);
    if (exitCode === undefined) throw error;
    return exitCode;
  }
}

interface DecidedBy {
  readonly decision: Decision;
  readonly by: string;
}

async function decide(approval: Approval, { yes, by }: FollowOptions, context: Context): Promise<DecidedBy | null> {
  const { stderr } = context;
  if (yes === true) {
    await printReview(approval, stderr);
    await stderr.line(stderr.style('yellow', `--yes: APPROVED WITHOUT A REVIEW, sha256 ${approval.codeSha256}`));
    return { decision: { type: 'approve' }, by: APPROVED_BY_FLAG };
  }
  const decision = canAsk(context) ? await askDecision(approval, context) : null;
  return decision && { decision, by };
}
