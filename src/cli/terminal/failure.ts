/** Errors and outcomes as messages for people and exit codes for shells. */
import { ERROR_CODES, VivariumError, type ErrorCode } from '../../errors.ts';
import { describeOutcome } from '../../execution/description.ts';
import { hasEndedByItself, type Outcome, type PythonError } from '../../execution/outcome.ts';
import { makeVisible } from '../../text/visible.ts';
import type { Context } from './context.ts';

/** A bug in vivarium: `EX_SOFTWARE` of sysexits.h. */
const INTERNAL_ERROR = 70;

/** Prints an error with a hint, and resolves to the exit code. Prints nothing if a signal ended the command. */
export async function reportError(error: unknown, { stderr, lifetime }: Context): Promise<number> {
  if (lifetime.signal.aborted) return lifetime.exitCode;
  const title = stderr.style('red', 'error:');
  if (!(error instanceof VivariumError)) {
    await stderr.line(`${title} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    await stderr.line('hint: this is a bug in vivarium; please report it with the lines above');
    return INTERNAL_ERROR;
  }
  await stderr.line(`${title} ${makeVisible(error.message)}`);
  await stderr.line(`hint: ${HINTS[error.code]}`);
  return ERROR_CODES[error.code].exitCode;
}

const ASK_DOCTOR = 'run `vivarium doctor` to see what this machine lacks';
const ASK_HELP = 'add --help to see the options';
const TRY_AGAIN = 'start again; the session and its variables are gone';

const HINTS: Readonly<Record<ErrorCode, string>> = {
  CONFIG_INVALID: ASK_HELP,
  USAGE: ASK_HELP,
  PYTHON_NOT_FOUND: 'run `vivarium setup`, or choose an interpreter with --python',
  PYTHON_UNSUPPORTED: 'run `vivarium setup`, or choose another interpreter with --python',
  SETUP_FAILED: ASK_DOCTOR,
  SANDBOX_UNAVAILABLE: `${ASK_DOCTOR}; --isolation allows weaker isolation`,
  ENGINE_FAILED: ASK_DOCTOR,
  ENGINE_CLOSED: TRY_AGAIN,
  JUPYTER_UNREACHABLE: 'start the Jupyter server, or correct its address',
  JUPYTER_REFUSED: 'check the token and the kernels of the Jupyter server',
  SESSION_NOT_FOUND: TRY_AGAIN,
  SESSION_CLOSED: TRY_AGAIN,
  SESSION_LIMIT: 'close other sessions first',
  SESSION_BUSY: 'wait until the current run has ended',
  QUEUE_FULL: 'wait until the queued runs have ended',
  NOTHING_TO_ROLL_BACK: 'run something first',
  INIT_FAILED: 'fix the init code',
  SESSION_EXISTS: 'choose another id',
  FILE_NOT_FOUND: 'list the files of the session',
  FILE_REFUSED: 'use a plain path inside the workspace',
  FILE_TOO_LARGE: 'split the file, or raise the limit',
  TABLE_UNAVAILABLE: 'list the variables of the session',
  ARTIFACT_NOT_FOUND: 'list the artifacts of the session',
  STORAGE_FAILED: 'check that the database can be reached and written',
  RECORD_INVALID: 'correct the record named above',
  APPROVAL_NOT_FOUND: 'run `vivarium approvals list --status all` with the --config and --data-dir of the task',
  APPROVAL_PENDING: 'decide it with `vivarium approvals approve ID` or `vivarium approvals reject ID`',
  APPROVAL_DECIDED: 'see the decision with `vivarium approvals show ID`; to decide again, start the task again',
  APPROVAL_EXPIRED: 'start the task again',
  APPROVAL_NOT_CLAIMED: 'see who runs it with `vivarium approvals show ID`',
  LLM_NOT_CONFIGURED: 'set the variables named above, or use --base-url and --model',
  LLM_UNSUITABLE: 'use --react, or choose another model with --model',
  LLM_FAILED: 'check --base-url, --model and the API key',
};

/** The exit code for a run. 124 as of timeout(1), 137 as after SIGKILL. */
export function exitCodeOf({ status }: Outcome, error?: PythonError): number {
  const given = status === 'raised' && error?.name === 'SystemExit' ? numberOf(error.value) : null;
  return given ?? EXIT_CODES[status];
}

/** The N of `sys.exit(N)`. The system keeps its low eight bits; a failure is never 0. */
function numberOf(value: string): number | null {
  return /^-?\d{1,9}$/.test(value) ? Number(value) & 0xff || 1 : null;
}

const EXIT_CODES = {
  succeeded: 0,
  raised: 1,
  'timed-out': 124,
  cancelled: 130,
  'out-of-memory': 137,
  crashed: 137,
} as const satisfies Record<Outcome['status'], number>;

/** How a run ended, if neither its output nor its traceback says so. */
export function describeEnd(outcome: Outcome): string | undefined {
  return hasEndedByItself(outcome) ? undefined : describeOutcome(outcome);
}
