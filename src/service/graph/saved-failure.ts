import * as failures from '../failures.ts';
import { WorkflowError, type PythonExecutorError } from '../failures.ts';

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
  const reason = cause instanceof Error ? { cause: { name: cause.name, message: cause.message } } : {};
  return { type: error.name, message: error.message, facts: { ...facts, ...reason } };
}

/** What an error says of itself by being what it is. */
const OWN: ReadonlySet<string> = new Set(['name', 'category', 'cause']);

/** The error that the failure was, of the same class. */
export function reviveFailure({ type, message, facts }: SavedFailure): PythonExecutorError {
  const found = Object.entries(failures).find(([name]) => name === type)?.[1] as FailureClass | undefined;
  return found === undefined ? new WorkflowError(message, { stage: 'unknown', ...facts }) : new found(message, facts);
}
