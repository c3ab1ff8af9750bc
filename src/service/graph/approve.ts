import { interrupt, type LangGraphRunnableConfig } from '@langchain/langgraph';
import type { Approval } from '../../storage/approvals/approval.ts';
import { keptRunOf } from '../approval/kept-run.ts';
import { ExecutionRejectedError, WorkflowError, type PythonExecutorError } from '../api/failures.ts';
import type { ServiceState, Update } from './state.ts';
import { handleFailure } from './after-failure.ts';
import { report, type Dependencies } from './dependencies.ts';

/**
 * Waits for a decision. The value that comes back through the interrupt only wakes this node. The decision itself is read
 * from storage, where exactly one reviewer has made it.
 */
export async function approve(
  dependencies: Dependencies,
  state: ServiceState,
  config: LangGraphRunnableConfig,
): Promise<Update> {
  const id = state.approvalId ?? '';
  const asked = await dependencies.storage.approvals.get(id);
  if (asked.status === 'pending') {
    report(config, { type: 'status', stage: 'approval', text: 'Requesting human approval...' });
  }
  interrupt({ ...(asked.payload as object), approval_id: id });
  return follow(dependencies, state, await dependencies.storage.approvals.get(id));
}

async function follow(dependencies: Dependencies, state: ServiceState, approval: Approval): Promise<Update> {
  const { decision, status } = approval;
  switch (decision?.type) {
    case 'approve':
      return { isApproved: true, keptRunSha256: keptRunOf(approval), next: 'execute' };
    case 'edit':
      return { ...edited(state, decision.code), isApproved: true, next: 'analyze' };
    case 'reject':
      return end(dependencies, state, rejected(state, decision));
    case 'respond':
      return respond(state, decision.text);
    case undefined:
      return end(dependencies, state, undecided(state, status));
  }
}

/** Edited code has no preview: whatever lies in the record in its place is not its run. */
function edited({ attempt }: ServiceState, code: string): Update {
  return { code, attempt: attempt + 1, verdict: null, keptRunSha256: null };
}

/** A reviewer who responds with text wants different code. */
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

function end(dependencies: Dependencies, state: ServiceState, error: PythonExecutorError): Promise<Update> {
  return handleFailure(dependencies, state, { during: 'execution', stage: 'approval', error });
}

function rejected({ folder }: ServiceState, decision: NonNullable<Approval['decision']>): ExecutionRejectedError {
  const reason = decision.type === 'reject' ? (decision.reason ?? null) : null;
  return new ExecutionRejectedError(
    `The code was not run: ${decision.by} rejected it${reason === null ? '' : ` (${reason})`}.`,
    { rejectedBy: decision.by, reason, folderPath: folder },
  );
}

function undecided({ folder }: ServiceState, status: Approval['status']): WorkflowError {
  const what =
    status === 'expired' ? 'its approval expired before anybody decided' : 'nobody has decided on its approval';
  return new WorkflowError(`The code was not run: ${what}. Send the request again.`, {
    stage: 'approval',
    folderPath: folder,
  });
}
