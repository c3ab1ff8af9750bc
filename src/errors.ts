const ASK_DOCTOR = 'run `vivarium doctor` to see what this machine lacks';
const START_AGAIN = 'start again; the sessions and their variables are gone';

/**
 * Everything that can go wrong on our side or the caller's. Doors map codes; nobody parses messages. `hint` is what to
 * try next, in words that hold for every door: how it is done on the command line stands in parentheses.
 */
export const ERROR_CODES = {
  CONFIG_INVALID: { status: 400, exitCode: 2, hint: 'see docs/options.md for the options, or add --help' },
  USAGE: { status: 400, exitCode: 2, hint: 'add --help to see how the command is used' },
  PYTHON_NOT_FOUND: {
    status: 503,
    exitCode: 3,
    hint: 'run `vivarium setup`, or choose an interpreter with the option `python` (--python)',
  },
  PYTHON_UNSUPPORTED: {
    status: 503,
    exitCode: 3,
    hint: 'run `vivarium setup`, or choose another interpreter with the option `python` (--python)',
  },
  PACKAGE_MISSING: { status: 503, exitCode: 3, hint: 'run the `npm install` that the message names' },
  SETUP_FAILED: { status: 503, exitCode: 3, hint: ASK_DOCTOR },
  ENVIRONMENT_NOT_FOUND: {
    status: 404,
    exitCode: 4,
    hint: 'check the name, or list the environments (`vivarium environments list`)',
  },
  ENVIRONMENT_EXISTS: { status: 409, exitCode: 4, hint: 'choose another name for the environment' },
  ENVIRONMENT_IN_USE: { status: 409, exitCode: 4, hint: 'close the sessions and hosts that use the environment' },
  ENVIRONMENT_UNUSABLE: {
    status: 503,
    exitCode: 3,
    hint: 'build the environment again (`vivarium environments rebuild NAME`)',
  },
  SANDBOX_UNAVAILABLE: {
    status: 503,
    exitCode: 3,
    hint: `${ASK_DOCTOR}; the option \`isolation\` (--isolation) allows weaker isolation`,
  },
  ENGINE_FAILED: { status: 503, exitCode: 3, hint: ASK_DOCTOR },
  ENGINE_CLOSED: { status: 503, exitCode: 3, hint: START_AGAIN },
  JUPYTER_UNREACHABLE: { status: 503, exitCode: 3, hint: 'start the Jupyter server, or correct its address' },
  JUPYTER_REFUSED: { status: 502, exitCode: 3, hint: 'check the token and the kernels of the Jupyter server' },
  SESSION_NOT_FOUND: { status: 404, exitCode: 4, hint: 'check the session id, or create a new session' },
  SESSION_CLOSED: { status: 410, exitCode: 4, hint: 'create a new session; the variables of the old one are gone' },
  SESSION_EXISTS: { status: 409, exitCode: 4, hint: 'choose another session id' },
  SESSION_LIMIT: {
    status: 429,
    exitCode: 4,
    hint: 'close sessions that are not needed, or raise the limit on sessions',
  },
  SESSION_BUSY: { status: 409, exitCode: 4, hint: 'wait until the current run has ended, or let this run queue' },
  QUEUE_FULL: { status: 429, exitCode: 4, hint: 'wait until some of the queued runs have ended' },
  INIT_FAILED: { status: 422, exitCode: 4, hint: 'fix the init code that every session starts with' },
  NOTHING_TO_ROLL_BACK: { status: 409, exitCode: 4, hint: 'run something that changes the state first' },
  FILE_NOT_FOUND: { status: 404, exitCode: 4, hint: 'list the files of the session' },
  FILE_REFUSED: { status: 422, exitCode: 4, hint: 'use a plain path inside the workspace' },
  FILE_TOO_LARGE: { status: 413, exitCode: 4, hint: 'split the file, or raise the limit' },
  TABLE_UNAVAILABLE: { status: 422, exitCode: 4, hint: 'list the variables of the session' },
  PACKAGE_REFUSED: {
    status: 403,
    exitCode: 4,
    hint: 'allow it with the option `packages` (--packages), or install it for the session (--with)',
  },
  PACKAGE_UNAVAILABLE: { status: 422, exitCode: 4, hint: 'ask for another version, or use another package' },
  ARTIFACT_NOT_FOUND: {
    status: 404,
    exitCode: 4,
    hint: 'list the artifacts of the session; they are removed when their retention ends',
  },
  UNAUTHORIZED: { status: 401, exitCode: 2, hint: 'send a key of the server: `Authorization: Bearer KEY`' },
  FORBIDDEN: { status: 403, exitCode: 4, hint: 'ask for less, or ask the operator of the server to allow it' },
  NOT_FOUND: { status: 404, exitCode: 4, hint: 'check the name; /openapi.json of the server lists its routes' },
  RUN_NOT_FOUND: {
    status: 404,
    exitCode: 4,
    hint: 'check the id of the run; runs are removed when their retention ends',
  },
  COMMAND_NOT_FOUND: { status: 404, exitCode: 4, hint: 'check the id of the command; ended ones are forgotten soon' },
  REQUEST_INVALID: { status: 400, exitCode: 2, hint: 'send what /openapi.json of the server describes' },
  REQUEST_TOO_LARGE: { status: 413, exitCode: 4, hint: 'send less at once; upload large data as a file' },
  RATE_LIMITED: { status: 429, exitCode: 4, hint: 'wait for as long as the header Retry-After says' },
  IDEMPOTENCY_MISMATCH: { status: 422, exitCode: 4, hint: 'use a new Idempotency-Key for each request' },
  IDEMPOTENCY_IN_DOUBT: {
    status: 409,
    exitCode: 4,
    hint: 'look at what the code has done, then run it with a new Idempotency-Key',
  },
  SERVER_CLOSING: { status: 503, exitCode: 3, hint: 'try again when the server has been started again' },
  HOST_UNREACHABLE: { status: 503, exitCode: 3, hint: 'check the address, and that the server runs' },
  OUTCOME_UNKNOWN: { status: 503, exitCode: 3, hint: 'look at the state of the session before you run the code again' },
  STORAGE_FAILED: { status: 503, exitCode: 3, hint: 'check that the disk and the database can be reached and written' },
  RECORD_INVALID: { status: 422, exitCode: 4, hint: 'correct what the message names' },
  APPROVAL_NOT_FOUND: {
    status: 404,
    exitCode: 4,
    hint: 'list all approvals (`vivarium approvals list --status all`), and check which storage is used (--config, --data-dir)',
  },
  APPROVAL_PENDING: {
    status: 409,
    exitCode: 4,
    hint: 'approve or reject it first (`vivarium approvals approve ID` or `vivarium approvals reject ID`)',
  },
  APPROVAL_DECIDED: {
    status: 409,
    exitCode: 4,
    hint: 'look at what was decided (`vivarium approvals show ID`); start the task again to decide again',
  },
  APPROVAL_EXPIRED: { status: 410, exitCode: 4, hint: 'start the task again' },
  APPROVAL_NOT_CLAIMED: { status: 409, exitCode: 4, hint: 'look at who runs it (`vivarium approvals show ID`)' },
  LLM_NOT_CONFIGURED: {
    status: 503,
    exitCode: 2,
    hint: 'set the variables that the message names, or choose a model (--base-url, --model)',
  },
  LLM_UNSUITABLE: {
    status: 422,
    exitCode: 2,
    hint: 'use the ReAct agent (--react), or choose another model (--model)',
  },
  LLM_FAILED: {
    status: 502,
    exitCode: 5,
    hint: 'check the address, the model name and the API key (--base-url, --model)',
  },
} as const satisfies Record<string, { status: number; exitCode: number; hint: string }>;
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
