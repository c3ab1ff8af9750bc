/** The artifacts of a run: its files, its figures, and its full results. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { createHost } from '../../../src/index.ts';
import { EPICS, Laboratory, question, readJson, REQUEST, thread, WRITES } from './laboratory.ts';

const laboratory = new Laboratory();

const ANY = { ...REQUEST, expected_results: {} };
const ALL_CODE = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
const APPROVE = new Command({ resume: { approved: true } });

const WRITES_FILES = `import os
import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image
os.makedirs('tables/2024')
pd.DataFrame({'x': [1, 2]}).to_csv('tables/2024/out.csv', index=False)
plt.plot([1, 2]); plt.savefig('trend.png'); plt.close()
Image.new('RGB', (4, 4)).save('tables/photo.png')
results = {'visualizations': ['trend.png']}`;

test('O-105 O-98 U-08 code of the mode read_only writes beside itself, and its files are in the record', async () => {
  await using lab = await laboratory.start({ code: WRITES_FILES });
  const { execution_result: found } = await lab.service.invoke(ANY, thread('t'));
  const { folder_path: folder, file_paths: files, figure_paths: figures } = found;
  const inFolder = files.map((file) => path.relative(folder, file));
  expect(inFolder.toSorted()).toEqual(['files/tables/2024/out.csv', 'files/tables/photo.png', 'files/trend.png']);
  expect(readFileSync(path.join(folder, 'files/tables/2024/out.csv'), 'utf8')).toBe('x\n1\n2\n');
  expect(figures.map((file) => path.basename(file))).toEqual(['figure_01.png', 'figure_02.png']);
  expect(readJson(path.join(folder, 'execution_metadata.json'))).toMatchObject({
    files_saved: inFolder,
    file_count: 3,
    file_errors: [],
    figure_errors: [],
  });
  expect(statSync(files[0] ?? '').mode & 0o077).toBe(0);
});

test('files of another attempt are not taken for those of the run', async () => {
  const code = ['open("old.txt", "w").write("1")\n1/0', 'open("new.txt", "w").write("2")\nresults = {}'];
  await using lab = await laboratory.start({ code });
  const { executionResult } = await lab.service.invoke(ANY, thread('t'));
  expect(executionResult.filePaths.map((file) => path.basename(file))).toEqual(['new.txt']);
  expect(existsSync(path.join(executionResult.folderPath, 'files/old.txt'))).toBe(false);
  const again = { ...ANY, existing_execution_folder: executionResult.folderPath };
  await using next = await laboratory.start({ code: 'results = {}', options: { baseDir: lab.baseDir } });
  expect((await next.service.invoke(again, thread('u'))).executionResult.filePaths).toEqual([]);
  expect(existsSync(path.join(executionResult.folderPath, 'files/new.txt'))).toBe(false);
});

test('files of a failed run are in its record', async () => {
  await using lab = await laboratory.start({ code: 'open("half.txt", "w").write("1")\n1/0' });
  const failed: unknown = await lab.service
    .invoke({ ...ANY, retries: 0 }, thread('t'))
    .catch((error: unknown) => error);
  const { folderPath } = failed as { readonly folderPath: string };
  expect(readFileSync(path.join(folderPath, 'files/half.txt'), 'utf8')).toBe('1');
});

test('files of a preview are those of the run that it becomes', async () => {
  await using lab = await laboratory.start({ config: { ...WRITES, ...ALL_CODE }, code: `${EPICS}${WRITES_FILES}` });
  const { payload } = question(await lab.service.run(ANY, thread('t')));
  expect(payload).toMatchObject({ resume_payload: { effects: { isComplete: true } } });
  const { executionResult } = await lab.service.invoke(APPROVE, thread('t'));
  expect(executionResult.filePaths).toHaveLength(3);
});

test('without walls code of the mode read_only runs as well', async () => {
  await using host = await createHost({ isolation: 'none' });
  await using lab = await laboratory.start({ code: WRITES_FILES, options: { host } });
  const { executionResult } = await lab.service.invoke(ANY, thread('t'));
  expect(executionResult.filePaths).toHaveLength(3);
});

test('O-19 O-08 U-33 large results come back in full', async () => {
  const code = `import os
os.chdir('/tmp')
results = {'rows': list(range(300_000)), 'text': 'x' * 3_000_000, 'small': 1}`;
  await using lab = await laboratory.start({ code });
  const request = { ...ANY, expected_results: { rows: 'list', text: 'str' } };
  const { executionResult, analysisWarnings } = await lab.service.invoke(request, thread('t'));
  const { rows, text, small } = executionResult.results;
  expect([(rows as number[]).length, (rows as number[]).at(-1)]).toEqual([300_000, 299_999]);
  expect([(text as string).length, small]).toEqual([3_000_000, 1]);
  expect(analysisWarnings).toEqual([]);
  expect(readJson(path.join(executionResult.folderPath, 'results.json'))).toEqual(executionResult.results);
  expect(executionResult.filePaths).toEqual([]);
  const status = await lab.service.status(thread('t'));
  expect(status?.settled?.()).toMatchObject({ result: { executionResult: { results: { small: 1 } } } });
});

test('U-33 a result that does not fit is a failed attempt, and the next generation is told', async () => {
  const code = ['results = {"rows": "x" * 3_000_000, "other": 1}', 'results = {"rows": "x"}'];
  const config = { framework: { python_executor: { max_results_mb: 2 } } };
  await using lab = await laboratory.start({ code, config });
  const { generationAttempt } = await lab.service.invoke({ ...ANY, expected_results: { rows: 'str' } }, thread('t'));
  expect(generationAttempt).toBe(2);
  expect(lab.generations[1]?.[0]).toMatchObject({
    errorType: 'ResultsInvalidError',
    errorMessage: expect.stringMatching(/results\["rows"\] is too large.*2 MB.*write.*file/s) as string,
  });
});

test('a result that nobody expected and that does not fit is noted', async () => {
  const config = { framework: { python_executor: { max_results_mb: 1 } } };
  await using lab = await laboratory.start({ code: 'results = {"answer": 1, "rows": "x" * 3_000_000}', config });
  const { analysisWarnings } = await lab.service.invoke(REQUEST, thread('t'));
  expect(analysisWarnings.join('\n')).toMatch(/results\["rows"\] is too large/);
});

test('a program that spoils the words of its session only fools itself', async () => {
  const code = `import sys
encoder = sys.modules['_vivarium.values.encode']
plain = encoder.encode_value
encoder.encode_value = lambda value, **bounds: '[' * 100_000 if bounds['max_items'] > 20_000 else plain(value, **bounds)
results = {'rows': list(range(300_000))}`;
  await using lab = await laboratory.start({ code });
  const request = { ...ANY, expected_results: { rows: 'list' }, retries: 0 };
  await expect(lab.service.invoke(request, thread('t'))).rejects.toMatchObject({
    name: 'ResultsInvalidError',
  });
});
