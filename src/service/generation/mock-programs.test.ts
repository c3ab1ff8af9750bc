/** The mock generator's programs, really run. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { Examiner } from '../analysis/examine.ts';
import { loadConfiguration } from '../config/load.ts';
import { CodeAnalyzer } from '../policy/code-analyzer.ts';
import { readPayload } from '../../engine/python-files.ts';
import { parseTypes, typesProbe, TYPES_VARIABLE } from '../results/actual-type.ts';
import { validateResults } from '../results/validate.ts';
import { parseRequest } from '../api/request.ts';
import { mockProgram, MOCK_BEHAVIORS, type MockBehavior } from './mock-programs.ts';
import { MockGenerator } from './mock.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [] });
});
afterAll(() => host?.close());

function requestFor(expected: Readonly<Record<string, string>> = {}) {
  return parseRequest({ userQuery: '', taskObjective: 't', executionFolderName: 'f', expectedResults: expected });
}

function run(behavior: MockBehavior, failures = 0): Promise<Execution> {
  return host.runOnce(mockProgram(behavior, requestFor(), failures), { resultVariable: 'results', echo: 'none' });
}

describe('Each behavior happens to the code of its program', () => {
  test.for<[MockBehavior, string, Json | undefined]>([
    ['success', 'succeeded', { answer: 42 }],
    ['channel_write', 'succeeded', { answer: 42 }],
    ['channel_read', 'succeeded', { answer: 42 }],
    ['missing_results', 'succeeded', undefined],
    ['syntax_error', 'raised', undefined],
    ['runtime_error', 'raised', undefined],
    ['error_aware', 'raised', undefined],
  ])('%s ends as %s', async ([behavior, status, value]) => {
    const execution = await run(behavior);
    expect(execution.outcome.status).toBe(status);
    expect(execution.value).toEqual(value);
  });

  test('the errors are those that the names promise, and an error-aware program learns', async () => {
    expect((await run('syntax_error')).error?.name).toBe('SyntaxError');
    expect((await run('runtime_error')).error?.name).toBe('IndexError');
    expect((await run('error_aware', 1)).value).toEqual({ answer: 42 });
    expect(mockProgram('error_aware', requestFor(), 2)).toContain('# avoids 2 earlier errors');
  });

  test.for<[MockBehavior, object]>([
    ['success', { decision: 'run', hasEpicsWrites: false, securityRiskLevel: 'low' }],
    ['channel_write', { decision: 'ask', hasEpicsWrites: true }],
    ['channel_read', { decision: 'run', hasEpicsReads: true, hasEpicsWrites: false }],
    ['security_risk', { decision: 'ask', securityRiskLevel: 'high' }],
    ['syntax_error', { decision: 'refuse' }],
    ['missing_results', { decision: 'run', issues: [expect.stringContaining('results')] }],
  ])('the analysis of %s finds %j', async ([behavior, found]) => {
    const text =
      'approval: { capabilities: { python_execution: { mode: control_writes } } }\nexecution_control: { epics: { writes_enabled: true } }';
    const configuration = await loadConfiguration({ text, environment: {} });
    const analyzer = new CodeAnalyzer(new Examiner(host));
    expect(await analyzer.analyze(mockProgram(behavior, requestFor(), 0), configuration)).toMatchObject(found);
  });
});

const TYPES = {
  a: 'dict',
  b: 'list[float]',
  c: 'str',
  d: 'int',
  e: 'float',
  f: 'number',
  g: 'bool',
  h: 'None',
  i: 'tuple[int, str]',
  one: 'tuple[int]',
  j: 'set[int]',
  k: 'dict[str, float]',
  l: 'datetime',
  m: 'date',
  n: 'timedelta',
  o: 'bytes',
  p: 'complex',
  q: 'frozenset',
  r: 'Path',
  s: 'pandas.DataFrame',
  t: 'pandas.Series',
  u: 'numpy.ndarray',
  v: 'Optional[int]',
  w: 'any',
  x: 'list[dict[str, int]]',
  'y "quoted"': 'str | int',
  z: 'something nice',
};

test('a program gives what a request expects, of each type that can be expected', async () => {
  await using session = await host.createSession();
  const code = mockProgram('success', requestFor(TYPES), 0);
  const { outcome, value, error } = await session.runCode(code, { resultVariable: 'results' });
  expect([outcome.status, error]).toEqual(['succeeded', undefined]);
  const probe = typesProbe(await readPayload('result_types'), Object.keys(TYPES));
  const types = parseTypes((await session.runCode(probe, { resultVariable: TYPES_VARIABLE })).value);
  expect(types).toBeDefined();
  expect(validateResults(value, TYPES, { types }).problems).toEqual([]);
});

describe('The mock generator', () => {
  test('takes its behavior from its settings, and refuses others', async () => {
    for (const behavior of MOCK_BEHAVIORS) {
      const code = await new MockGenerator({ behavior }).generateCode(requestFor(), []);
      expect(code).toBe(mockProgram(behavior, requestFor(), 0));
    }
    expect(() => new MockGenerator({ behavior: 'sleep' } as never)).toThrow(/behavior/u);
    expect(() => new MockGenerator({ code_sequence: [] })).toThrow(/code_sequence/u);
  });

  test('prefers a sequence to one code, and goes back to its behavior when it has none', async () => {
    const mock = new MockGenerator({ behavior: 'missing_results', code: 'a', code_sequence: ['b', 'c'] });
    const next = (): Promise<string> => mock.generateCode(requestFor(), []);
    expect([await next(), await next(), await next()]).toEqual(['b', 'c', 'c']);
    mock.setCodeSequence([]);
    expect(await next()).toBe(mockProgram('missing_results', requestFor(), 0));
  });

  test('reports its code as a token, and does nothing once it is given up', async () => {
    const tokens: string[] = [];
    const mock = new MockGenerator({ code: 'x' });
    await mock.generateCode(requestFor(), [], { onToken: (token) => tokens.push(token) });
    expect(tokens).toEqual(['x']);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(mock.generateCode(requestFor(), [], { signal })).rejects.toThrow('enough');
    expect(mock.calls).toHaveLength(1);
  });

  test('keeps the chain of errors as it was at each call', async () => {
    const mock = new MockGenerator();
    const chain: never[] = [];
    await mock.generateCode(requestFor(), chain);
    chain.push({} as never);
    expect(mock.calls[0]?.errorChain).toEqual([]);
  });
});
