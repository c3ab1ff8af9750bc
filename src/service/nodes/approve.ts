import { interrupt, type LangGraphRunnableConfig } from '@langchain/langgraph';
import type { Approval } from '../../storage/approval/approval.ts';
import { ExecutionRejectedError, WorkflowError, type PythonExecutorError } from '../failures.ts';
import type { ServiceState, Update } from '../graph/state.ts';
import { afterFailing } from './failing.ts';
import { tell, type Parts } from './parts.ts';

/**
 * Waits for a decision. What comes through the interrupt only wakes this node: the decision itself is read from the store,
 * where exactly one of all who tried has made it.
 */
export async function approve(parts: Parts, state: ServiceState, config: LangGraphRunnableConfig): Promise<Update> {
  const id = state.approvalId ?? '';
  const asked = await parts.storage.approvals.get(id);
  if (asked.status === 'pending') {
    tell(config, { type: 'status', stage: 'approval', text: 'Requesting human approval...' });
  }
  interrupt({ ...(asked.payload as object), approval_id: id });
  return follow(parts, state, await parts.storage.approvals.get(id));
}

async function follow(parts: Parts, state: ServiceState, approval: Approval): Promise<Update> {
  const { decision, status } = approval;
  switch (decision?.type) {
    case 'approve':
      return { isApproved: true, next: 'execute' };
    case 'edit':
      return { code: decision.code, attempt: state.attempt + 1, verdict: null, isApproved: true, next: 'analyze' };
    case 'reject':
      return end(parts, state, rejected(state, decision));
    case 'respond':
      return respond(state, decision.text);
    case undefined:
      return end(parts, state, undecided(state, status));
  }
}

/** A reviewer who answers in words wants other code. */
function respond(state: ServiceState, text: string): Update {
  const failure = {
    errorType: 'ReviewerResponse',
    errorMessage: text,
    failedCode: state.code,
    traceback: null,
    attemptNumber: state.attempt,
    stage: 'approval' as const,
    analysisIssues: [],
  };
  return { failures: [...state.failures, failure], approvalId: null, next: 'generate' };
}

function end(parts: Parts, state: ServiceState, error: PythonExecutorError): Promise<Update> {
  return afterFailing(parts, state, { during: 'execution', stage: 'approval', error });
}

function rejected({ folder }: ServiceState, decision: NonNullable<Approval['decision']>): ExecutionRejectedError {
  const reason = decision.type === 'reject' ? (decision.reason ?? null) : null;
  return new ExecutionRejectedError(
    `The code was not run: ${decision.by} rejected it${reason === null ? '' : ` (${reason})`}.`,
    { rejectedBy: decision.by, reason, folderPath: folder },
  );
}

function undecided({ folder }: ServiceState, status: Approval['status']): WorkflowError {
  const what = status === 'expired' ? 'its approval expired before anybody decided' : 'nobody has decided about it';
  return new WorkflowError(`The code was not run: ${what}. Ask for it again.`, {
    stage: 'approval',
    folderPath: folder,
  });
}
