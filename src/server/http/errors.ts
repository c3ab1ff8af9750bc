import { ERROR_CODES, VivariumError, type ErrorCode } from '../../errors.ts';
import { toWireError, type WireError } from '../../wire/error.ts';

/** An error whose status is not that of its code. */
export class HttpError extends VivariumError {
  readonly status: number;

  constructor(status: number, code: ErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}

/** The status and the body that tell of an error. A bug of ours says nothing about itself; the log does. */
export function describeError(error: unknown): { readonly status: number; readonly body: WireError } {
  if (error instanceof HttpError) return { status: error.status, body: toWireError(error) };
  if (error instanceof VivariumError) return { status: ERROR_CODES[error.code].status, body: toWireError(error) };
  const bug = new VivariumError('ENGINE_FAILED', 'The server failed to handle the request. Its log says why.');
  return { status: 500, body: toWireError(bug) };
}
