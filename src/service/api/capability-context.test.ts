import { expect, test } from 'vitest';
import type { PythonServiceResult } from './result.ts';
import { pythonResultsContext, summarizePythonResults } from './capability-context.ts';

const result: PythonServiceResult = {
  executionResult: {
    results: { few: [1, 2], many: Array.from({ length: 50 }, (_, index) => index), text: 'x'.repeat(300) },
    stdout: 'o'.repeat(1001),
    stderr: '',
    executionTime: 1.5,
    folderPath: '/f',
    notebookPath: '/f/notebook.ipynb',
    notebookLink: 'file:///f/notebook.ipynb',
    filePaths: [],
    figurePaths: ['/f/figures/figure_01.png'],
  },
  generatedCode: 'x = 1',
  generationAttempt: 1,
  retries: { generation: 0, execution: 0 },
  analysisWarnings: [],
};

test('O-57 what later steps keep has all keys, and the results as they are', () => {
  expect(pythonResultsContext(result)).toEqual({
    code: 'x = 1',
    output: 'o'.repeat(1001),
    results: result.executionResult.results,
    error: null,
    execution_time: 1.5,
    folder_path: '/f',
    notebook_path: '/f/notebook.ipynb',
    notebook_link: 'file:///f/notebook.ipynb',
    figure_paths: ['/f/figures/figure_01.png'],
    file_paths: [],
  });
});

test('O-57 the summary of it is short and says what it leaves out', () => {
  expect(summarizePythonResults(pythonResultsContext(result))).toMatchObject({
    code: 'x = 1',
    output: `${'o'.repeat(500)}… (501 more characters)`,
    results: { few: [1, 2], many: [0, 1, 2, '… 47 more'], text: `${'x'.repeat(100)}… (200 more characters)` },
  });
  const keys = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`k${index}`, index]));
  expect(summarizePythonResults({ results: keys })).toEqual({ results: { k0: 0, k1: 1, k2: 2, '…': '8 more' } });
});
