import { VivariumError } from '../../errors.ts';

/** There is no way to the server, or none any more. To a caller it is a `HOST_UNREACHABLE`. */
export class ConnectionLost extends VivariumError {
  /** Whether the server may have got the request. */
  readonly wasSent: boolean;

  constructor(url: string, cause: unknown, wasSent: boolean) {
    const why = cause instanceof Error ? reasonOf(cause) : String(cause);
    const what = wasSent ? `The connection to ${url} was lost` : `${url} cannot be reached`;
    super('HOST_UNREACHABLE', `${what}: ${why}. Check the address, and that the server runs.`, { cause });
    this.wasSent = wasSent;
  }

  /** For a request that must not be sent again by itself. */
  ofUnknownOutcome({ method, path }: { readonly method: string; readonly path: string }): VivariumError {
    return new VivariumError(
      'OUTCOME_UNKNOWN',
      `${this.message} Whether ${method} ${path} has been done is not known.`,
      { cause: this },
    );
  }
}

/** Several addresses may have been tried, each with its own error. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one) => (one as Error).message).join('; ');
  return error.message === '' ? error.name : error.message;
}
