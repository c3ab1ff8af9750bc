import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Execution } from '../../execution/execution.ts';
import type { Notebook } from '../../notebook/nbformat.ts';
import { ServiceConfigurationError } from '../api/failures.ts';
import { parseRequest } from '../api/request.ts';
import type { Attempt } from '../api/result.ts';
import { Records } from './records.ts';
import { FILE_LINKS, JupyterLabLinks } from './notebook-links.ts';

let home: string;
let records: Records;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'records-'));
  records = new Records({ agentDataDir: home, links: FILE_LINKS, pythonVersion: '3.12.0' });
});
afterEach(() => rm(home, { recursive: true, force: true }));

const request = parseRequest({
  user_query: 'What is *new*?',
  task_objective: 'Count things',
  execution_folder_name: 'count.things-1',
  capability_context_data: { SALES: { q1: { total: 3 } } },
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const execution: Execution = {
  id: 'e',
  sessionId: 's',
  outcome: { status: 'succeeded' },
  logs: { stdout: 'out\n', stderr: 'err\n' },
  results: [{ kind: 'figure', data: { 'text/plain': '<Figure>', 'image/png': PNG } }],
  value: { n: 1 },
  transcript: [],
  dataframes: [],
  figures: [{ result: 0, mime: 'image/png', sizeBytes: 70 }],
  files: [],
  state: { status: 'preserved', generation: 0, variables: { added: [], changed: [], removed: [] } },
  durationMs: 1500,
  isolation: { level: 'namespaces' } as Execution['isolation'],
};

const failed = (number: number): Attempt => ({
  number,
  stage: 'execution_failed',
  code: `attempt_${number}()`,
  error: 'NameError',
});
const succeeded = (number: number): Attempt & { execution: Execution } => ({
  number,
  stage: 'succeeded',
  code: 'results = {"n": 1}',
  execution,
});

async function readNotebook(file: string): Promise<Notebook> {
  return JSON.parse(await readFile(file, 'utf8')) as Notebook;
}

const textOf = (notebook: Notebook): string => notebook.cells.map(({ source }) => source.join('')).join('\n\n');

test('O-14 O-90 a request has a folder by its name, for nobody else', async () => {
  const { folderPath } = await records.begin(request);
  const relative = path.relative(home, folderPath);
  expect(relative).toMatch(/^executed_scripts\/\d{4}-\d\d\/execution_\d{8}_\d{6}_count\.things-1_[0-9a-f]{8}$/);
  for (const directory of [folderPath, path.dirname(folderPath), path.join(folderPath, 'attempts')]) {
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  }
  expect(JSON.parse(await readFile(path.join(folderPath, 'context.json'), 'utf8'))).toEqual(
    request.capabilityContextData,
  );
  expect((await records.begin(request)).folderPath).not.toBe(folderPath);
});

test('O-90 a success leaves exactly the files of the layout', async () => {
  const record = await records.begin(request);
  await record.recordAttempt({ number: 1, stage: 'syntax_error', code: 'x =', error: 'invalid syntax' });
  await record.recordSuccess(succeeded(2), { results: { n: 1 }, executionMode: 'read_only' });
  expect((await readdir(record.folderPath)).toSorted()).toEqual([
    'attempts',
    'context.json',
    'execution_metadata.json',
    'figures',
    'notebook.ipynb',
    'results.json',
  ]);
  expect(await readdir(path.join(record.folderPath, 'figures'))).toEqual(['figure_01.png']);
  expect(JSON.parse(await readFile(path.join(record.folderPath, 'results.json'), 'utf8'))).toEqual({ n: 1 });
});

test('O-21 a success is told with where everything is', async () => {
  const record = await records.begin(request);
  const success = await record.recordSuccess(succeeded(1), { results: { n: 1 } });
  expect(success).toMatchObject({
    results: { n: 1 },
    stdout: 'out\n',
    stderr: 'err\n',
    executionTime: 1.5,
    folderPath: record.folderPath,
  });
  expect(success.figurePaths).toEqual([path.join(record.folderPath, 'figures', 'figure_01.png')]);
  expect((await readFile(success.figurePaths[0] ?? '')).toString('base64')).toBe(PNG);
});

test('U-70 three attempts are in one folder, also when they are recorded again, elsewhere and later', async () => {
  const { folderPath } = await records.begin(request);
  for (const number of [1, 2, 3]) {
    const elsewhere = await new Records({ agentDataDir: home, links: FILE_LINKS, pythonVersion: '3.12.0' }).open(
      folderPath,
      request,
    );
    const { notebookPath } = await elsewhere.recordAttempt(failed(number));
    const [prefix = ''] = notebookPath.split(/_\d{6}\.ipynb$/);
    const earlier = `${prefix}_000000.ipynb`; // as if it had been written at midnight
    await writeFile(earlier, await readFile(notebookPath));
    await rm(notebookPath);
    expect((await elsewhere.recordAttempt({ ...failed(number), code: 'again()' })).notebookPath).toBe(earlier);
    expect(textOf(await readNotebook(earlier))).toContain('again()');
  }
  const names = (await readdir(path.join(folderPath, 'attempts'))).toSorted();
  expect(names).toEqual([1, 2, 3].map((number) => `0${number}_execution_failed_000000.ipynb`));
  expect((await records.open(folderPath, request)).latestAttemptNumber).toBe(3);
});

test('O-91 O-94 each stage has its notebook, which says what it is', async () => {
  const record = await records.begin(request);
  const waiting: Attempt = { number: 1, stage: 'awaiting_approval', code: 'caput("A", 1)' };
  const review = { reasoning: 'Code contains EPICS write operations', issues: ['Line 1 writes "A"'] };
  const written = await record.recordAttempt(waiting, { review, executionMode: 'write_access' });
  expect(written).toMatchObject({
    notebookType: 'pre_execution',
    attemptNumber: 1,
    stage: 'awaiting_approval',
    errorContext: null,
  });
  expect(path.basename(written.notebookPath)).toMatch(/^01_awaiting_approval_\d{6}\.ipynb$/);
  const text = textOf(await readNotebook(written.notebookPath));
  for (const part of [
    '# Attempt 1: Awaiting approval',
    'Code contains EPICS write operations',
    'Line 1 writes "A"',
    'has not been run',
    'write\\_access',
    'caput("A", 1)',
    'load_context("../context.json")',
  ]) {
    expect(text).toContain(part);
  }
  const refused = await record.recordAttempt({
    number: 1,
    stage: 'static_analysis_failed',
    code: 'eval("1")',
    error: 'Security risk',
  });
  expect(refused).toMatchObject({ notebookType: 'code_generation_attempt', errorContext: 'Security risk' });
  expect((await record.recordAttempt(failed(1))).notebookType).toBe('execution_attempt');
  expect(await readdir(path.join(record.folderPath, 'attempts'))).toHaveLength(3);
});

test('O-92 the final notebook has header, context, code with outputs, results and figures', async () => {
  const record = await records.begin(request);
  const { notebookPath } = await record.recordSuccess(succeeded(1), { results: { n: 1 } });
  const notebook = await readNotebook(notebookPath);
  expect(notebook.cells.map(({ id }) => id)).toEqual([
    'header',
    'context',
    'setup',
    'run-1',
    'results',
    'load-results',
    'figures',
  ]);
  const text = textOf(notebook);
  for (const part of [
    '# Successful Execution',
    'What is \\*new\\*?',
    'load_context("context.json")',
    '"n": 1',
    'Path("results.json")',
    '(<figures/figure_01.png>)',
  ]) {
    expect(text).toContain(part);
  }
  const outputs = notebook.cells.flatMap((cell) => (cell.cell_type === 'code' ? cell.outputs : []));
  expect(outputs.map(({ output_type: type }) => type)).toEqual(['stream', 'stream', 'display_data']);
});

test('O-96 the metadata of a success and of a failure have all keys', async () => {
  const record = await records.begin(request);
  const read = async (): Promise<Record<string, unknown>> =>
    JSON.parse(await readFile(path.join(record.folderPath, 'execution_metadata.json'), 'utf8')) as Record<
      string,
      unknown
    >;
  const startedAt = new Date('2024-07-01T12:00:00Z');
  const where = { executionMode: 'read_only', executionMethod: 'local', python: '/usr/bin/python3' };
  await record.recordSuccess(succeeded(1), { results: { n: 1 }, ...where, startedAt });
  const success = await read();
  expect(success).toEqual({
    start_time: '2024-07-01T12:00:00.000Z',
    end_time: '2024-07-01T12:00:01.500Z',
    success: true,
    error: null,
    traceback: null,
    error_type: null,
    stdout: 'out\n',
    stderr: 'err\n',
    results_captured: true,
    results_missing: false,
    results_is_none: false,
    results_saved: true,
    results_save_error: null,
    figures_saved: ['figures/figure_01.png'],
    figure_count: 1,
    figure_errors: [],
    files_saved: [],
    file_count: 0,
    file_errors: [],
    execution_mode: 'read_only',
    execution_method: 'local',
    python_env: '/usr/bin/python3',
    infrastructure_error: false,
  });
  const { value: _, ...withoutValue } = execution;
  await record.recordFailure({
    failure: { errorType: 'ResultsInvalidError', errorMessage: 'no results', traceback: null },
    attempt: { number: 2, stage: 'results_invalid', code: 'x', execution: { ...withoutValue, figures: [] } },
  });
  const failure = await read();
  expect(Object.keys(failure).toSorted()).toEqual(Object.keys(success).toSorted());
  expect(failure).toMatchObject({
    success: false,
    error: 'no results',
    error_type: 'ResultsInvalidError',
    results_missing: true,
    results_saved: false,
    figure_count: 0,
  });
});

test('OB-21 nothing of an earlier run stays beside a failure', async () => {
  const record = await records.begin(request);
  await record.recordSuccess(succeeded(1), { results: { n: 1 } });
  const written = await record.recordFailure({
    failure: { errorType: 'ModelUnavailableError', errorMessage: 'no model', isInfrastructure: true },
  });
  expect(written).toMatchObject({ notebookType: 'final_failure', stage: 'failed', attemptNumber: 0 });
  expect(await readdir(path.join(record.folderPath, 'figures'))).toEqual([]);
  await expect(stat(path.join(record.folderPath, 'results.json'))).rejects.toThrow('ENOENT');
  expect(textOf(await readNotebook(written.notebookPath))).toMatch(/# Failed Execution[^]*no model/);
});

test('a request goes on in the folder of an earlier one, with its own context', async () => {
  const first = await records.begin(request);
  await first.recordAttempt(failed(2));
  const next = { ...request, existingExecutionFolder: first.folderPath, capabilityContextData: { B: 1 } };
  const record = await records.begin(next);
  expect(record.folderPath).toBe(first.folderPath);
  expect(record.latestAttemptNumber).toBe(2);
  expect(await readFile(path.join(record.folderPath, 'context.json'), 'utf8')).toContain('"B"');
});

test('O-07 O-43 O-93 links open: files here, also where the Jupyter server is gone', async () => {
  const local = await (await records.begin(request)).recordSuccess(succeeded(1), { results: {} });
  expect(local.notebookLink).toMatch(/^file:\/\/\//);
  expect(await readFile(fileURLToPath(local.notebookLink), 'utf8')).toContain('Successful Execution');
  const gone = new JupyterLabLinks({ url: 'http://127.0.0.1:9', token: 'x' }, 'executed_scripts');
  const remote = new Records({ agentDataDir: home, links: gone, pythonVersion: '3.12.0' });
  const { notebookLink } = await (await remote.begin(request)).recordSuccess(succeeded(1), { results: {} });
  expect(await readFile(fileURLToPath(notebookLink), 'utf8')).toContain('Successful Execution');
});

test('only folders that the service made are opened', async () => {
  const { folderPath } = await records.begin(request);
  const outside = await mkdtemp(path.join(tmpdir(), 'outside-'));
  const inside = path.join(home, 'executed_scripts', '2024-07');
  await mkdir(inside, { recursive: true });
  const link = path.join(inside, 'execution_20240701_120000_x_0123abcd');
  await symlink(outside, link);
  try {
    for (const folder of [
      outside,
      link,
      home,
      '/etc',
      path.join(folderPath, 'attempts'),
      `${folderPath}/../..`,
      'nowhere',
      '',
    ]) {
      await expect(records.open(folder, request), folder).rejects.toThrow(ServiceConfigurationError);
      await expect(records.begin({ ...request, existingExecutionFolder: folder }), folder).rejects.toThrow(
        ServiceConfigurationError,
      );
    }
    expect(await readdir(outside)).toEqual([]);
  } finally {
    await rm(outside, { recursive: true });
  }
});

test('links that stand in the way are not followed', async () => {
  const outside = await mkdtemp(path.join(tmpdir(), 'outside-'));
  try {
    const { folderPath } = await records.begin(request);
    await rm(path.join(folderPath, 'attempts'), { recursive: true });
    await symlink(outside, path.join(folderPath, 'attempts'));
    await symlink(path.join(outside, 'target'), path.join(folderPath, 'notebook.ipynb'));
    const record = await records.open(folderPath, request);
    await expect(record.recordAttempt(failed(1))).rejects.toThrow(/it should be a directory but is a link/);
    await record.recordFailure({ failure: { errorType: 'E', errorMessage: 'm' } });
    expect(await readdir(outside)).toEqual([]);
    expect((await stat(path.join(folderPath, 'notebook.ipynb'))).isFile()).toBe(true);
    const month = path.dirname(folderPath);
    await rm(month, { recursive: true });
    await symlink(outside, month);
    await expect(records.begin(request)).rejects.toThrow(ServiceConfigurationError);
    expect(await readdir(outside)).toEqual([]);
  } finally {
    await rm(outside, { recursive: true });
  }
});

test('O-43 a record that cannot be kept says where, why and what to do', async () => {
  await writeFile(path.join(home, 'executed_scripts'), 'a file');
  const error: unknown = await records.begin(request).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ServiceConfigurationError);
  expect((error as Error).message).toMatch(
    /cannot be kept at .*executed_scripts: it should be a directory but is a file\. .*file_paths\.agent_data_dir/,
  );
  const agentDataDir = path.join(home, 'executed_scripts');
  const misplaced = new Records({ agentDataDir, links: FILE_LINKS, pythonVersion: '3.12.0' });
  await expect(misplaced.begin(request)).rejects.toThrow(
    `cannot be kept at ${agentDataDir}/executed_scripts: it should be a directory but is a link or a file. Fix this`,
  );
});

test('a write that fails leaves what was there, and no draft', async () => {
  const record = await records.begin(request);
  await mkdir(path.join(record.folderPath, 'notebook.ipynb'));
  const failing = record.recordFailure({ failure: { errorType: 'E', errorMessage: 'm' } });
  await expect(failing).rejects.toThrow(/cannot be kept at .*notebook\.ipynb: it should be a file but is a directory/);
  const names = await readdir(record.folderPath);
  expect(names.toSorted()).toEqual(['attempts', 'context.json', 'execution_metadata.json', 'notebook.ipynb']);
});

test('a picture that is none is told, not kept', async () => {
  const record = await records.begin(request);
  const html = Buffer.from('<script>alert(1)</script>').toString('base64');
  const results = [
    { kind: 'figure', data: { 'image/png': html } },
    { kind: 'figure', data: { 'application/vnd.plotly.v1+json': '{}' } },
    { kind: 'figure', data: { 'image/png': PNG } },
  ] as const;
  const figures = [
    ...results.map((result, index) => ({ result: index, mime: Object.keys(result.data)[0] ?? '', sizeBytes: 1 })),
    { path: 'gone.png', mime: 'image/png', sizeBytes: 5, notKept: 'it was removed' },
  ];
  const attempt = { ...succeeded(1), execution: { ...execution, results, figures } };
  const { figurePaths } = await record.recordSuccess(attempt, { results: {} });
  expect(figurePaths.map((file) => path.basename(file))).toEqual(['figure_01.png']);
  const metadata = await readFile(path.join(record.folderPath, 'execution_metadata.json'), 'utf8');
  expect((JSON.parse(metadata) as { figure_errors: string[] }).figure_errors).toEqual([
    'Figure 1 is not kept: it does not contain image/png.',
    'Figure 2 is not kept: application/vnd.plotly.v1+json is not an image; the notebook shows it.',
    'Figure 4 is not kept: it was removed.',
  ]);
});
