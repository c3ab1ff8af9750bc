/** The result of a run in the shape and the words of the code tools. */
import type { Execution } from '../../execution/execution.ts';
import { joinLines } from '../../text/excerpt.ts';
import { seconds } from '../description.ts';

/** The output of a tool, and its error if it failed. The output is complete in both cases. */
export class ToolResult {
  readonly output: string;
  readonly error: string | null;
  /** The isolation level, where it is weaker than the usual one. */
  readonly metadata: { readonly isolation?: string };

  constructor(output: string, error: string | null = null, metadata: ToolResult['metadata'] = {}) {
    this.output = output;
    this.error = error;
    this.metadata = metadata;
  }

  get isError(): boolean {
    return this.error !== null;
  }

  get is_error(): boolean {
    return this.isError;
  }

  /** For a model: the output, also if there is an error. */
  toString(): string {
    return this.error === null ? this.output : `${this.output}\n${this.error}`;
  }
}

/** The error of a run, in the words that users of the tool know. Null if it succeeded. */
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

/** What the run wrote to stderr, then its traceback. */
export function stderrOf({ logs, error }: Execution): string {
  return error === undefined || isPlainExit(error) ? logs.stderr : joinLines([logs.stderr, error.traceback]);
}

/** `sys.exit()` and `sys.exit(0)` are the normal end of a script. */
function isPlainExit(error: Execution['error']): boolean {
  return error?.name === 'SystemExit' && ['', '0', 'None'].includes(error.value);
}
