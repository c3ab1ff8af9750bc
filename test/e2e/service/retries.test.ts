/** What is retried, how often, and what is not. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { OpenAIServer } from '../../support/openai-server.ts';
import { Laboratory, REQUEST, thread, type Sections } from './laboratory.ts';

const laboratory = new Laboratory();

const limits = (python_executor: Sections): Sections => ({ framework: { python_executor } });
const SYNTAX = 'def broken(:';
const RAISES = 'print("so far")\nvalues = [1]\nvalues[3]';
const FINE = 'results = {"answer": 42}';

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

test('O-06 U-56 bad code is written anew with what went wrong, and the tries are counted by cause', async () => {
  await using lab = await laboratory.start({ code: [SYNTAX, RAISES, 'results = {"answer": None}', FINE] });
  const { retries, generationAttempt, executionResult } = await lab.service.invoke(REQUEST, thread('t'));
  expect([retries, generationAttempt]).toEqual([{ generation: 1, execution: 2 }, 4]);
  const [syntax, runtime, results] = lab.generations.at(-1) ?? [];
  expect(syntax).toMatchObject({ stage: 'analysis', errorType: 'CodeSyntaxError', failedCode: SYNTAX });
  expect(runtime).toMatchObject({ stage: 'execution', errorMessage: 'IndexError: list index out of range' });
  expect(runtime?.traceback).toContain('values[3]');
  expect(results).toMatchObject({ stage: 'results', errorType: 'ResultsInvalidError' });
  expect(results?.errorMessage).toContain('results["answer"] is None, expected int');
  const stages = readdirSync(path.join(executionResult.folderPath, 'attempts')).map((name) => name.slice(0, -13));
  expect(stages).toEqual(['01_syntax_error', '02_execution_failed', '03_results_invalid', '04_succeeded']);
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

test('O-53 O-71 code that the policy refuses is written anew, with what would be allowed', async () => {
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
