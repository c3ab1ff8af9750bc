/** The programs of the mock generator: small real programs, one for each thing that can happen to code. */
import { pythonString } from '../../text/code/python-code.ts';
import type { PythonExecutionRequest } from '../api/request.ts';
import { parseExpectedType, type ExpectedType } from '../results/expected-type.ts';

export const MOCK_BEHAVIORS = [
  'success',
  'syntax_error',
  'runtime_error',
  'missing_results',
  'channel_write',
  'channel_read',
  'security_risk',
  'error_aware',
] as const;
export type MockBehavior = (typeof MOCK_BEHAVIORS)[number];

/** `failures` is the number of failed attempts so far. Only `error_aware` uses it. */
export function mockProgram(behavior: MockBehavior, request: PythonExecutionRequest, failures: number): string {
  switch (behavior) {
    case 'success':
      return program([], request);
    case 'syntax_error':
      return 'def broken(:\n    return 1\n\nresults = {}\n';
    case 'runtime_error':
      return 'values = [1, 2, 3]\nresults = {"fourth": values[3]}\n';
    case 'missing_results':
      return 'total = sum(range(10))\nprint("total:", total)\n';
    case 'channel_write':
      return program([simulated('caput(channel, value)', '1'), 'caput("DEMO:SETPOINT", 1.5)', ''], request);
    case 'channel_read':
      return program([simulated('caget(channel)', '1.5'), 'print("value:", caget("DEMO:READBACK"))', ''], request);
    case 'security_risk':
      return program(['import os', '', 'os.system("echo from a shell")', 'print(eval("6 * 7"))', ''], request);
    case 'error_aware':
      return failures === 0
        ? mockProgram('runtime_error', request, 0)
        : program([`# avoids ${failures} earlier errors`], request);
  }
}

/** Imports a function of the control system, or defines a simulated one on a machine without a control system. */
function simulated(signature: string, answer: string): string {
  const [name = ''] = signature.split('(');
  return `try:\n    from epics import ${name}\nexcept ModuleNotFoundError:\n\n    def ${signature}:\n        return ${answer}\n\n`;
}

/** A program with the results that the request expects. */
function program(before: readonly string[], { expectedResults }: PythonExecutionRequest): string {
  const members = Object.entries(expectedResults).map(([name, type]) => {
    const expected = parseExpectedType(type);
    return [name, expected === undefined ? '"a result"' : sample(expected)] as const;
  });
  if (members.length === 0) members.push(['answer', '42']);
  const values = members.map(([, value]) => value).join(' ');
  const imports = MODULES.filter((module) => values.includes(`${module}.`)).map((module) => `import ${module}`);
  const lines = members.map(([name, value]) => `    ${pythonString(name)}: ${value},`);
  return [...imports, ...before, 'results = {', ...lines, '}', 'print("results:", sorted(results))', ''].join('\n');
}

const MODULES = ['datetime', 'decimal', 'numpy', 'pandas', 'pathlib'] as const;

const SAMPLES: Readonly<Record<string, string>> = {
  none: 'None',
  str: '"text"',
  int: '3',
  float: '1.5',
  number: '2.5',
  bool: 'True',
  dict: '{"mean": 2.0}',
  list: '[1, 2, 3]',
  tuple: '(1, 2)',
  set: '{1, 2}',
  datetime: 'datetime.datetime(2024, 7, 1, 12, 0)',
  'datetime.date': 'datetime.date(2024, 7, 1)',
  'datetime.timedelta': 'datetime.timedelta(hours=1)',
  'builtins.bytes': 'b"bytes"',
  'builtins.complex': '1 + 2j',
  'builtins.frozenset': 'frozenset({1, 2})',
  'pathlib.PurePath': 'pathlib.Path("data.csv")',
  'pandas.DataFrame': 'pandas.DataFrame({"x": [1, 2], "y": [3, 4]})',
  'pandas.Series': 'pandas.Series([1.0, 2.0])',
  'numpy.ndarray': 'numpy.array([1.0, 2.0])',
};

function sample(expected: ExpectedType): string {
  if (expected.kind === 'any') return '"anything"';
  if (expected.kind === 'union') return expected.members[0] === undefined ? 'None' : sample(expected.members[0]);
  const { name, parameters } = expected;
  const items = parameters.map(sample);
  if (items.length === 0) return SAMPLES[name] ?? 'None';
  if (name === 'list') return `[${items[0]}]`;
  if (name === 'tuple') return `(${items.join(', ')},)`;
  if (name === 'set') return `{${items[0]}}`;
  return name === 'dict' ? `{${items[0]}: ${items[1] ?? 'None'}}` : (SAMPLES[name] ?? 'None');
}
