/** Prints how a request ended, and maps it to an exit code. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { PythonExecutorError } from '../../service/api/failures.ts';
import { successOnTheWire, type PythonServiceResult } from '../../service/api/result.ts';
import type { Approval } from '../../storage/approvals/approval.ts';
import { visibleJson } from '../../text/visible.ts';
import type { Context } from '../terminal/context.ts';
import { TextFrame } from '../review/text-frame.ts';
import { inLine } from '../../text/in-line.ts';
import { readPayload } from '../../service/approval/payload.ts';
import { alignColumns } from '../terminal/table.ts';

/** Waiting for a decision: `EX_TEMPFAIL` of sysexits.h. */
const WAITS = 75;
/** Rejected by a person or by policy: `EX_NOPERM` of sysexits.h. */
const NOT_PERMITTED = 77;
const FAILED = 1;

const MAX_VALUE_CHARS = 2000;
const MAX_TRACEBACK_CHARS = 4000;

export interface PrintOptions {
  readonly json?: boolean;
}

export async function printResult(
  result: PythonServiceResult,
  { json }: PrintOptions,
  context: Context,
): Promise<number> {
  const { stdout, stderr } = context;
  const { executionResult, generatedCode, generationAttempt, analysisWarnings } = result;
  if (json === true) {
    const wire = successOnTheWire(executionResult);
    const more = { generated_code: generatedCode, generation_attempt: generationAttempt };
    await stdout.line(visibleJson({ status: 'completed', ...wire, ...more, analysis_warnings: analysisWarnings }, 2));
    return 0;
  }
  for (const warning of analysisWarnings) await stderr.line(`note: ${inLine(warning, 400)}`);
  const width = (stdout.columns ?? Infinity) - 4;
  const rows = Object.entries(executionResult.results).map(([name, value]) => {
    const shown = inLine(name, 60);
    return [shown, inLine(visibleJson(value), Math.max(20, Math.min(MAX_VALUE_CHARS, width - shown.length)))];
  });
  await stdout.line(stdout.style('bold', rows.length === 0 ? 'No results' : 'Results'));
  if (rows.length > 0) await stdout.line(alignColumns(rows, '  '));
  const { notebookPath, folderPath, figurePaths, filePaths } = executionResult;
  await printPaths(
    [
      ...figurePaths.map((file) => ['Figure', file]),
      ...filePaths.map((file) => ['File', file]),
      ['Notebook', notebookPath],
      ['Folder', folderPath],
    ],
    stdout,
  );
  return 0;
}

/** Prints which approval is pending and the commands that decide it. Standard output gets only the id, for scripts. */
export async function printWaiting(
  approval: Approval,
  { json, sameAgain }: PrintOptions & { readonly sameAgain: string },
  { stdout, stderr }: Context,
): Promise<number> {
  const { id } = approval;
  const { analysis_details: analysis, notebook_path, execution_folder_path } = readPayload(approval.payload);
  const command = (verb: string, more = ''): string =>
    ['vivarium approvals', verb, id, more, sameAgain].filter(Boolean).join(' ');
  const commands = [
    ['review it', command('show')],
    ['run it', command('approve')],
    ['edit it', command('edit')],
    ['reject it', command('reject', '--reason "…"')],
    ['ask for other code', command('respond', '"…"')],
  ];
  await stderr.endLine();
  await stderr.line(`${stderr.style('yellow', 'waiting for approval:')} ${inLine(analysis.approval_reasoning, 200)}`);
  await stderr.line(alignColumns(commands, '  '));
  await stdout.line(
    json === true
      ? visibleJson(
          {
            status: 'awaiting_approval',
            approval_id: id,
            code_sha256: approval.codeSha256,
            notebook_path,
            execution_folder: execution_folder_path,
          },
          2,
        )
      : id,
  );
  return WAITS;
}

/** Prints why there is no result. Undefined if the error does not come from the service. */
export async function printFailure(
  error: unknown,
  { json }: PrintOptions,
  { stdout, stderr }: Context,
): Promise<number | undefined> {
  if (!(error instanceof PythonExecutorError)) return undefined;
  const { name: type, category, message, folderPath } = error;
  const { status, title, exitCode } = failureOf(error);
  const notebook = folderPath === null ? '' : path.join(folderPath, 'notebook.ipynb');
  const notebookPath = existsSync(notebook) ? notebook : null;
  if (json === true) {
    const facts = { error: { type, category, message }, notebook_path: notebookPath, execution_folder: folderPath };
    await stdout.line(visibleJson({ status, ...facts }, 2));
  }
  const traceback = 'tracebackInfo' in error ? String(error.tracebackInfo).slice(-MAX_TRACEBACK_CHARS) : '';
  await stderr.line(`${stderr.style('red', 'error:')} ${title}`);
  await stderr.write(TextFrame.around([traceback.trimEnd(), message].filter(Boolean).join('\n'), stderr.columns));
  const paths = [
    ['Notebook', notebookPath],
    ['Folder', folderPath],
  ] as const;
  await printPaths(
    paths.flatMap(([label, file]) => (file === null ? [] : [[label, file]])),
    stderr,
  );
  return exitCode;
}

async function printPaths(paths: readonly (readonly string[])[], output: Context['stdout']): Promise<void> {
  if (paths.length > 0)
    await output.line(alignColumns(paths.map(([label = '', file = '']) => [label, inLine(file, 4000)])));
}

interface FailureMessage {
  readonly status: 'failed' | 'rejected' | 'refused';
  readonly title: string;
  readonly exitCode: number;
}

/** Uses the exit codes of src/errors.ts for the same kinds of failure. */
function failureOf(error: PythonExecutorError): FailureMessage {
  const failed = (title: string, exitCode: number): FailureMessage => ({ status: 'failed', title, exitCode });
  switch (nameOf(error)) {
    case 'ExecutionRejectedError':
      return { status: 'rejected', title: 'the code was rejected, so it was not run', exitCode: NOT_PERMITTED };
    case 'PolicyRefusedError':
      return { status: 'refused', title: 'the policy refuses the code, so it was not run', exitCode: NOT_PERMITTED };
    case 'ModelUnavailableError':
      return failed('the model cannot be used; check --base-url, --model and the API key', 5);
    case 'EngineUnavailableError':
    case 'ContainerConnectivityError':
      return failed('the code could not be run; run `vivarium doctor` to see what this machine lacks', 3);
    case 'ServiceConfigurationError':
    case 'ContainerConfigurationError':
      return failed('the configuration of the service does not allow this', 2);
    case 'ExecutionTimeoutError':
      return failed('the code timed out', 124);
    case 'WorkflowError':
      return failed('the task was not finished', FAILED);
    default:
      return failed('the code failed', FAILED);
  }
}

/** The name of the error, or of the last attempt's error if all attempts failed. */
function nameOf({ name, cause }: PythonExecutorError): string {
  if (name !== 'MaxAttemptsExceededError') return name;
  return typeof cause === 'object' && cause !== null && 'name' in cause ? String(cause.name) : name;
}
