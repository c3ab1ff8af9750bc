import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { hashOf } from '../approval/answer.ts';
import type { Effects } from '../approval/effects.ts';
import { approvalPayload } from '../approval/payload.ts';
import { withOverrides } from '../config/load.ts';
import { CodeSyntaxError, PolicyRefusedError } from '../failures.ts';
import type { ServiceState, Update, Verdict } from '../graph/state.ts';
import { toWire, type AnalysisResult } from '../policy/analysis-result.ts';
import { afterFailing, asFailure, attemptOf } from './failing.ts';
import { tell, type Parts } from './parts.ts';
import { preview } from './preview.ts';

/** Judges the code: it runs, somebody is asked, or it does not run. What a reviewer needs is prepared here, once. */
export async function analyze(parts: Parts, state: ServiceState, config: LangGraphRunnableConfig): Promise<Update> {
  tell(config, { type: 'status', stage: 'analysis', text: 'Analyzing Python code...' });
  try {
    const configuration = withOverrides(parts.configuration, { execution_method: state.method });
    const result = await parts.analyzer.analyze(state.code, configuration, config.signal && { signal: config.signal });
    const judged = { ...state, verdict: verdictOf(result, state.concerns) };
    const update = await judge(parts, judged, result, config);
    return { verdict: judged.verdict, ...update };
  } catch (error) {
    config.signal?.throwIfAborted();
    return afterFailing(parts, state, {
      during: 'execution',
      stage: 'analysis',
      error: asFailure(error, parts, state),
      signal: config.signal,
    });
  }
}

async function judge(
  parts: Parts,
  state: ServiceState & { readonly verdict: Verdict },
  result: AnalysisResult,
  config: LangGraphRunnableConfig,
): Promise<Update> {
  switch (result.decision) {
    case 'refuse':
      return refuse(parts, state, result);
    case 'run':
      return { next: 'execute' };
    case 'ask':
      return state.isApproved ? { next: 'execute' } : ask(parts, state, config);
  }
}

async function refuse(
  parts: Parts,
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
        isFinal: state.isApproved, // a reviewer's own words are not replaced by a model's
        ...facts,
      });
  const record = await parts.record(state);
  const stage = isSyntax ? 'syntax_error' : 'static_analysis_failed';
  await record.recordAttempt(attemptOf(state, stage, { error: error.message }), {
    review: { reasoning: approvalReasoning, issues },
  });
  await audit(parts, state, 'refused', { reasons: [...issues] });
  return afterFailing(parts, state, {
    during: 'generation',
    stage: 'analysis',
    error,
    issues: [...issues, ...recommendations],
  });
}

async function ask(
  parts: Parts,
  state: ServiceState & { readonly verdict: Verdict },
  config: LangGraphRunnableConfig,
): Promise<Update> {
  const { reasoning, warnings, mode } = state.verdict;
  const { threadId, requestId, attempt, code } = state;
  const asked = await parts.storage.approvals.find({ threadId, requestId, attempt, code });
  if (asked !== null) return { approvalId: asked.id, next: 'approve' }; // by a process that died; its preview stands
  tell(config, { type: 'status', stage: 'approval', text: 'Code requires approval' });
  const effects = await preview(parts, state, config);
  const record = await parts.record(state);
  const { notebookPath, notebookLink } = await record.recordAttempt(
    attemptOf(state, 'awaiting_approval', { error: reasoning }),
    { executionMode: mode, review: { reasoning, issues: warnings } },
  );
  const { id } = await requestApproval(parts, state, { effects, notebookPath, notebookLink });
  return { approvalId: id, next: 'approve' };
}

/** The payload names the approval that it belongs to, so it is made for the id that its identity will have. */
async function requestApproval(
  parts: Parts,
  state: ServiceState & { readonly verdict: Verdict },
  shown: { readonly effects: Effects | null; readonly notebookPath: string; readonly notebookLink: string },
): Promise<{ readonly id: string }> {
  const { request, code, verdict, folder, inputs, requestId, attempt } = state;
  const { expires_after_seconds: seconds } = parts.configuration.approval.capabilities.python_execution;
  const review = { request, code, codeSha256: hashOf(code), verdict, folder, inputs, ...shown };
  return parts.storage.approvals.create({
    threadId: state.threadId,
    requestId,
    attempt,
    code,
    payload: approvalPayload(review) as never,
    requestedBy: request.sessionContext?.userId ?? 'python_executor',
    expiresInMs: seconds === undefined ? null : seconds * 1000,
  });
}

function verdictOf(result: AnalysisResult, concerns: readonly string[]): Verdict {
  return {
    mode: result.recommendedExecutionMode,
    warnings: [...concerns, ...result.issues, ...result.recommendations],
    details: toWire(result),
    reasoning: result.approvalReasoning,
    approvedKinds: [...new Set(result.findings.map(({ kind }) => kind))],
  };
}

async function audit(
  parts: Parts,
  state: ServiceState,
  action: 'refused',
  details: { readonly reasons: string[] },
): Promise<void> {
  const { threadId, code, request, isApproved, approvalId } = state;
  await parts.storage.audit.append({
    actor: request.sessionContext?.userId ?? 'python_executor',
    action,
    threadId,
    ...(isApproved && approvalId !== null && { approvalId }),
    codeSha256: hashOf(code),
    details,
  });
}

function isFirst(text: string, index: number, all: readonly string[]): boolean {
  return text !== '' && all.indexOf(text) === index;
}
