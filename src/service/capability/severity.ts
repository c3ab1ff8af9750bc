import { MaxAttemptsExceededError, PolicyRefusedError, PythonExecutorError } from '../api/failures.ts';

/** What a graph should do about a failed step. */
export const ErrorSeverity = {
  /** End, and tell the user. */
  CRITICAL: 'critical',
  /** The same step may succeed later. */
  RETRIABLE: 'retriable',
  /** Another step may reach the goal. */
  REPLANNING: 'replanning',
  /** Other capabilities may be able to do it. */
  RECLASSIFICATION: 'reclassification',
  /** The set-up is wrong; nothing can succeed until somebody corrects it. */
  FATAL: 'fatal',
} as const;
export type ErrorSeverity = (typeof ErrorSeverity)[keyof typeof ErrorSeverity];

export interface ErrorClassification {
  readonly severity: ErrorSeverity;
  /** A message for the end user. */
  readonly user_message: string;
  readonly technical_details: Readonly<Record<string, unknown>>;
}

/**
 * Classifies a failure of a capability. The service has used up its own retries by then, so only a failure of the
 * infrastructure is worth the same step again. What a person rejected or the policy forbids is never tried another way.
 */
export function classifyError(error: unknown): ErrorClassification {
  if (!(error instanceof PythonExecutorError)) {
    const user_message = error instanceof Error ? error.message : String(error);
    return { severity: ErrorSeverity.CRITICAL, user_message, technical_details: {} };
  }
  const technical_details = { ...error.technicalDetails, error_type: error.name, category: error.category };
  return { severity: severityOf(error), user_message: error.getUserMessage(), technical_details };
}

function severityOf(error: PythonExecutorError): ErrorSeverity {
  if (error instanceof MaxAttemptsExceededError && error.cause instanceof PythonExecutorError) {
    return severityOf(error.cause);
  }
  if (error instanceof PolicyRefusedError) return ErrorSeverity.CRITICAL;
  switch (error.category) {
    case 'infrastructure':
      return ErrorSeverity.RETRIABLE;
    case 'code_related':
      return ErrorSeverity.REPLANNING;
    case 'configuration':
      return ErrorSeverity.FATAL;
    case 'workflow':
      return ErrorSeverity.CRITICAL;
  }
}
