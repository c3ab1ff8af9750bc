/** Everything that can go wrong on our side or the caller's. Doors map codes; nobody parses messages. */
export const ERROR_CODES = {
  CONFIG_INVALID: { status: 400, exitCode: 2 },
  USAGE: { status: 400, exitCode: 2 },
  PYTHON_NOT_FOUND: { status: 503, exitCode: 3 },
  PYTHON_UNSUPPORTED: { status: 503, exitCode: 3 },
  SETUP_FAILED: { status: 503, exitCode: 3 },
  SANDBOX_UNAVAILABLE: { status: 503, exitCode: 3 },
  ENGINE_FAILED: { status: 503, exitCode: 3 },
  ENGINE_CLOSED: { status: 503, exitCode: 3 },
  JUPYTER_UNREACHABLE: { status: 503, exitCode: 3 },
  JUPYTER_REFUSED: { status: 502, exitCode: 3 },
  SESSION_NOT_FOUND: { status: 404, exitCode: 4 },
  SESSION_CLOSED: { status: 410, exitCode: 4 },
  SESSION_EXISTS: { status: 409, exitCode: 4 },
  SESSION_LIMIT: { status: 429, exitCode: 4 },
  SESSION_BUSY: { status: 409, exitCode: 4 },
  QUEUE_FULL: { status: 429, exitCode: 4 },
  INIT_FAILED: { status: 422, exitCode: 4 },
  NOTHING_TO_ROLL_BACK: { status: 409, exitCode: 4 },
  FILE_NOT_FOUND: { status: 404, exitCode: 4 },
  FILE_REFUSED: { status: 422, exitCode: 4 },
  FILE_TOO_LARGE: { status: 413, exitCode: 4 },
  TABLE_UNAVAILABLE: { status: 422, exitCode: 4 },
  ARTIFACT_NOT_FOUND: { status: 404, exitCode: 4 },
  STORAGE_FAILED: { status: 503, exitCode: 3 },
  RECORD_INVALID: { status: 422, exitCode: 4 },
  APPROVAL_NOT_FOUND: { status: 404, exitCode: 4 },
  APPROVAL_PENDING: { status: 409, exitCode: 4 },
  APPROVAL_DECIDED: { status: 409, exitCode: 4 },
  APPROVAL_EXPIRED: { status: 410, exitCode: 4 },
  APPROVAL_NOT_CLAIMED: { status: 409, exitCode: 4 },
  LLM_NOT_CONFIGURED: { status: 503, exitCode: 2 },
  LLM_UNSUITABLE: { status: 422, exitCode: 2 },
  LLM_FAILED: { status: 502, exitCode: 5 },
} as const satisfies Record<string, { status: number; exitCode: number }>;
export type ErrorCode = keyof typeof ERROR_CODES;

/** An error of ours or of the caller. What a program does is an Outcome, never one of these. */
export class VivariumError extends Error {
  override readonly name = 'VivariumError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
