import * as failures from './failures.ts';
import { PythonExecutorError, WorkflowError } from './failures.ts';

/** A failure as a checkpoint stores it. */
export interface FailureJson {
  readonly type: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

type FailureClass = new (message: string, facts: Readonly<Record<string, unknown>>) => PythonExecutorError;

export function failureToJson(error: PythonExecutorError): FailureJson {
  const { cause } = error;
  const facts = Object.fromEntries(Object.entries(error).filter(([key]) => !OWN.has(key)));
  return { type: error.name, message: error.message, facts: { ...facts, ...reasonOf(cause) } };
}

/** Keeps all of a failure, and name and message of any other error. */
function reasonOf(cause: unknown): { readonly cause?: object } {
  if (cause instanceof PythonExecutorError) return { cause: failureToJson(cause) };
  return cause instanceof Error ? { cause: { name: cause.name, message: cause.message } } : {};
}

/** Fields that the class itself sets. */
const OWN: ReadonlySet<string> = new Set(['name', 'category', 'cause']);

/** The original error, of the same class. */
export function failureFromJson({ type, message, facts: saved }: FailureJson): PythonExecutorError {
  const facts = isFailureJson(saved['cause']) ? { ...saved, cause: failureFromJson(saved['cause']) } : saved;
  const found = Object.entries(failures).find(([name]) => name === type)?.[1] as FailureClass | undefined;
  return found === undefined ? new WorkflowError(message, { stage: 'unknown', ...facts }) : new found(message, facts);
}

function isFailureJson(cause: unknown): cause is FailureJson {
  return typeof cause === 'object' && cause !== null && 'type' in cause && 'facts' in cause;
}
