/** What is retried, how often, and what is not. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { defaultStoragePath } from '../../../src/storage/storage.ts';
import { OpenAIServer } from '../../support/openai-server.ts';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES, type Sections } from './laboratory.ts';

const laboratory = new Laboratory();

const limits = (python_executor: Sections): Sections => ({ framework: { python_executor } });
const SYNTAX = 'def broken(:';
const RAISES = 'print("so far")\nvalues = [1]\nvalues[3]';
const FINE = 'results = {"answer": 42}';

/** The attempts of a record, without their times. */
function attemptsIn(folderPath: string): string[] {
  return readdirSync(path.join(folderPath, 'attempts')).map((name) => name.slice(0, -13));
}

test('O-01 a request goes through all stages, and says so while it does', async () => {
  await using lab = await laboratory.start({ code: `print("hello")\n${FINE}` });
  const events: string[] = [];
  for await (const event of lab.service.stream(REQUEST, thread('t'))) {
    if (event.type === 'status') events.push(event.text);
    else events.push(event.type);
  }
  expect(events).toEqual([
    'Generating Python code...',
    'Analyzing Python code...',
    'Executing Python code...',
    'output',
    'settled',
  ]);
});

test('O-01 each stage decides what the next one gets: analysis stops code, a reviewer releases it', async () => {
  const code = [SYNTAX, `${EPICS}_w('magnet', 1)\n${FINE}`];
  await using lab = await laboratory.start({ config: WRITES, code });
  const stages = async (input: typeof REQUEST | Command): Promise<string[]> => {
    const seen: string[] = [];
    for await (const event of lab.service.stream(input, thread('t'))) {
      if (event.type === 'status') seen.push(event.stage);
      if (event.type === 'settled') seen.push(event.status);
    }
    return seen;
  };
  const first = await stages(REQUEST);
  expect(first.join(' ')).toMatch(/^generation analysis generation analysis (approval )+awaiting-approval$/);
  expect(await stages(new Command({ resume: { approved: true } }))).toEqual(['execution', 'completed']);
  const settled = (await lab.service.status(thread('t')))?.settled?.();
  if (settled?.status !== 'completed') throw new Error('the request has not ended');
  const { results, folderPath, notebookPath } = settled.result.executionResult;
  expect(attemptsIn(folderPath)).toEqual(['01_syntax_error', '02_awaiting_approval', '02_succeeded']);
  expect(readFileSync(notebookPath, 'utf8')).toContain("_w('magnet', 1)");
  expect(results).toEqual({ answer: 42 });
});

test('O-59 a request takes no more steps of its graph than the configuration allows', async () => {
  const config = { execution_control: { limits: { graph_recursion_limit: 3 } } };
  await using lab = await laboratory.start({ code: [SYNTAX, FINE], config });
  await expect(lab.service.invoke(REQUEST, thread('t'))).rejects.toThrow('Recursion limit of 3 reached');
  expect(lab.generations).toHaveLength(2);
  await using enough = await laboratory.start({ code: [SYNTAX, FINE] });
  expect((await enough.service.invoke(REQUEST, thread('t'))).executionResult.results).toEqual({ answer: 42 });
});

test('O-55 a waiting request is in the database of the data directory, where another service finds it', async () => {
  const baseDir = laboratory.fresh();
  const setting = { config: WRITES, code: `${EPICS}_w('magnet', 1)\n${FINE}`, options: { baseDir } };
  const { id } = await (async () => {
    await using first = await laboratory.start(setting);
    return question(await first.service.run(REQUEST, thread('t')));
  })();
  expect(existsSync(defaultStoragePath(path.join(baseDir, 'data')))).toBe(true);
  await using second = await laboratory.start(setting);
  expect((await second.service.status(thread('t')))?.approval?.id).toBe(id);
  const decided = await second.service.decide(id, 'yes', { by: 'Ann' });
  expect(decided).toMatchObject({ status: 'completed', result: { executionResult: { results: { answer: 42 } } } });
  expect(second.generations).toHaveLength(0);
});

test('O-06 U-56 bad code is written again with what went wrong, and the tries are counted by cause', async () => {
  await using lab = await laboratory.start({ code: [SYNTAX, RAISES, 'results = {"answer": None}', FINE] });
  const { retries, generationAttempt, executionResult } = await lab.service.invoke(REQUEST, thread('t'));
  expect([retries, generationAttempt]).toEqual([{ generation: 1, execution: 2 }, 4]);
  const [syntax, runtime, results] = lab.generations.at(-1) ?? [];
  expect(syntax).toMatchObject({ stage: 'analysis', errorType: 'CodeSyntaxError', failedCode: SYNTAX });
  expect(runtime).toMatchObject({ stage: 'execution', errorMessage: 'IndexError: list index out of range' });
  expect(runtime?.traceback).toContain('values[3]');
  expect(results).toMatchObject({ stage: 'results', errorType: 'ResultsInvalidError' });
  expect(results?.errorMessage).toContain('results["answer"] is None, expected int');
  const stages = attemptsIn(executionResult.folderPath);
  expect(stages).toEqual(['01_syntax_error', '02_execution_failed', '03_results_invalid', '04_succeeded']);
});

test('O-06 U-56 code that could not be run is not written again: the same code is tried, and then given up', async () => {
  const container = { jupyter_host: '127.0.0.1', jupyter_port: 9 };
  const config = { framework: { execution: { execution_method: 'container', container } } };
  await using lab = await laboratory.start({ config });
  await expect(lab.service.invoke({ ...REQUEST, retries: 1 }, thread('t'))).rejects.toMatchObject({
    name: 'MaxAttemptsExceededError',
    technicalDetails: { retries: { generation: 0, execution: 1 } },
    cause: { name: 'ContainerConnectivityError', category: 'infrastructure' },
  });
  expect(lab.generations).toHaveLength(1);
});

test('O-13 results of other types than expected are a failed attempt, and the next generation is told', async () => {
  const given = (statistics: string, trends: string, table: string): string =>
    `import pandas as pd\nresults = {'statistics': ${statistics}, 'trends': ${trends}, 'table': ${table}}`;
  const code = [given('[1]', '{}', '[[1]]'), given('{}', '[1]', 'pd.DataFrame({"v": [1]})')];
  await using lab = await laboratory.start({ code });
  const expected_results = { statistics: 'dict', trends: 'list', table: 'pandas.DataFrame' };
  const { executionResult } = await lab.service.invoke({ ...REQUEST, expected_results }, thread('t'));
  expect(attemptsIn(executionResult.folderPath)).toEqual(['01_results_invalid', '02_succeeded']);
  const { errorMessage } = lab.generations[1]?.[0] ?? {};
  for (const [name, type] of Object.entries(expected_results))
    expect(errorMessage).toMatch(new RegExp(`results\\["${name}"\\] is [^.]*, expected ${type}`));
});

test.for([
  ['O-22', { max_generation_retries: 1 }, SYNTAX, 20, 2, 'generation'],
  ['O-23', { max_execution_retries: 1 }, RAISES, 20, 2, 'execution'],
  ['O-16', {}, RAISES, 2, 3, 'execution'],
] as const)(
  'O-16 O-22 O-23 limits: %s %j stops %j with retries %i after %i',
  async ([, limit, code, retries, count, cause]) => {
    await using lab = await laboratory.start({ config: limits(limit), code });
    await expect(lab.service.invoke({ ...REQUEST, retries }, thread('t'))).rejects.toMatchObject({
      name: 'MaxAttemptsExceededError',
      operationType: cause,
      maxAttempts: count,
      technicalDetails: { retries: { generation: 0, execution: 0, [cause]: count - 1 } },
    });
    expect(lab.generations).toHaveLength(count);
  },
);

test('O-16 a request without retries fails with what failed, and its record has the traceback', async () => {
  await using lab = await laboratory.start({ code: RAISES });
  const failed = lab.service.invoke({ ...REQUEST, retries: 0 }, thread('t'));
  await expect(failed).rejects.toMatchObject({ name: 'CodeRuntimeError', category: 'code_related' });
  const folderPath = await failed.catch((error: { readonly folderPath: string }) => error.folderPath);
  const metadata: unknown = JSON.parse(
    readFileSync(path.join(folderPath as string, 'execution_metadata.json'), 'utf8'),
  );
  expect(metadata).toMatchObject({ success: false, stdout: 'so far\n', infrastructure_error: false });
  expect(readdirSync(folderPath as string)).toContain('notebook.ipynb');
});

test('O-24 OB-06 code that takes too long is stopped, and no other is written', async () => {
  await using lab = await laboratory.start({
    config: limits({ execution_timeout_seconds: 0.5 }),
    code: 'while True: pass',
  });
  await expect(lab.service.invoke(REQUEST, thread('t'))).rejects.toMatchObject({
    name: 'ExecutionTimeoutError',
    category: 'workflow',
    timeoutSeconds: 0.5,
  });
  expect(lab.generations).toHaveLength(1);
});

test('O-53 O-71 code that the policy refuses is written again, with what would be allowed', async () => {
  const refused = 'from epics import caput\ncaput("magnet", 1)\nresults = {}';
  await using lab = await laboratory.start({ code: [refused, 'results = {"answer": 1}'] });
  const { retries } = await lab.service.invoke(REQUEST, thread('t'));
  expect(retries).toEqual({ generation: 1, execution: 0 });
  const { errorMessage, analysisIssues } = lab.generations[1]?.[0] ?? {};
  expect(errorMessage).toContain('EPICS writes blocked by configuration');
  expect(analysisIssues?.join('\n')).toMatch(/execution_control\.epics\.writes_enabled/);
});

test('O-53 code that the policy refuses again and again ends the request, and says why', async () => {
  await using lab = await laboratory.start({ code: 'from epics import caput\ncaput("magnet", 1)\nresults = {}' });
  await expect(lab.service.invoke({ ...REQUEST, retries: 1 }, thread('t'))).rejects.toMatchObject({
    name: 'MaxAttemptsExceededError',
    message: expect.stringContaining('EPICS writes blocked by configuration') as string,
    cause: { name: 'PolicyRefusedError' },
  });
  expect(lab.generations).toHaveLength(2);
});

const MODEL = { framework: { execution: { code_generator: 'basic' } } };

test('a model that is away for a moment is asked again, and heard of no error', async () => {
  await using server = await OpenAIServer.start([{ status: 400, message: 'warming up' }, { text: FINE }]);
  await using lab = await laboratory.start({ config: MODEL, options: { environment: server.environment } });
  const { retries } = await lab.service.invoke(REQUEST, thread('t'));
  expect([retries, server.requests.length]).toEqual([{ generation: 1, execution: 0 }, 2]);
});

test('U-54 the model hears of the error and mends its code', async () => {
  await using server = await OpenAIServer.start([{ text: RAISES }, { text: FINE }]);
  await using lab = await laboratory.start({ config: MODEL, options: { environment: server.environment } });
  const tokens: string[] = [];
  for await (const event of lab.service.stream(REQUEST, thread('t')))
    if (event.type === 'token') tokens.push(event.text);
  expect(tokens.join('')).toBe(RAISES + FINE);
  const [first, second] = server.requests.map(({ messages }) => messages.map(({ content }) => content).join('\n'));
  expect(first).toContain('What is the answer?');
  expect(second).toContain('IndexError: list index out of range');
});

test('O-61 the configured model is the one that is asked, as it is configured', async () => {
  await using server = await OpenAIServer.start([{ text: FINE }]);
  const model = { model_id: 'coder', base_url: server.url, api_key: 'k', temperature: 0.5, max_tokens: 77 };
  const config = { ...MODEL, models: { python_code_generator: model } };
  await using lab = await laboratory.start({ config, options: { environment: {} } });
  await lab.service.invoke(REQUEST, thread('t'));
  expect(server.authorization).toBe('Bearer k');
  expect(server.requests).toMatchObject([{ model: 'coder', temperature: 0.5, max_tokens: 77 }]);
});
