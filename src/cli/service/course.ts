import type { PythonExecutorService, ServiceEvent } from '../../service/service.ts';
import type { Approval, Decision } from '../../storage/approvals/approval.ts';
import type { Context } from '../context.ts';
import { askDecision, canAsk } from '../review/question.ts';
import { printReview } from '../review/review.ts';
import { printFailure, printResult, printWaiting, type Manner } from './outcome.ts';
import { ProgressDisplay } from './progress.ts';

/** Who approves without looking, as the audit log has it. */
const UNSEEN = 'cli --yes';

export interface Course extends Manner {
  readonly service: PythonExecutorService;
  /** Who decides at this terminal. */
  readonly by: string;
  /** Approve whatever is asked. */
  readonly yes?: boolean;
  /** What another command line must say to come to the same service. */
  readonly sameAgain: string;
}

/** Follows a request to its end, or to a question that nobody here answers. Resolves to the exit code. */
export async function follow(events: AsyncIterable<ServiceEvent>, course: Course, context: Context): Promise<number> {
  const display = new ProgressDisplay(context.stderr);
  const { signal } = context.lifetime;
  try {
    for (let onward = events; ;) {
      const settled = await display.watch(onward);
      if (settled.status === 'completed') return await printResult(settled.result, course, context);
      const { approval } = settled;
      const decided = await decide(approval, course, context);
      if (decided === null) return await printWaiting(approval, course, context);
      onward = course.service.streamDecision(approval.id, decided.decision, { by: decided.by, signal });
    }
  } catch (error) {
    signal.throwIfAborted();
    const exitCode = await printFailure(error, course, context);
    if (exitCode === undefined) throw error;
    return exitCode;
  }
}

interface DecidedBy {
  readonly decision: Decision;
  readonly by: string;
}

async function decide(approval: Approval, { yes, by }: Course, context: Context): Promise<DecidedBy | null> {
  const { stderr } = context;
  if (yes === true) {
    await printReview(approval, stderr);
    await stderr.line(stderr.style('yellow', `--yes: APPROVED WITHOUT A REVIEW, sha256 ${approval.codeSha256}`));
    return { decision: { type: 'approve' }, by: UNSEEN };
  }
  const decision = canAsk(context) ? await askDecision(approval, context) : null;
  return decision && { decision, by };
}
