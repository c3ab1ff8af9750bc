import type { Execution } from '../../execution/execution.ts';
import { seconds } from '../description.ts';

/** What a run is reported with: null when all went well. */
export function errorOf({ outcome, error }: Execution): string | null {
  switch (outcome.status) {
    case 'succeeded':
      return null;
    case 'raised':
      return isPlainExit(error) ? null : `${error?.name ?? 'Exception'}: ${error?.value ?? ''}`;
    case 'timed-out':
      return `Code execution timed out after ${seconds(outcome.limitMs)} seconds`;
    case 'out-of-memory':
      return 'Memory limit exceeded during code execution';
    case 'crashed':
      return `Code execution failed unexpectedly: ${outcome.reason}`;
    case 'cancelled':
      return 'Code execution was cancelled';
  }
}

/** Everything that a run wrote to stderr, and the traceback of what it raised. */
export function stderrOf({ logs, error }: Execution): string {
  if (error === undefined || isPlainExit(error)) return logs.stderr;
  const gap = logs.stderr === '' || logs.stderr.endsWith('\n') ? '' : '\n';
  return `${logs.stderr}${gap}${error.traceback}`;
}

/** `sys.exit()` and `sys.exit(0)` end a script that has done its work. */
function isPlainExit(error: Execution['error']): boolean {
  return error?.name === 'SystemExit' && ['', '0', 'None'].includes(error.value);
}
