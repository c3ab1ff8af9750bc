/** Errors and outcomes as messages for people and exit codes for shells. */
import { ERROR_CODES, VivariumError } from '../../errors.ts';
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
  await stderr.line(`hint: ${ERROR_CODES[error.code].hint}`);
  return ERROR_CODES[error.code].exitCode;
}

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

/** A line of ours about a run. It may contain words of the program. */
export async function notify(words: string, { stderr }: Context): Promise<void> {
  await stderr.endLine();
  await stderr.relay(`vivarium: ${words}\n`);
  await stderr.endRelay();
}

/** How a run ended, if neither its output nor its traceback says so. */
export function describeEnd(outcome: Outcome): string | undefined {
  return hasEndedByItself(outcome) ? undefined : describeOutcome(outcome);
}
