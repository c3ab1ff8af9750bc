import { ERROR_CODES, VivariumError, type ErrorCode } from '../../../errors.ts';

/** The codes of the Connect protocol that are used here, with the HTTP status of each. */
const STATUS = {
  invalid_argument: 400,
  failed_precondition: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  resource_exhausted: 429,
  internal: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,
} as const;
export type RpcCode = keyof typeof STATUS;

/** Why a call of the Connect protocol failed. */
export class RpcError extends Error {
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get status(): number {
    return STATUS[this.code];
  }
}

const BY_STATUS: ReadonlyMap<number, RpcCode> = new Map([
  [400, 'invalid_argument'],
  [401, 'unauthenticated'],
  [403, 'permission_denied'],
  [404, 'not_found'],
  [409, 'failed_precondition'],
  [410, 'unavailable'],
  [413, 'resource_exhausted'],
  [422, 'invalid_argument'],
  [429, 'resource_exhausted'],
  [503, 'unavailable'],
]);
/** There is no session behind a sandbox any more: for the SDKs it is not running. */
const GONE: ReadonlySet<ErrorCode> = new Set(['SESSION_CLOSED', 'SESSION_NOT_FOUND']);

/** What an error is for a caller. A bug of ours says nothing about itself. */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (!(error instanceof VivariumError)) return new RpcError('internal', 'The server failed.', { cause: error });
  if (GONE.has(error.code)) return new RpcError('unavailable', 'The sandbox was not found', { cause: error });
  const code = BY_STATUS.get(ERROR_CODES[error.code].status) ?? 'internal';
  return new RpcError(code, error.message, { cause: error });
}
