import { describe, expect, test } from 'vitest';
import { ERROR_CODES, VivariumError, type ErrorCode } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Outcome } from '../../execution/outcome.ts';
import { failureOf, machineryFailure } from './failures.ts';
import { unanswered } from './unanswered.ts';

const FACTS = { folderPath: '/records/x' };
const LOGS = { stdout: 'out', stderr: 'err' };

function failed(outcome: Outcome, more: Partial<Execution> = {}, python = '/env/bin/python') {
  const execution = { outcome, logs: LOGS, ...more } as Execution;
  return failureOf({ execution, python }, 3, FACTS);
}

function raised(name: string, value: string, python?: string) {
  const error = { name, value, traceback: 'Traceback …' };
  return failed({ status: 'raised' }, { error }, python);
}

describe('What a run amounts to', () => {
  test('is no failure if it succeeded', () => {
    expect(failed({ status: 'succeeded' })).toBeNull();
  });

  test.for<[Outcome, string, string]>([
    [{ status: 'raised' }, 'CodeRuntimeError', 'The code raised an exception.'],
    [
      { status: 'timed-out', limit: 'wall', limitMs: 1500 },
      'ExecutionTimeoutError',
      'The code timed out after 1.5 s. Raise execution_timeout_seconds, or ask for less at once.',
    ],
    [{ status: 'out-of-memory', limitMb: 256 }, 'CodeRuntimeError', 'The code ran out of memory: the limit is 256 MB.'],
    [{ status: 'cancelled' }, 'CodeRuntimeError', 'The code was cancelled.'],
    [
      { status: 'crashed', signal: 'SIGKILL', exitCode: null, reason: 'it was killed' },
      'CodeRuntimeError',
      'The code crashed: it was killed.',
    ],
  ])('is for %j a %s', ([outcome, name, message]) => {
    const error = failed(outcome);
    expect([error?.name, error?.message, error?.folderPath]).toEqual([name, message, '/records/x']);
  });

  test('says how long the code had', () => {
    expect(failed({ status: 'timed-out', limit: 'wall', limitMs: 1500 })).toMatchObject({ timeoutSeconds: 1.5 });
  });

  test('has the traceback, or else what was printed, errors first', () => {
    expect(raised('ValueError', 'no')).toMatchObject({ tracebackInfo: 'Traceback …', executionAttempt: 3 });
    expect(failed({ status: 'cancelled' })).toMatchObject({ tracebackInfo: 'err\nout' });
    expect(failed({ status: 'cancelled' }, { logs: { stdout: 'out', stderr: '' } })).toMatchObject({
      tracebackInfo: 'out',
    });
  });

  test.for([
    ['ValueError', 'no', 'ValueError: no'],
    ['KeyboardInterrupt', '', 'KeyboardInterrupt'],
    ['ValueError', "No module named 'x'", "ValueError: No module named 'x'"],
    ['ImportError', 'cannot import name y', 'ImportError: cannot import name y'],
    ['ModuleNotFoundError', "No module named 'a b'", "ModuleNotFoundError: No module named 'a b'"],
    ['ModuleNotFoundError', "No module named '; rm -rf /'", "ModuleNotFoundError: No module named '; rm -rf /'"],
  ] as const)('is told by Python: %s %j', ([name, value, message]) => {
    expect(raised(name, value)?.message).toBe(message);
  });

  test.for([
    ['ModuleNotFoundError', "No module named 'scipy.signal'", '/env/bin/python -m pip install scipy', 'scipy.signal'],
    [
      'ImportError',
      "Missing optional dependency 'openpyxl'. Use pip.",
      '/env/bin/python -m pip install openpyxl',
      'openpyxl',
    ],
  ] as const)('names the missing module and how to install it: %s %j', ([name, value, command, module]) => {
    const message = raised(name, value)?.message ?? '';
    expect(message).toMatch(new RegExp(`^Missing Module: '${module}' is not installed`, 'u'));
    expect(message.endsWith(command)).toBe(true);
  });

  test('names the kernel where the Python is that of a Jupyter server', () => {
    expect(raised('ModuleNotFoundError', "No module named 'x'", 'python3-lab')?.message).toContain(
      'pip, for the kernel python3-lab, install x',
    );
  });
});

/** What each error code becomes. A code that is not listed here must be added on purpose. */
const MACHINERY: Readonly<Partial<Record<ErrorCode, string | null>>> = {
  JUPYTER_UNREACHABLE: 'ContainerConnectivityError',
  JUPYTER_REFUSED: 'ContainerConfigurationError',
  CONFIG_INVALID: 'ServiceConfigurationError',
  PYTHON_NOT_FOUND: 'ServiceConfigurationError',
  PYTHON_UNSUPPORTED: 'ServiceConfigurationError',
  SANDBOX_UNAVAILABLE: 'ServiceConfigurationError',
  INIT_FAILED: 'ServiceConfigurationError',
  FILE_REFUSED: 'ServiceConfigurationError',
  FILE_TOO_LARGE: 'ServiceConfigurationError',
  LLM_NOT_CONFIGURED: 'ServiceConfigurationError',
  LLM_UNSUITABLE: 'ServiceConfigurationError',
  STORAGE_FAILED: null,
  RECORD_INVALID: null,
  ARTIFACT_NOT_FOUND: null,
};

describe('An error of the machinery', () => {
  const container = { host: 'lab', port: 8888 };

  const codes = Object.keys(ERROR_CODES) as ErrorCode[];

  test.for(codes.filter((code) => MACHINERY[code] === null))('%s is never followed by a retry', (code) => {
    expect(machineryFailure(new VivariumError(code, 'what happened'), container, FACTS)).toBeNull();
  });

  test.for(codes.filter((code) => MACHINERY[code] !== null))('%s becomes the failure of its kind', (code) => {
    const cause = new VivariumError(code, 'what happened');
    const failure = machineryFailure(cause, container, FACTS);
    expect(failure?.name).toBe(MACHINERY[code] ?? 'EngineUnavailableError');
    expect(failure).toMatchObject({ message: 'what happened', cause, technicalDetails: { code }, ...FACTS });
  });

  test('of a server says which server', () => {
    expect(machineryFailure(new VivariumError('JUPYTER_UNREACHABLE', 'x'), container, {})).toMatchObject(container);
  });

  test('that is not ours is thrown on as it is', () => {
    for (const error of [new TypeError('bug'), 'text', undefined]) {
      expect(machineryFailure(error, container, {})).toBeNull();
    }
  });
});

describe('A question that a session did not answer', () => {
  const error = { name: 'NameError', value: 'y'.repeat(1000), traceback: '' };

  test.for<[Outcome, string]>([
    [{ status: 'raised' }, 'Python raised an exception'],
    [{ status: 'crashed', signal: null, exitCode: 1, reason: 'it exited with 1' }, 'it exited with 1'],
    [{ status: 'timed-out', limit: 'wall', limitMs: 10_000 }, 'there was no answer within 10 s'],
    [{ status: 'out-of-memory', limitMb: 64 }, 'the answer needs more than 64 MB'],
    [{ status: 'cancelled' }, 'the question was cancelled'],
    [{ status: 'succeeded' }, 'the answer has the wrong form'],
  ])('ends the request and says why: %j', ([outcome, reason]) => {
    const failure = unanswered('The types', outcome, undefined);
    expect(failure).toMatchObject({ name: 'WorkflowError', category: 'workflow', stage: 'execution' });
    expect(failure.message).toContain(
      `The types could not be read from the session after the code had run: ${reason}.`,
    );
  });

  test('shows at most 500 characters of what Python raised, and keeps its cause', () => {
    const cause = new Error('below');
    const failure = unanswered('It', { status: 'raised' }, error, { cause });
    expect(failure.message).toContain(`NameError: ${'y'.repeat(489)}.`);
    expect(failure.cause).toBe(cause);
  });
});
