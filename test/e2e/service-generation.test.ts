/** Generated code, run for real, and its results checked against what was expected. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { ChatOpenAI } from '@langchain/openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHost, type Execution, type Host } from '../../src/index.ts';
import { CodeGenerationError, ModelUnavailableError } from '../../src/service/api/failures.ts';
import type { ExecutionFailure } from '../../src/service/generation/generator.ts';
import { LlmGenerator } from '../../src/service/generation/llm.ts';
import { MockGenerator } from '../../src/service/generation/mock.ts';
import { readPayload } from '../../src/engine/python-files.ts';
import { parseRequest } from '../../src/service/api/request.ts';
import { parseTypes, TYPES_VARIABLE, typesProbe } from '../../src/service/results/actual-type.ts';
import { validateResults, type ResultsVerdict } from '../../src/service/results/validate.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost();
});
afterAll(() => host.close());

/** Same as in the service: the code, then the probe for its types, in one session. */
async function runAndValidate(
  code: string,
  expected: Readonly<Record<string, string>>,
): Promise<{ readonly execution: Execution; readonly verdict: ResultsVerdict; readonly isProbed: boolean }> {
  await using session = await host.createSession();
  const execution = await session.runCode(code, { resultVariable: 'results' });
  const probe = typesProbe(await readPayload('result_types'), Object.keys(expected));
  const { value } = await session.runCode(probe, { resultVariable: TYPES_VARIABLE, echo: 'none' });
  const types = parseTypes(value);
  return { execution, verdict: validateResults(execution.value, expected, { types }), isProbed: types !== undefined };
}

const ALL_TYPES = {
  a: 'dict',
  b: 'list',
  c: 'str',
  d: 'int',
  e: 'float',
  f: 'number',
  g: 'bool',
  h: 'None',
  i: 'tuple',
  j: 'set',
  k: 'pandas.DataFrame',
  l: 'pandas.Series',
  m: 'numpy.ndarray',
  n: 'datetime',
  o: 'any',
  p: 'list[float]',
  q: 'dict[str, float]',
  r: 'Optional[str]',
  s: 'int | None',
  t: 'List[Dict[str, Any]]',
  u: 'tuple[int, str]',
  v: 'pathlib.Path',
};

describe('the mock', () => {
  const requestFor = (expected: Readonly<Record<string, string>> = {}): ReturnType<typeof parseRequest> =>
    parseRequest({ user_query: 'q', task_objective: 't', execution_folder_name: 'f', expected_results: expected });

  test('O-13 gives on success whatever is expected, of the right type', async () => {
    const code = await new MockGenerator().generateCode(requestFor(ALL_TYPES), []);
    const { execution, verdict, isProbed } = await runAndValidate(code, ALL_TYPES);
    expect(execution.error).toBeUndefined();
    expect(isProbed).toBe(true);
    expect(verdict.problems).toEqual([]);
    expect(verdict.notes).toEqual([]);
  });

  test('O-58 behaves as it is told', async () => {
    const outcome = async (behavior: ConstructorParameters<typeof MockGenerator>[0]): Promise<string> => {
      const code = await new MockGenerator(behavior).generateCode(requestFor({ x: 'int' }), []);
      const { execution, verdict } = await runAndValidate(code, { x: 'int' });
      return execution.error?.name ?? (verdict.results === null ? 'no results' : verdict.problems.join(' ') || 'fine');
    };
    expect(await outcome({ behavior: 'syntax_error' })).toBe('SyntaxError');
    expect(await outcome({ behavior: 'runtime_error' })).toBe('IndexError');
    expect(await outcome({ behavior: 'missing_results' })).toBe('no results');
    for (const behavior of ['success', 'channel_write', 'channel_read', 'security_risk'] as const) {
      expect(await outcome({ behavior }), behavior).toBe('fine');
    }
  });

  test('O-58 mends its code when it hears of an error', async () => {
    const mock = new MockGenerator({ behavior: 'error_aware' });
    const request = requestFor({ x: 'list[int]' });
    const code = await mock.generateCode(request, []);
    const { execution } = await runAndValidate(code, {});
    const failure: ExecutionFailure = {
      errorType: execution.error?.name ?? '',
      errorMessage: execution.error?.value ?? '',
      failedCode: code,
      traceback: execution.error?.traceback ?? null,
      attemptNumber: 1,
      stage: 'execution',
      analysisIssues: [],
    };
    expect(failure.errorType).toBe('IndexError');
    const { verdict } = await runAndValidate(await mock.generateCode(request, [failure]), request.expectedResults);
    expect(verdict.problems).toEqual([]);
  });
});

describe('results', () => {
  test('U-33 Python types that JSON does not keep are told apart', async () => {
    const code = `import collections, dataclasses, numpy as np, pandas as pd, datetime
@dataclasses.dataclass
class Point:
    x: int
results = dict(
    table={"x": [1]}, frame=pd.DataFrame({"x": [1]}), array=(1, 2), numbers=[1, "2"], whole=np.int64(3), truth=True,
    point=Point(1), ordered=collections.OrderedDict(a=1.5), mapping={"a": "b"}, when=pd.Timestamp("2024-01-01"),
    series=pd.Series([1]), text=5, nested=[{"a": [1.0]}, {"b": ["x"]}],
)`;
    const { verdict } = await runAndValidate(code, {
      table: 'pandas.DataFrame',
      frame: 'dict',
      array: 'list',
      numbers: 'list[float]',
      whole: 'int',
      truth: 'int',
      point: 'dict',
      ordered: 'dict[str, float]',
      mapping: 'dict[str, float]',
      when: 'datetime',
      series: 'numpy.ndarray',
      text: 'Optional[str]',
      nested: 'list[dict[str, list[float]]]',
      absent: 'list',
    });
    expect(verdict.problems).toEqual([
      'results["table"] is a dict of list, expected pandas.DataFrame.',
      'results["frame"] is a pandas DataFrame, expected dict.',
      'results["array"] is a tuple of int, expected list.',
      'results["numbers"] is a list of int and str, expected list[float].',
      'results["truth"] is a bool, expected int.',
      'results["point"] is a Point, expected dict.',
      'results["mapping"] is a dict of str, expected dict[str, float].',
      'results["series"] is a pandas Series, expected numpy.ndarray.',
      'results["text"] is an int, expected Optional[str].',
      'results["nested"] is a list of dict, expected list[dict[str, list[float]]].',
      'results["absent"] is missing; it must be list.',
    ]);
  });

  test('a program that takes the names of built-in functions is told apart all the same', async () => {
    const code = 'list = dict = type = isinstance = len = str = json = exec = globals = None\nresults = {"x": [1]}';
    const { verdict, isProbed } = await runAndValidate(code, { x: 'list' });
    expect(isProbed).toBe(true);
    expect(verdict.problems).toEqual([]);
  });

  test('a program that takes the functions away that the question needs is judged by its JSON', async () => {
    const code = 'import builtins\nbuiltins.globals = None\nresults = {"x": 1}';
    const { verdict, isProbed } = await runAndValidate(code, { x: 'list' });
    expect(isProbed).toBe(false);
    expect(verdict.problems).toEqual(['results["x"] is a number, expected list.']);
  });

  test.for([
    ['results = None', 'is None'],
    ['results = [1]', 'it is a list'],
    ['import pandas\nresults = pandas.DataFrame({"x": [1]})', 'it is a DataFrame'],
    ['x = 1', 'without a variable'],
    ['results = {1: 2}', 'keys that are not text'],
  ] as const)('O-99 %j is a problem', async ([code, problem]) => {
    const { verdict } = await runAndValidate(code, {});
    expect(verdict.problems.join()).toContain(problem);
  });

  test('O-97 OB-16 numbers that JSON has not, sets and moments come as documented', async () => {
    const code = `import datetime
results = {"nan": float("nan"), "set": {1}, "complex": 1 + 2j, "when": datetime.datetime(2024, 7, 1, 12), "day": datetime.date(2024, 7, 1), "keys": {(1, 2): "x"}}`;
    const { verdict } = await runAndValidate(code, { set: 'set', when: 'datetime', day: 'date' });
    expect(verdict.problems).toEqual([]);
    expect(verdict.results).toEqual({
      nan: { _type: 'float', value: 'NaN' },
      set: { _type: 'set', items: [1] },
      complex: { _type: 'complex', real: 1, imag: 2 },
      when: '2024-07-01T12:00:00',
      day: '2024-07-01',
      keys: { _type: 'dict', items: [[[1, 2], 'x']] },
    });
  });
});

describe('a model behind HTTP', () => {
  type Answer = (response: ServerResponse) => void;
  const bodies: { readonly messages: readonly { readonly role: string; readonly content: string }[] }[] = [];
  let server: Server;
  let answer: Answer;

  beforeAll(async () => {
    server = createServer((request, response) => {
      void json(request).then((body) => {
        bodies.push(body as (typeof bodies)[number]);
        answer(response);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  const streamed =
    (pieces: readonly string[], finish = 'stop'): Answer =>
    (response) => {
      response.setHeader('content-type', 'text/event-stream');
      const send = (delta: object, reason: string | null): void => {
        const chunk = {
          id: 'c',
          object: 'chat.completion.chunk',
          created: 0,
          model: 'm',
          choices: [{ index: 0, delta, finish_reason: reason }],
        };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      };
      for (const content of pieces) send({ role: 'assistant', content }, null);
      send({}, finish);
      response.end('data: [DONE]\n\n');
    };

  const generator = (): LlmGenerator => {
    const { port } = server.address() as AddressInfo;
    return new LlmGenerator(
      new ChatOpenAI({
        model: 'm',
        apiKey: 'k',
        maxRetries: 0,
        configuration: { baseURL: `http://127.0.0.1:${port}/v1` },
      }),
    );
  };

  const request = parseRequest({
    user_query: 'What is six times seven?',
    task_objective: 'Multiply',
    execution_folder_name: 'f',
    expected_results: { product: 'int' },
  });

  test('O-60 gets rules and task, and its streamed answer runs', async () => {
    answer = streamed(['```python\n', 'results = ', '{"product": 6 * 7}', '\n```']);
    const tokens: string[] = [];
    const code = await generator().generateCode(request, [], { onToken: (token) => tokens.push(token) });
    expect(tokens).toHaveLength(4);
    const { messages = [] } = bodies.at(-1) ?? {};
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(messages[1]?.content).toContain('What is six times seven?');
    const { verdict } = await runAndValidate(code, request.expectedResults);
    expect(verdict).toMatchObject({ results: { product: 42 }, problems: [] });
  });

  test('an answer that was cut off is not run', async () => {
    answer = streamed(['results = {"product": 6'], 'length');
    await expect(generator().generateCode(request, [])).rejects.toThrow(CodeGenerationError);
  });

  test('a server that refuses is not taken for bad code', async () => {
    answer = (response) =>
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"no such key"}}');
    await expect(generator().generateCode(request, [])).rejects.toThrow(ModelUnavailableError);
  });
});
