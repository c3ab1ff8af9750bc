import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { readKeptRun } from '../approval/kept-run.ts';
import { failureOf, LIMITS_VIOLATION } from '../execution/failures.ts';
import type { FinishedRun, Job } from '../execution/job.ts';
import { kernelNote } from '../execution/kernels.ts';
import { ResultsInvalidError } from '../api/failures.ts';
import type { ExecutionRecord } from '../records/record.ts';
import { parseTypes } from '../results/actual-type.ts';
import { validateResults } from '../results/validate.ts';
import { handleFailure, asFailure, attemptOf } from './after-failure.ts';
import { auditEntryOf, report, type Dependencies } from './dependencies.ts';
import type { JudgedState, ServiceState, Update } from './state.ts';
import type { InputFile } from '../records/inputs.ts';

/** The exceptions that refuse writes. The session reports them, so they are not proof. */
const REFUSED: readonly string[] = ['WriteRefused', LIMITS_VIOLATION];
const MAX_SOURCE = 8000;

/** Runs the code, checks its results against what was expected, and writes the record. */
export async function execute(
  dependencies: Dependencies,
  state: ServiceState,
  config: LangGraphRunnableConfig,
): Promise<Update> {
  report(config, { type: 'status', stage: 'execution', text: 'Executing Python code...' });
  const { verdict } = state;
  if (verdict === null) throw new TypeError('code that was not analyzed cannot be run');
  const judged: JudgedState = { ...state, verdict };
  try {
    const record = await dependencies.record(state);
    const committed = await commitPreview(judged, record);
    const ran =
      committed ?? (await dependencies.executor(state.method, verdict.mode).run(jobOf(dependencies, judged, config)));
    for (const text of kernelNotes(dependencies, judged, ran))
      report(config, { type: 'status', stage: 'execution', text });
    await audit(dependencies, judged, committed === null ? 'executed' : 'committed', ran);
    if (ran.execution.outcome.status === 'cancelled') config.signal?.throwIfAborted();
    return await conclude(dependencies, judged, record, ran);
  } catch (error) {
    config.signal?.throwIfAborted();
    return handleFailure(dependencies, state, {
      during: 'execution',
      stage: 'execution',
      error: asFailure(error, dependencies, state),
      signal: config.signal,
    });
  }
}

/** Logs who ran what, and any write that the read-only notice refused. */
async function audit(
  dependencies: Dependencies,
  state: JudgedState,
  action: 'executed' | 'committed',
  ran: FinishedRun,
): Promise<void> {
  const { outcome, error } = ran.execution;
  const { mode } = state.verdict;
  const entry = auditEntryOf(state);
  await dependencies.storage.audit.append({ ...entry, action, details: { mode, outcome: outcome.status } });
  if (error === undefined || !REFUSED.includes(error.name)) return;
  const source = { source: state.code.slice(0, MAX_SOURCE), source_truncated: state.code.length > MAX_SOURCE };
  const details = { layer: 'runtime', mode, trigger: error.value.slice(0, 1000), ...source };
  await dependencies.storage.audit.append({ ...entry, action: 'refused', details });
}

/** A preview that needed nothing beyond its sandbox becomes the run, so what was approved is what the reviewer saw. */
async function commitPreview(
  { isApproved, keptRunSha256: run, attempt, code }: JudgedState,
  record: ExecutionRecord,
): Promise<FinishedRun | null> {
  if (!isApproved || !run) return null;
  return readKeptRun(await record.readPreview(attempt), { run, code });
}

async function conclude(
  dependencies: Dependencies,
  state: JudgedState,
  record: ExecutionRecord,
  ran: FinishedRun,
): Promise<Update> {
  const { startedAt, execution, outputs, resultTypes } = ran;
  const { request, attempt, folder, verdict } = state;
  const details = {
    executionMode: verdict.mode,
    executionMethod: state.method,
    python: ran.python,
    outputs,
    startedAt: new Date(startedAt),
  };
  const error = failureOf(ran, attempt, { folderPath: folder });
  if (error !== null) {
    await record.recordAttempt(attemptOf(state, 'execution_failed', { error: error.message, execution }), details);
    return handleFailure(dependencies, state, { during: 'execution', stage: 'execution', error, ...ran });
  }
  const { results, problems, notes } = validateResults(execution.value, request.expectedResults, {
    types: parseTypes(resultTypes),
    maxMb: dependencies.configuration.framework.python_executor.max_results_mb,
  });
  if (results === null || problems.length > 0) {
    const invalid = new ResultsInvalidError(problems.join(' '), { folderPath: folder });
    await record.recordAttempt(attemptOf(state, 'results_invalid', { error: invalid.message, execution }), details);
    return handleFailure(dependencies, state, { during: 'execution', stage: 'results', error: invalid, ...ran });
  }
  const executionResult = await record.recordSuccess(
    { ...attemptOf(state, 'succeeded'), execution },
    { ...details, results },
  );
  const analysisWarnings = [...verdict.warnings, ...notes, ...kernelNotes(dependencies, state, ran)];
  const result = {
    executionResult,
    generatedCode: state.code,
    generationAttempt: attempt - state.attemptsBefore,
    retries: state.retries,
    analysisWarnings,
  };
  return { next: 'end', outcome: { status: 'succeeded', result } };
}

/** Says so if another kernel than the configured one ran the code. */
function kernelNotes(dependencies: Dependencies, { method, verdict }: JudgedState, ran: FinishedRun): string[] {
  const { modes } = dependencies.configuration.framework.execution;
  const note = kernelNote(method, modes[verdict.mode], ran.python);
  return note === null ? [] : [note];
}

/** The job that runs the code of a request. */
export function jobOf(dependencies: Dependencies, state: JudgedState, config: LangGraphRunnableConfig): Job {
  const { code, request, verdict, isApproved, inputs } = state;
  const { execution, python_executor: limits } = dependencies.configuration.framework;
  return {
    code,
    mode: verdict.mode,
    settings: execution.modes[verdict.mode],
    approvedKinds: isApproved ? verdict.approvedKinds : [],
    context: request.capabilityContextData,
    files: inputs.map((input) => ({ name: input.name, read: () => contentOf(dependencies, state, input) })),
    expected: request.expectedResults,
    timeoutMs: Math.ceil(limits.execution_timeout_seconds * 1000),
    maxResultsBytes: limits.max_results_mb * 2 ** 20,
    isPreview: false,
    signal: config.signal,
    onEvent: (event) => {
      if (event.type === 'output') report(config, event);
    },
  };
}

async function* contentOf(
  dependencies: Dependencies,
  state: ServiceState,
  input: InputFile,
): AsyncGenerator<Uint8Array> {
  yield* (await dependencies.record(state)).openInput(input);
}
