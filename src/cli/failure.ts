/** What went wrong, as people at a terminal and the programs that started us are told. */
import { ERROR_CODES, VivariumError, type ErrorCode } from '../errors.ts';
import { describeOutcome } from '../execution/description.ts';
import { hasEndedByItself, type Outcome, type PythonError } from '../execution/outcome.ts';
import { makeVisible } from '../text/visible.ts';
import type { Context } from './context.ts';

/** A fault of ours that nobody foresaw, as sysexits.h has it. */
const UNFORESEEN = 70;

/** Prints an error and what to do about it; resolves to the exit code. Whoever was told to stop needs no explanation. */
export async function reportError(error: unknown, { stderr, lifetime }: Context): Promise<number> {
  if (lifetime.signal.aborted) return lifetime.exitCode;
  const title = stderr.style('red', 'error:');
  if (!(error instanceof VivariumError)) {
    await stderr.line(`${title} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    await stderr.line('hint: this is a fault in vivarium; please report it with the lines above');
    return UNFORESEEN;
  }
  await stderr.line(`${title} ${makeVisible(error.message)}`);
  await stderr.line(`hint: ${HINTS[error.code]}`);
  return ERROR_CODES[error.code].exitCode;
}

const ASK_DOCTOR = '`vivarium doctor` shows what this machine has and lacks';
const ASK_HELP = 'add --help to see what can be used';
const TRY_AGAIN = 'start again; the session and its variables are gone';

const HINTS: Readonly<Record<ErrorCode, string>> = {
  CONFIG_INVALID: ASK_HELP,
  USAGE: ASK_HELP,
  PYTHON_NOT_FOUND: 'run `vivarium setup`, or name an interpreter with --python',
  PYTHON_UNSUPPORTED: 'run `vivarium setup`, or name another interpreter with --python',
  SETUP_FAILED: ASK_DOCTOR,
  SANDBOX_UNAVAILABLE: `${ASK_DOCTOR}; weaker walls must be asked for with --isolation`,
  ENGINE_FAILED: ASK_DOCTOR,
  ENGINE_CLOSED: TRY_AGAIN,
  JUPYTER_UNREACHABLE: 'start the Jupyter server, or correct its address',
  JUPYTER_REFUSED: 'check the token and the kernels of the Jupyter server',
  SESSION_NOT_FOUND: TRY_AGAIN,
  SESSION_CLOSED: TRY_AGAIN,
  SESSION_LIMIT: 'close other sessions first',
  SESSION_BUSY: 'wait for the run before to end',
  QUEUE_FULL: 'wait for the runs before to end',
  NOTHING_TO_ROLL_BACK: 'run something first',
  INIT_FAILED: 'mend the code that every session begins with',
  SESSION_EXISTS: 'choose another id',
  FILE_NOT_FOUND: 'list the files of the session',
  FILE_REFUSED: 'use a plain path inside the workspace',
  FILE_TOO_LARGE: 'split the file, or raise the limit',
  TABLE_UNAVAILABLE: 'list the variables of the session',
  ARTIFACT_NOT_FOUND: 'list the artifacts of the session',
  STORAGE_FAILED: 'see that the database can be reached and written',
  RECORD_INVALID: 'correct what is named above',
  APPROVAL_NOT_FOUND:
    '`vivarium approvals list --status all` has those of the storage that --config and --data-dir name',
  APPROVAL_PENDING: '`vivarium approvals approve ID` or `vivarium approvals reject ID` decides it',
  APPROVAL_DECIDED: '`vivarium approvals show ID` tells what became of it; start the task again to decide anew',
  APPROVAL_EXPIRED: 'start the task again',
  APPROVAL_NOT_CLAIMED: '`vivarium approvals show ID` tells who runs it',
  LLM_NOT_CONFIGURED: 'set the variables that the message names, or use --base-url and --model',
  LLM_UNSUITABLE: 'use --react, or name another model with --model',
  LLM_FAILED: 'check --base-url, --model and the API key',
};

/** The exit code that tells a shell how the program ended; 124 as timeout(1) has it, 137 as after SIGKILL. */
export function exitCodeOf({ status }: Outcome, error?: PythonError): number {
  const given = status === 'raised' && error?.name === 'SystemExit' ? numberOf(error.value) : null;
  return given ?? EXIT_CODES[status];
}

/** Of `sys.exit(3)`: as Python hands it to the system, which sees eight bits of it; what failed is never 0. */
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

/** How the run ended, where neither its output nor its traceback says so. */
export function describeEnd(outcome: Outcome): string | undefined {
  return hasEndedByItself(outcome) ? undefined : describeOutcome(outcome);
}
