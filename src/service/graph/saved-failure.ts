import * as failures from '../failures.ts';
import { PythonExecutorError, WorkflowError } from '../failures.ts';

/** A failure as a checkpoint keeps it. */
export interface SavedFailure {
  readonly type: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

type FailureClass = new (message: string, facts: Readonly<Record<string, unknown>>) => PythonExecutorError;

export function saveFailure(error: PythonExecutorError): SavedFailure {
  const { cause } = error;
  const facts = Object.fromEntries(Object.entries(error).filter(([key]) => !OWN.has(key)));
  return { type: error.name, message: error.message, facts: { ...facts, ...reasonOf(cause) } };
}

/** Of a failure all is kept, of any other error what it said. */
function reasonOf(cause: unknown): { readonly cause?: object } {
  if (cause instanceof PythonExecutorError) return { cause: saveFailure(cause) };
  return cause instanceof Error ? { cause: { name: cause.name, message: cause.message } } : {};
}

/** What an error says of itself by being what it is. */
const OWN: ReadonlySet<string> = new Set(['name', 'category', 'cause']);

/** The error that the failure was, of the same class. */
export function reviveFailure({ type, message, facts: saved }: SavedFailure): PythonExecutorError {
  const facts = isSaved(saved['cause']) ? { ...saved, cause: reviveFailure(saved['cause']) } : saved;
  const found = Object.entries(failures).find(([name]) => name === type)?.[1] as FailureClass | undefined;
  return found === undefined ? new WorkflowError(message, { stage: 'unknown', ...facts }) : new found(message, facts);
}

function isSaved(cause: unknown): cause is SavedFailure {
  return typeof cause === 'object' && cause !== null && 'type' in cause && 'facts' in cause;
}
