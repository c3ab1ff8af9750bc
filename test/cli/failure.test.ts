/** Errors and outcomes as a shell and a person see them. */
import { expect, test } from 'vitest';
import { describeEnd, exitCodeOf, reportError } from '../../src/cli/terminal/failure.ts';
import { Lifetime } from '../../src/cli/terminal/lifetime.ts';
import { ERROR_CODES, VivariumError, type ErrorCode } from '../../src/errors.ts';
import type { Outcome } from '../../src/execution/outcome.ts';
import { CommandContext } from '../support/command-context.ts';

/** Scripts rely on these, so each is written down here. */
const EXIT_CODES: Readonly<Record<ErrorCode, number>> = {
  CONFIG_INVALID: 2,
  USAGE: 2,
  PYTHON_NOT_FOUND: 3,
  PYTHON_UNSUPPORTED: 3,
  PACKAGE_MISSING: 3,
  SETUP_FAILED: 3,
  ENVIRONMENT_NOT_FOUND: 4,
  ENVIRONMENT_EXISTS: 4,
  ENVIRONMENT_IN_USE: 4,
  ENVIRONMENT_UNUSABLE: 3,
  SANDBOX_UNAVAILABLE: 3,
  ENGINE_FAILED: 3,
  ENGINE_CLOSED: 3,
  JUPYTER_UNREACHABLE: 3,
  JUPYTER_REFUSED: 3,
  SESSION_NOT_FOUND: 4,
  SESSION_CLOSED: 4,
  SESSION_EXISTS: 4,
  SESSION_LIMIT: 4,
  SESSION_BUSY: 4,
  QUEUE_FULL: 4,
  INIT_FAILED: 4,
  NOTHING_TO_ROLL_BACK: 4,
  FILE_NOT_FOUND: 4,
  FILE_REFUSED: 4,
  FILE_TOO_LARGE: 4,
  TABLE_UNAVAILABLE: 4,
  PACKAGE_REFUSED: 4,
  PACKAGE_UNAVAILABLE: 4,
  ARTIFACT_NOT_FOUND: 4,
  UNAUTHORIZED: 2,
  FORBIDDEN: 4,
  NOT_FOUND: 4,
  RUN_NOT_FOUND: 4,
  COMMAND_NOT_FOUND: 4,
  REQUEST_INVALID: 2,
  REQUEST_TOO_LARGE: 4,
  RATE_LIMITED: 4,
  IDEMPOTENCY_MISMATCH: 4,
  IDEMPOTENCY_IN_DOUBT: 4,
  SERVER_CLOSING: 3,
  HOST_UNREACHABLE: 3,
  OUTCOME_UNKNOWN: 3,
  STORAGE_FAILED: 3,
  RECORD_INVALID: 4,
  APPROVAL_NOT_FOUND: 4,
  APPROVAL_PENDING: 4,
  APPROVAL_DECIDED: 4,
  APPROVAL_EXPIRED: 4,
  APPROVAL_NOT_CLAIMED: 4,
  LLM_NOT_CONFIGURED: 2,
  LLM_UNSUITABLE: 2,
  LLM_FAILED: 5,
};

test.for(Object.entries(EXIT_CODES) as [ErrorCode, number][])(
  '%s ends the command with %i, its message and its hint',
  async ([code, exitCode]) => {
    const context = new CommandContext();
    expect(await reportError(new VivariumError(code, 'It went wrong. Do this.'), context)).toBe(exitCode);
    expect(context.err.text).toBe(`error: It went wrong. Do this.\nhint: ${ERROR_CODES[code].hint}\n`);
    expect(context.out.text).toBe('');
  },
);

test('what a message quotes cannot control the terminal', async () => {
  const context = new CommandContext({ isTerminal: true });
  await reportError(new VivariumError('USAGE', 'Cannot read \u001B[2Jevil\u202E.'), context);
  expect(context.err.plain).toContain('error: Cannot read \\u{1b}[2Jevil\\u{202e}.\n');
});

test.for([
  [
    'an error with its stack',
    new TypeError('x is not a function'),
    /^error: TypeError: x is not a function\n {4}at .+/,
  ],
  ['something else', 'thrown text', /^error: thrown text\n/],
  ['nothing', undefined, /^error: undefined\n/],
] as const)('a bug of ours is told apart: %s', async ([, thrown, words]) => {
  const context = new CommandContext();
  expect(await reportError(thrown, context)).toBe(70);
  expect(context.err.text).toMatch(words);
  expect(context.err.text).toMatch(/\nhint: this is a bug in vivarium; please report it with the lines above\n$/);
});

test('an error without a stack is reported with its message', async () => {
  const context = new CommandContext();
  await reportError(Object.assign(new Error('bare'), { stack: undefined }), context);
  expect(context.err.text).toMatch(/^error: bare\n/);
});

test('after a signal no error is printed, and the exit code is that of the signal', async () => {
  const context = new CommandContext();
  context.lifetime.receive('SIGTERM');
  expect(await reportError(new VivariumError('USAGE', 'late'), context)).toBe(143);
  expect(context.err.text).toBe('');
});

const OUTCOMES: readonly (readonly [Outcome, number, string | undefined])[] = [
  [{ status: 'succeeded' }, 0, undefined],
  [{ status: 'raised' }, 1, undefined],
  [{ status: 'timed-out', limit: 'wall', limitMs: 300 }, 124, 'timed out after 300 ms'],
  [{ status: 'timed-out', limit: 'cpu', limitMs: 2500 }, 124, 'timed out after 2.5 s of processor time'],
  [{ status: 'cancelled' }, 130, 'cancelled'],
  [{ status: 'out-of-memory', limitMb: 128 }, 137, 'out of memory: the limit is 128 MB'],
  [
    { status: 'crashed', signal: 'SIGSEGV', exitCode: null, reason: 'the process was killed by SIGSEGV' },
    137,
    'crashed: the process was killed by SIGSEGV',
  ],
];

test.for(OUTCOMES)('the outcome %j has exit code %i and the words "%s"', ([outcome, exitCode, words]) => {
  expect(exitCodeOf(outcome)).toBe(exitCode);
  expect(describeEnd(outcome)).toBe(words);
});

test.for([
  ['0', 1], // SystemExit is raised, so the run did not succeed
  ['3', 3],
  ['255', 255],
  ['256', 1],
  ['257', 1],
  ['258', 2],
  ['-1', 255],
  ['999999999', 255],
  ['9999999999', 1],
  ['bye', 1],
  ['', 1],
  ['3.5', 1],
  ['0x10', 1],
  [' 3', 1],
  ['3\n', 1],
] as const)('sys.exit(%j) ends the command with %i', ([value, exitCode]) => {
  expect(exitCodeOf({ status: 'raised' }, { name: 'SystemExit', value, traceback: '' })).toBe(exitCode);
});

test('only SystemExit chooses the exit code, and only if the run ended with it', () => {
  expect(exitCodeOf({ status: 'raised' }, { name: 'ValueError', value: '3', traceback: '' })).toBe(1);
  const exit = { name: 'SystemExit', value: '3', traceback: '' };
  expect(exitCodeOf({ status: 'cancelled' }, exit)).toBe(130);
  expect(exitCodeOf({ status: 'timed-out', limit: 'wall', limitMs: 1 }, exit)).toBe(124);
});

test('the first signal asks a command to end, the second ends the process', () => {
  const lifetime = new Lifetime();
  expect([lifetime.signal.aborted, lifetime.exitCode, lifetime.isReaderGone]).toEqual([false, 0, false]);
  expect(lifetime.receive('SIGINT')).toBe(true);
  expect([lifetime.signal.aborted, lifetime.exitCode]).toEqual([true, 130]);
  expect(lifetime.signal.reason).toMatchObject({ message: 'ended by SIGINT' });
  expect(lifetime.receive('SIGTERM')).toBe(false);
  expect(lifetime.exitCode).toBe(130);
});

test.for([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGPIPE', 141],
] as const)('%s ends a command with %i', ([signal, exitCode]) => {
  const lifetime = new Lifetime();
  lifetime.receive(signal);
  expect(lifetime.exitCode).toBe(exitCode);
  expect(lifetime.isReaderGone).toBe(signal === 'SIGPIPE');
});

test('a reader that goes away twice does not end the process before it has cleaned up', () => {
  const lifetime = new Lifetime();
  expect([lifetime.receive('SIGPIPE'), lifetime.receive('SIGPIPE')]).toEqual([true, true]);
  expect(lifetime.receive('SIGINT')).toBe(false);
});

test('a command that handles Ctrl-C gets it, and other signals still end it', () => {
  const lifetime = new Lifetime();
  let interrupts = 0;
  {
    using _ = lifetime.handleInterrupts(() => (interrupts += 1));
    expect([lifetime.receive('SIGINT'), lifetime.receive('SIGINT')]).toEqual([true, true]);
    expect([interrupts, lifetime.signal.aborted]).toEqual([2, false]);
    expect(lifetime.receive('SIGTERM')).toBe(true);
    expect(lifetime.receive('SIGINT')).toBe(false); // it is ending already
    expect(interrupts).toBe(2);
  }
});

test('Ctrl-C ends a command that no longer handles it', () => {
  const lifetime = new Lifetime();
  lifetime.handleInterrupts(() => {})[Symbol.dispose]();
  expect(lifetime.receive('SIGINT')).toBe(true);
  expect(lifetime.signal.aborted).toBe(true);
});
