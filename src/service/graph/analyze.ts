import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { sha256Of } from '../../storage/approvals/approval.ts';
import { approvalPayload, type Review } from '../approval/payload.ts';
import { describeAccess } from '../execution/run-access.ts';
import { withOverrides } from '../config/load.ts';
import { CodeSyntaxError, PolicyRefusedError } from '../api/failures.ts';
import type { JudgedState, ServiceState, Update } from './state.ts';
import { verdictOf, type AnalysisResult } from '../policy/analysis-result.ts';
import { handleFailure, asFailure, attemptOf } from './after-failure.ts';
import { auditEntryOf, report, SERVICE_ACTOR, type Dependencies } from './dependencies.ts';
import { preview, type Previewed } from './preview.ts';

/** Analyzes the code and decides: run it, ask a reviewer first, or refuse it. Prepares what the reviewer needs. */
export async function analyze(
  dependencies: Dependencies,
  state: ServiceState,
  config: LangGraphRunnableConfig,
): Promise<Update> {
  report(config, { type: 'status', stage: 'analysis', text: 'Analyzing Python code...' });
  try {
    const configuration = withOverrides(dependencies.configuration, { execution_method: state.method });
    const result = await dependencies.analyzer.analyze(
      state.code,
      configuration,
      config.signal && { signal: config.signal },
    );
    const judged = { ...state, verdict: verdictOf(result, state.concerns) };
    const update = await judge(dependencies, judged, result, config);
    return { verdict: judged.verdict, ...update };
  } catch (error) {
    config.signal?.throwIfAborted();
    return handleFailure(dependencies, state, {
      during: 'execution',
      stage: 'analysis',
      error: asFailure(error, dependencies, state),
      signal: config.signal,
    });
  }
}

async function judge(
  dependencies: Dependencies,
  state: JudgedState,
  result: AnalysisResult,
  config: LangGraphRunnableConfig,
): Promise<Update> {
  switch (result.decision) {
    case 'refuse':
      return refuse(dependencies, state, result);
    case 'run':
      return { next: 'execute' };
    case 'ask':
      return state.isApproved ? { next: 'execute' } : ask(dependencies, state, config);
  }
}

async function refuse(
  dependencies: Dependencies,
  state: ServiceState,
  { findings, issues, recommendations, approvalReasoning }: AnalysisResult,
): Promise<Update> {
  const syntax = findings.filter(({ kind }) => kind === 'syntax').map(({ message }) => message);
  const isSyntax = syntax.length > 0;
  const facts = { folderPath: state.folder };
  const error = isSyntax
    ? new CodeSyntaxError(syntax.join('; '), { syntaxIssues: syntax, ...facts })
    : new PolicyRefusedError(`The code was refused: ${[approvalReasoning, ...issues].filter(isFirst).join('; ')}`, {
        reasons: issues,
        isFinal: state.isApproved, // a reviewer's edit is not replaced by generated code
        ...facts,
      });
  const record = await dependencies.record(state);
  const stage = isSyntax ? 'syntax_error' : 'static_analysis_failed';
  await record.recordAttempt(attemptOf(state, stage, { error: error.message }), {
    review: { reasoning: approvalReasoning, issues },
  });
  await dependencies.storage.audit.append({
    ...auditEntryOf(state),
    action: 'refused',
    details: { reasons: [...issues] },
  });
  return handleFailure(dependencies, state, {
    during: 'generation',
    stage: 'analysis',
    error,
    issues: [...issues, ...recommendations],
  });
}

async function ask(dependencies: Dependencies, state: JudgedState, config: LangGraphRunnableConfig): Promise<Update> {
  const { reasoning, warnings, mode } = state.verdict;
  const { threadId, requestId, attempt, code } = state;
  const asked = await dependencies.storage.approvals.find({ threadId, requestId, attempt, code });
  if (asked !== null) return { approvalId: asked.id, next: 'approve' }; // a process that died has already asked and previewed
  report(config, { type: 'status', stage: 'approval', text: 'Code requires approval' });
  const previewed = await preview(dependencies, state, config);
  const record = await dependencies.record(state);
  const { notebookPath, notebookLink } = await record.recordAttempt(
    attemptOf(state, 'awaiting_approval', { error: reasoning }),
    { executionMode: mode, review: { reasoning, issues: warnings } },
  );
  const { id } = await requestApproval(dependencies, state, {
    ...previewed,
    access: describeAccess(await dependencies.access(state.method, mode), mode),
    notebookPath,
    notebookLink,
  });
  return { approvalId: id, next: 'approve' };
}

/** Stores the approval with everything that a reviewer is shown. */
async function requestApproval(
  dependencies: Dependencies,
  state: JudgedState,
  shown: Previewed & Pick<Review, 'access' | 'notebookPath' | 'notebookLink'>,
): Promise<{ readonly id: string }> {
  const { request, code, verdict, folder, inputs, requestId, attempt } = state;
  const { expires_after_seconds: seconds } = dependencies.configuration.approval.capabilities.python_execution;
  const review = { request, code, codeSha256: sha256Of(code), verdict, folder, inputs, ...shown };
  return dependencies.storage.approvals.create({
    threadId: state.threadId,
    requestId,
    attempt,
    code,
    payload: approvalPayload(review) as never,
    requestedBy: request.sessionContext?.userId ?? SERVICE_ACTOR,
    expiresInMs: seconds === undefined ? null : seconds * 1000,
  });
}

function isFirst(text: string, index: number, all: readonly string[]): boolean {
  return text !== '' && all.indexOf(text) === index;
}
