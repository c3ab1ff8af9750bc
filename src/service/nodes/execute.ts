import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { hashOf } from '../approval/answer.ts';
import { failureOf } from '../execution/failure-of.ts';
import type { JobResult } from '../execution/job.ts';
import { ResultsInvalidError } from '../failures.ts';
import type { ServiceState, Update, Verdict } from '../graph/state.ts';
import type { ExecutionRecord } from '../records/record.ts';
import { parseTypes } from '../results/actual-type.ts';
import { validateResults } from '../results/validate.ts';
import { afterFailing, asFailure, attemptOf } from './failing.ts';
import { jobOf } from './job-of.ts';
import { tell, type Parts } from './parts.ts';
import type { Preview } from './preview.ts';

type Ran = Pick<JobResult, 'startedAt' | 'python' | 'execution' | 'outputs' | 'resultTypes'>;
/** What the guard of python/_vivarium/payloads/read_only_guard.py raises; the session's own word. */
const REFUSED = 'WriteRefused';
const MAX_SOURCE = 8000;

type Judged = ServiceState & { readonly verdict: Verdict };

/** Runs the code, holds what it gave against what was expected, and keeps the record. */
export async function execute(parts: Parts, state: ServiceState, config: LangGraphRunnableConfig): Promise<Update> {
  tell(config, { type: 'status', stage: 'execution', text: 'Executing Python code...' });
  const { verdict } = state;
  if (verdict === null) throw new TypeError('code that was never judged cannot be run');
  const judged: Judged = { ...state, verdict };
  try {
    const record = await parts.record(state);
    const committed = await commitPreview(judged, record);
    const ran = committed ?? (await parts.executor(state.method, verdict.mode).run(jobOf(parts, judged, config)));
    await audit(parts, judged, committed === null ? 'executed' : 'committed', ran);
    if (ran.execution.outcome.status === 'cancelled') config.signal?.throwIfAborted();
    return await conclude(parts, judged, record, ran);
  } catch (error) {
    config.signal?.throwIfAborted();
    return afterFailing(parts, state, {
      during: 'execution',
      stage: 'execution',
      error: asFailure(error, parts, state),
      signal: config.signal,
    });
  }
}

/** Who ran what; and what the guard refused, which an operator will want to see. */
async function audit(parts: Parts, state: Judged, action: 'executed' | 'committed', ran: Ran): Promise<void> {
  const { outcome, error } = ran.execution;
  const { mode } = state.verdict;
  const entry = {
    actor: state.request.sessionContext?.userId ?? 'python_executor',
    threadId: state.threadId,
    ...(state.isApproved && state.approvalId !== null && { approvalId: state.approvalId }),
    codeSha256: hashOf(state.code),
  };
  await parts.storage.audit.append({ ...entry, action, details: { mode, outcome: outcome.status } });
  if (error?.name !== REFUSED) return;
  const source = { source: state.code.slice(0, MAX_SOURCE), source_truncated: state.code.length > MAX_SOURCE };
  const details = { layer: 'runtime', mode, trigger: error.value.slice(0, 1000), ...source };
  await parts.storage.audit.append({ ...entry, action: 'refused', details });
}

/** What was approved is what the reviewer saw: a preview from which nothing was held back becomes the run. */
async function commitPreview({ isApproved, attempt, code }: Judged, record: ExecutionRecord): Promise<Ran | null> {
  const text = isApproved ? await record.readPreview(attempt) : null;
  if (text === null) return null;
  const kept = JSON.parse(text) as Preview;
  return kept.codeSha256 === hashOf(code) ? kept : null;
}

async function conclude(parts: Parts, state: Judged, record: ExecutionRecord, ran: Ran): Promise<Update> {
  const { startedAt, execution, outputs, resultTypes } = ran;
  const { request, attempt, folder, verdict } = state;
  const details = { executionMode: verdict.mode, outputs, startedAt: new Date(startedAt) };
  const error = failureOf(ran, attempt, { folderPath: folder });
  if (error !== null) {
    await record.recordAttempt(attemptOf(state, 'execution_failed', { error: error.message, execution }), details);
    return afterFailing(parts, state, { during: 'execution', stage: 'execution', error, ...ran });
  }
  const { results, problems, notes } = validateResults(execution.value, request.expectedResults, {
    types: parseTypes(resultTypes),
    maxMb: parts.configuration.framework.python_executor.max_results_mb,
  });
  if (results === null || problems.length > 0) {
    const invalid = new ResultsInvalidError(problems.join(' '), { folderPath: folder });
    await record.recordAttempt(attemptOf(state, 'results_invalid', { error: invalid.message, execution }), details);
    return afterFailing(parts, state, { during: 'execution', stage: 'results', error: invalid, ...ran });
  }
  const executionResult = await record.recordSuccess(
    { ...attemptOf(state, 'succeeded'), execution },
    { ...details, results },
  );
  const analysisWarnings = [...verdict.warnings, ...notes];
  const result = {
    executionResult,
    generatedCode: state.code,
    generationAttempt: attempt - state.attemptsBefore,
    retries: state.retries,
    analysisWarnings,
  };
  return { next: 'end', outcome: { status: 'succeeded', result } };
}
