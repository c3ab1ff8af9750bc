/** How a request ended, for the person who asked and for the program that started us. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { PythonExecutorError } from '../../service/api/failures.ts';
import { successOnTheWire, type PythonServiceResult } from '../../service/api/result.ts';
import type { Approval } from '../../storage/approvals/approval.ts';
import { visibleJson } from '../../text/visible.ts';
import type { Context } from '../context.ts';
import { Frame, inLine } from '../review/frame.ts';
import { readPayload } from '../../service/approval/payload.ts';
import { alignColumns } from '../table.ts';

/** Somebody must decide first; as sysexits.h has it for what may succeed later. */
const WAITS = 75;
/** A person or the policy said no; as sysexits.h has it for what is not permitted. */
const NOT_PERMITTED = 77;
const FAILED = 1;

const MAX_VALUE_CHARS = 2000;
const MAX_TRACEBACK_CHARS = 4000;

export interface Manner {
  readonly json?: boolean;
}

export async function printResult(result: PythonServiceResult, { json }: Manner, context: Context): Promise<number> {
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
  await printPlaces(
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

/** Says which approval is waited for, and what decides it. The id alone is on standard output, for scripts. */
export async function printWaiting(
  approval: Approval,
  { json, sameAgain }: Manner & { readonly sameAgain: string },
  { stdout, stderr }: Context,
): Promise<number> {
  const { id } = approval;
  const { analysis_details: analysis, notebook_path, execution_folder_path } = readPayload(approval.payload);
  const command = (verb: string, more = ''): string =>
    ['vivarium approvals', verb, id, more, sameAgain].filter(Boolean).join(' ');
  const commands = [
    ['look at it', command('show')],
    ['run it', command('approve')],
    ['change it', command('edit')],
    ['reject it', command('reject', '--reason "…"')],
    ['say what to change', command('respond', '"…"')],
  ];
  await stderr.endLine();
  await stderr.line(`${stderr.style('yellow', 'waits for approval:')} ${inLine(analysis.approval_reasoning, 200)}`);
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

/** Prints why there is no result; undefined for an error that is not the service's. */
export async function printFailure(
  error: unknown,
  { json }: Manner,
  { stdout, stderr }: Context,
): Promise<number | undefined> {
  if (!(error instanceof PythonExecutorError)) return undefined;
  const { name: type, category, message, folderPath } = error;
  const { status, title, exitCode } = endingOf(error);
  const notebook = folderPath === null ? '' : path.join(folderPath, 'notebook.ipynb');
  const notebookPath = existsSync(notebook) ? notebook : null;
  if (json === true) {
    const facts = { error: { type, category, message }, notebook_path: notebookPath, execution_folder: folderPath };
    await stdout.line(visibleJson({ status, ...facts }, 2));
  }
  const traceback = 'tracebackInfo' in error ? String(error.tracebackInfo).slice(-MAX_TRACEBACK_CHARS) : '';
  await stderr.line(`${stderr.style('red', 'error:')} ${title}`);
  await stderr.write(Frame.around([traceback.trimEnd(), message].filter(Boolean).join('\n'), stderr.columns));
  const places = [
    ['Notebook', notebookPath],
    ['Folder', folderPath],
  ] as const;
  await printPlaces(
    places.flatMap(([label, place]) => (place === null ? [] : [[label, place]])),
    stderr,
  );
  return exitCode;
}

async function printPlaces(places: readonly (readonly string[])[], output: Context['stdout']): Promise<void> {
  if (places.length > 0)
    await output.line(alignColumns(places.map(([label = '', place = '']) => [label, inLine(place, 4000)])));
}

interface Ending {
  readonly status: 'failed' | 'rejected' | 'refused';
  readonly title: string;
  readonly exitCode: number;
}

/** The code of the error table where it has one for the same trouble. */
function endingOf(error: PythonExecutorError): Ending {
  const failed = (title: string, exitCode: number): Ending => ({ status: 'failed', title, exitCode });
  switch (lastOf(error)) {
    case 'ExecutionRejectedError':
      return { status: 'rejected', title: 'the code was rejected, so it was not run', exitCode: NOT_PERMITTED };
    case 'PolicyRefusedError':
      return { status: 'refused', title: 'the policy refuses the code, so it was not run', exitCode: NOT_PERMITTED };
    case 'ModelUnavailableError':
      return failed('the model cannot be used; check --base-url, --model and the API key', 5);
    case 'EngineUnavailableError':
    case 'ContainerConnectivityError':
      return failed('the code could not be run here; `vivarium doctor` shows what this machine has and lacks', 3);
    case 'ServiceConfigurationError':
    case 'ContainerConfigurationError':
      return failed('the service cannot do this as it is set up', 2);
    case 'ExecutionTimeoutError':
      return failed('the code took too long', 124);
    case 'WorkflowError':
      return failed('the task was not finished', FAILED);
    default:
      return failed('the code failed', FAILED);
  }
}

/** What the last attempt failed with, when there were several. */
function lastOf({ name, cause }: PythonExecutorError): string {
  if (name !== 'MaxAttemptsExceededError') return name;
  return typeof cause === 'object' && cause !== null && 'name' in cause ? String(cause.name) : name;
}
