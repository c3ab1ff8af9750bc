/** What went wrong, as people at a terminal and the programs that started us are told. */
import { ERROR_CODES, VivariumError } from '../errors.ts';
import type { Outcome, PythonError } from '../execution/outcome.ts';
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
  await stderr.line(`hint: ${ERROR_CODES[error.code].hint}`);
  return ERROR_CODES[error.code].exitCode;
}

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
  switch (outcome.status) {
    case 'timed-out':
      return `timed out after ${outcome.limitMs} ms${outcome.limit === 'cpu' ? ' of processor time' : ''}`;
    case 'cancelled':
      return 'interrupted';
    case 'out-of-memory':
      return `out of memory: the limit is ${outcome.limitMb} MB`;
    case 'crashed':
      return `crashed: ${outcome.reason}`;
    case 'succeeded':
    case 'raised':
      break;
  }
  return undefined;
}
