/** The execution service from request to result: generate, analyze, approve, run, record. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { startPythonExecutor } from '../../../src/service.ts';
import { EPICS, Laboratory, question, readJson, REQUEST, thread, WRITES } from './laboratory.ts';

const laboratory = new Laboratory();
const CONFIG = thread('t');

test('a request becomes a result with its record', async () => {
  await using lab = await laboratory.start({
    code: 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint("hello")\nresults = {"answer": 42}',
  });
  const { executionResult, generatedCode, generationAttempt } = await lab.service.invoke(REQUEST, CONFIG);
  expect(executionResult).toMatchObject({ results: { answer: 42 }, stdout: 'hello\n' });
  expect([generatedCode.includes('plt.plot'), generationAttempt]).toEqual([true, 1]);
  expect(readdirSync(executionResult.folderPath).toSorted()).toEqual([
    'attempts',
    'context.json',
    'execution_metadata.json',
    'figures',
    'notebook.ipynb',
    'results.json',
  ]);
  expect(existsSync(executionResult.figurePaths[0] ?? '')).toBe(true);
  expect(readJson(path.join(executionResult.folderPath, 'results.json'))).toEqual({
    answer: 42,
  });
});

test('code that fails is written again with what went wrong', async () => {
  await using lab = await laboratory.start({
    code: ['print(1/0)', 'results = {"answer": "six"}', 'results = {"answer": 6}'],
  });
  const { executionResult, generationAttempt } = await lab.service.invoke(REQUEST, CONFIG);
  expect([executionResult.results, generationAttempt]).toEqual([{ answer: 6 }, 3]);
  const attempts = readdirSync(path.join(executionResult.folderPath, 'attempts')).map((name) =>
    name.replace(/_\d{6}\.ipynb$/, ''),
  );
  expect(attempts).toEqual(['01_execution_failed', '02_results_invalid', '03_succeeded']);
});

const WRITE_CODE = `${EPICS}_w('magnet', 1)
results = {'answer': 1}`;

test('code that writes is asked about, and approved runs once', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: WRITE_CODE });
  const { service } = lab;
  const waiting = await service.run(REQUEST, CONFIG);
  expect(waiting).toMatchObject({ status: 'awaiting-approval', approval: { status: 'pending', code: WRITE_CODE } });
  const answers = await Promise.allSettled(
    Array.from({ length: 10 }, () => service.run(new Command({ resume: { approved: true } }), CONFIG)),
  );
  const won = answers.filter(({ status }) => status === 'fulfilled');
  expect(won).toHaveLength(1);
  expect(won[0]).toMatchObject({
    value: { status: 'completed', result: { executionResult: { results: { answer: 1 } } } },
  });
});

test('what the reviewer sees: the code, its hash, the analysis and what it did in the preview', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: WRITE_CODE });
  const { service } = lab;
  const { user_message: message, resume_payload: payload } = question(await service.run(REQUEST, CONFIG))
    .payload as Record<string, never>;
  expect(message).toContain("_w('magnet', 1)");
  expect(message).toContain('wrote magnet 1');
  expect(message).toContain('approving commits exactly this run');
  expect(payload).toMatchObject({
    approval_type: 'python_executor',
    code: WRITE_CODE,
    execution_mode: 'write_access',
    effects: { status: 'succeeded', isComplete: true },
    analysis_details: { has_epics_writes: true },
  });
});

test('what was rejected is not run, and that is no fault', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: WRITE_CODE });
  const { service } = lab;
  await service.run(REQUEST, CONFIG);
  await expect(
    service.invoke(new Command({ resume: { approved: false, reason: 'not today' } }), CONFIG),
  ).rejects.toMatchObject({
    name: 'ExecutionRejectedError',
    reason: 'not today',
  });
});

test('O-08 O-95 U-23 stage 2 reads what stage 1 left, whatever it is', async () => {
  const first = `import numpy as np, pandas as pd
results = {'nan': float('nan'), 'big': 1 << 80, 'set': {1, 2}, 'by_number': {1: 'a'},
    'table': pd.DataFrame({'v': [1, 2]}, index=['p', 'q']), 'series': pd.Series([1.5], index=[('a', 1)], name='n'), 'columns': pd.DataFrame({'x': [1]})}`;
  const second = `import pandas as pd
left = context.pre
table = left.table
results = {'nan': left.nan != left.nan, 'big': left.big == 1 << 80, 'set': left.set == {1, 2}, 'by_number': left.by_number[1],
    'table': [type(table).__name__, int(table.loc['q', 'v'])], 'series': type(left.series).__name__,
    'names': sorted(left.keys())[:2], 'none': left.get('x'), 'columns': pd.DataFrame(left.columns.to_dict()).shape}`;
  await using lab = await laboratory.start({ code: [first, second] });
  const request = { ...REQUEST, expected_results: {} };
  const { execution_result: stage1 } = await lab.service.invoke(request, thread('1'));
  const pipeline = { ...request, capability_context_data: { pre: stage1.results } };
  const { execution_result: stage2 } = await lab.service.invoke(pipeline, thread('2'));
  expect(stage2.results).toEqual({
    nan: true,
    big: true,
    set: true,
    by_number: 'a',
    table: ['DataFrame', 2],
    series: 'Series',
    names: ['big', 'by_number'],
    none: null,
    columns: [1, 1],
  });
});

test('O-15 code reads the data that comes with its request', async () => {
  await using lab = await laboratory.start({ code: 'results = {"answer": sum(context.SENSOR.roof.values)}' });
  const request = { ...REQUEST, capability_context_data: { SENSOR: { roof: { values: [20, 22] } } }, retries: 0 };
  const { executionResult } = await lab.service.invoke(request, thread('with'));
  expect(executionResult.results).toEqual({ answer: 42 });
  expect(readJson(path.join(executionResult.folderPath, 'context.json'))).toEqual(request.capability_context_data);
});

test('O-15 without such data the object is there and empty, as the model was told', async () => {
  await using lab = await laboratory.start({ code: 'results = {"answer": len(list(context.keys()))}' });
  const { executionResult } = await lab.service.invoke({ ...REQUEST, retries: 0 }, thread('without'));
  expect(executionResult.results).toEqual({ answer: 0 });
});

test('O-29 OB-01 code runs on the Python that the configuration names', async () => {
  const environment = path.join(laboratory.fresh(), 'venv');
  chmodSync(path.dirname(path.dirname(environment)), 0o755);
  chmodSync(path.dirname(environment), 0o755);
  execFileSync('python3', ['-m', 'venv', '--without-pip', environment]);
  const place = laboratory.fresh();
  for (const python_env_path of [environment, path.join(environment, 'bin', 'python')]) {
    const text = JSON.stringify({
      approval: { global_mode: 'disabled' },
      framework: { execution: { local: { python_env_path } } },
    });
    await using service = await startPythonExecutor({
      config: { text, environment: {} },
      dataDir: path.join(place, 'data'),
      baseDir: place,
    });
    const request = { ...REQUEST, expected_results: {}, approved_code: 'import sys\nresults = {"prefix": sys.prefix}' };
    const { executionResult } = await service.invoke(request, thread('t'));
    expect(executionResult.results).toEqual({ prefix: environment });
  }
});

test('O-20 O-21 a result cannot be changed, and gives its dictionary', async () => {
  await using lab = await laboratory.start();
  const result = await lab.service.invoke(REQUEST, CONFIG);
  expect([Object.isFrozen(result), Object.isFrozen(result.execution_result)]).toEqual([true, true]);
  const { folder_path: folder, notebook_path: notebook } = result.execution_result;
  expect(result.execution_result.to_dict()).toMatchObject({
    results: { answer: 42 },
    execution_folder: folder,
    notebook_path: notebook,
    figure_count: 0,
  });
  expect(Object.keys(result.executionResult)).not.toContain('to_dict');
});
