import type { Execution } from '../../execution/execution.ts';
import { WorkflowError } from '../api/failures.ts';

/**
 * The session did not answer a question about the code that it has just run. Without the answer nothing can be said of the
 * results, and the code has run to its end, so it is not run again.
 */
export function unanswered(
  what: string,
  outcome: Execution['outcome'],
  error: Execution['error'],
  facts: { readonly cause?: unknown } = {},
): WorkflowError {
  return new WorkflowError(
    `${what} could not be read from the session after the code had run: ${reasonOf(outcome, error)}. Look for code that changes built-in functions or variables that begin with "_vivarium", and ask for new code.`,
    { stage: 'execution', ...facts },
  );
}

function reasonOf(outcome: Execution['outcome'], error: Execution['error']): string {
  switch (outcome.status) {
    case 'raised':
      return error === undefined ? 'Python raised an exception' : `${error.name}: ${error.value}`.slice(0, 500);
    case 'crashed':
      return outcome.reason;
    case 'timed-out':
      return `there was no answer within ${outcome.limitMs / 1000} s`;
    case 'out-of-memory':
      return `the answer needs more than ${outcome.limitMb} MB`;
    case 'cancelled':
      return 'the question was cancelled';
    case 'succeeded':
      return 'the answer has the wrong form';
  }
}
