/** The record of a request: notebooks that Jupyter accepts and runs, next to the files that they load. */
import { cp, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, type TestContext } from 'vitest';
import { Transcript, type TranscriptItem } from '../../src/execution/transcript.ts';
import { createHost, type Execution, type Host, type Json, type RunOptions } from '../../src/index.ts';
import type { Notebook } from '../../src/notebook/nbformat.ts';
import type { ExecutionRecord } from '../../src/service/records/record.ts';
import { Records } from '../../src/service/records/records.ts';
import { FILE_LINKS } from '../../src/service/records/notebook-links.ts';
import { parseRequest, type PythonExecutionRequest } from '../../src/service/api/request.ts';
import type { AttemptStage } from '../../src/service/api/result.ts';
import { validateResults } from '../../src/service/results/validate.ts';
import { installNotebookTools, NotebookTools } from '../support/notebook-tools.ts';
import { shownBy, type Shown } from '../support/shown-outputs.ts';

const INSTALL_TIMEOUT_MS = 360_000;
const isRequired = process.env['CI'] === 'true';

let host: Host;
let found: NotebookTools | { readonly problem: string };
let home: string;
let records: Records;

beforeAll(async () => {
  found = await installNotebookTools();
  host = await createHost();
}, INSTALL_TIMEOUT_MS);
afterAll(() => host.close());

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'records-'));
  records = new Records({
    agentDataDir: home,
    links: FILE_LINKS,
    pythonVersion: host.environment.version,
    openArtifact: (id) => host.artifacts.open(id),
  });
});
afterEach(() => rm(home, { recursive: true, force: true }));

function toolsFor(context: TestContext): NotebookTools {
  if (found instanceof NotebookTools) return found;
  if (isRequired) throw new Error(`Jupyter's tools cannot be installed: ${found.problem}`);
  return context.skip(`Jupyter's tools cannot be installed: ${found.problem}`);
}

const request = parseRequest({
  user_query: 'How did sales develop?',
  task_objective: 'Find the trend',
  execution_folder_name: 'sales',
  expected_results: { trend: 'float', table: 'pandas.DataFrame', when: 'datetime' },
  capability_context_data: { SALES: { q1: { values: [1, 3, 8], 'unit name': 'k€' } } },
});

const ANALYSIS = `import sys
import datetime
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

json = list = dict = isinstance = Context = None  # names that programs may take
values = context.SALES.q1.values
print("values:", values, context.SALES.q1["unit name"])
print("a warning", file=sys.stderr)
plt.plot(values)
plt.show()
saved, axes = plt.subplots()
axes.bar([1, 2, 3], values)
saved.savefig("bars.png")
plt.close(saved)
results = {
    "trend": float(np.polyfit(range(3), values, 1)[0]),
    "table": pd.DataFrame({"v": values}),
    "when": datetime.datetime(2024, 7, 1),
    "text": """two
    lines""",
}
results["table"]`;

interface Run {
  readonly execution: Execution;
  readonly outputs: readonly TranscriptItem[];
}

/** Runs code as the service does: with `context`, in its own session. */
async function run(
  code: string,
  { capabilityContextData }: PythonExecutionRequest,
  options: RunOptions = {},
): Promise<Run> {
  await using session = await host.createSession();
  await session.setContext(capabilityContextData ?? {});
  const transcript = new Transcript(1 << 20);
  for await (const event of session.stream(code, { ...options, resultVariable: 'results' })) transcript.add(event);
  return { execution: transcript.execution(), outputs: transcript.items() };
}

async function succeed(
  record: ExecutionRecord,
  code = ANALYSIS,
  number = 1,
): ReturnType<ExecutionRecord['recordSuccess']> {
  const { execution, outputs } = await run(code, request);
  expect(execution.error).toBeUndefined();
  const { results, problems } = validateResults(execution.value, request.expectedResults);
  expect(problems).toEqual([]);
  return record.recordSuccess({ number, stage: 'succeeded', code, execution }, { results: results ?? {}, outputs });
}

async function readNotebook(file: string): Promise<Notebook> {
  return JSON.parse(await readFile(file, 'utf8')) as Notebook;
}

/** Runs a notebook of a record in a copy of the folder, so that the record stays unchanged. */
async function executeCopy(
  tools: NotebookTools,
  { folderPath }: ExecutionRecord,
  notebookPath: string,
): Promise<Notebook> {
  const copy = await mkdtemp(path.join(tmpdir(), 'record-copy-'));
  try {
    await cp(folderPath, copy, { recursive: true });
    return await tools.executeFile(path.join(copy, path.relative(folderPath, notebookPath)));
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

const runIn = (notebook: Notebook, code: string): Shown | undefined =>
  shownBy(notebook).find((cell) => cell.code === code);

test('O-07 O-92 the notebook of a success is valid, and Jupyter runs it to the same outputs', async (context) => {
  const tools = toolsFor(context);
  const record = await records.begin(request);
  const { notebookPath } = await succeed(record);
  const notebook = await readNotebook(notebookPath);
  await tools.validate(notebook);
  const executed = await executeCopy(tools, record, notebookPath);
  const recorded = runIn(notebook, ANALYSIS);
  expect(recorded?.stdout).toBe('values: [1, 3, 8] k€\n');
  expect(recorded?.results).toHaveLength(2);
  expect(runIn(executed, ANALYSIS)).toEqual(recorded);
  const loaded = shownBy(executed).at(-1);
  expect(JSON.stringify(loaded?.results)).toContain("'when': '2024-07-01T00:00:00'");
});

test('O-19 O-90 results are kept as they were given, figures as files that the notebook links', async () => {
  const record = await records.begin(request);
  const { results, figurePaths, notebookPath, folderPath } = await succeed(record);
  const stored = JSON.parse(await readFile(path.join(folderPath, 'results.json'), 'utf8')) as Record<string, Json>;
  expect(stored).toEqual(results);
  expect(stored['trend']).toBeCloseTo(3.5);
  expect(stored).toMatchObject({
    table: { v: [1, 3, 8] },
    when: '2024-07-01T00:00:00',
    text: 'two\n    lines',
  });
  expect(figurePaths.map((file) => path.basename(file))).toEqual(['figure_01.png', 'figure_02.png']);
  const links = [...(await readFile(notebookPath, 'utf8')).matchAll(/\(<(figures\/[^>]+)>\)/g)].map(
    ([, link]) => link ?? '',
  );
  expect(links).toHaveLength(2);
  for (const link of links) {
    expect((await readFile(path.join(folderPath, link))).subarray(1, 4).toString()).toBe('PNG');
  }
});

test('U-70 O-91 failed attempts and the success are in one folder, each a valid notebook', async (context) => {
  const tools = toolsFor(context);
  const record = await records.begin(request);
  const raising = 'print(context.SALES.q1.values)\ncontext.SALES.q2';
  const { execution, outputs } = await run(raising, request);
  expect(execution.error?.value).toContain("has no 'q2'");
  const raised = await record.recordAttempt(
    { number: 1, stage: 'execution_failed', code: raising, error: execution.error?.value ?? '', execution },
    { outputs },
  );
  const broken = await record.recordAttempt({
    number: 2,
    stage: 'syntax_error',
    code: 'def broken(:\n    pass',
    error: 'Syntax error at line 1',
  });
  await succeed(record, ANALYSIS, 3);
  const { folderPath } = record;
  for (const { notebookPath } of [raised, broken]) {
    await tools.validate(await readNotebook(notebookPath));
    expect(path.dirname(notebookPath)).toBe(path.join(folderPath, 'attempts'));
  }
  const executed = await executeCopy(tools, record, raised.notebookPath);
  expect(runIn(executed, raising)).toEqual(runIn(await readNotebook(raised.notebookPath), raising));
  expect(shownBy(await executeCopy(tools, record, broken.notebookPath)).at(-1)?.errors[0]?.ename).toBe('SyntaxError');
});

test.for([
  ['crashed', 'import os\nprint("so far", flush=True)\nos._exit(3)', {}],
  ['timed-out', 'print("so far", flush=True)\nwhile True:\n    pass', { timeoutMs: 500 }],
] as const)('a run that %s is told as text, which Jupyter can run past', async ([status, code, options], context) => {
  const tools = toolsFor(context);
  const record = await records.begin(request);
  const { execution, outputs } = await run(code, request, options);
  expect(execution.outcome.status).toBe(status);
  const attempt = { number: 1, stage: 'execution_failed' as AttemptStage, code, execution };
  await record.recordAttempt(attempt, { outputs });
  const { notebookPath } = await record.recordFailure({
    failure: { errorType: 'E', errorMessage: status },
    attempt,
    outputs,
  });
  const notebook = await readNotebook(notebookPath);
  await tools.validate(notebook);
  expect(runIn(notebook, code)).toBeUndefined();
  const text = notebook.cells.map(({ source }) => source.join('')).join('\n');
  expect(text).toContain(code);
  expect(text).toContain('so far');
  await executeCopy(tools, record, notebookPath);
});

test('whatever a run printed, showed and raised, its notebooks are valid', async (context) => {
  const tools = toolsFor(context);
  const hostile = parseRequest({
    user_query: '# Heading\n```\n<script>alert(1)</script> \ud800 \u0000',
    task_objective: '![x](javascript:alert(1)) '.repeat(2000),
    execution_folder_name: '..',
  });
  const record = await records.begin(hostile);
  expect(path.dirname(path.dirname(record.folderPath))).toBe(path.join(home, 'executed_scripts'));
  const code = `# \u2028 \u0000? no
print("\\x1b[31m\\x00\\udcff", "x" * 3_000_000)
class Odd(Exception):
    pass
Odd.__name__ = "\\x1b[0m" * 50
raise Odd("\\ud800")`.replace('\u0000', '');
  const { execution, outputs } = await run(code, hostile);
  expect(execution.outcome.status).toBe('raised');
  const attempt = {
    number: 1,
    stage: 'execution_failed',
    code: `${code}\n"\ud800"`,
    error: '\ud800```',
    execution,
  } as const;
  const failure = { errorType: '`\n# x', errorMessage: '\ud800```\n# x', traceback: '````\n' };
  const written = [
    await record.recordAttempt(attempt, { outputs, review: { reasoning: '```', issues: ['\n# x', '<b>'] } }),
    await record.recordFailure({ attempt, failure, outputs }),
  ];
  for (const { notebookPath } of written) await tools.validate(await readNotebook(notebookPath));
  JSON.parse(await readFile(path.join(record.folderPath, 'execution_metadata.json'), 'utf8'));
});

test('O-08 O-15 the results of one request are the context of the next', async () => {
  const first = await succeed(await records.begin(request));
  const second = parseRequest({ ...request, capabilityContextData: { preprocessing_results: first.results } });
  const code = 'stage = context.preprocessing_results\nresults = {"sum": sum(stage.table.v), "when": stage.when}';
  const { execution } = await run(code, second);
  expect(execution.value).toEqual({ sum: 12, when: '2024-07-01T00:00:00' });
  const { folderPath } = await records.begin(second);
  expect((await stat(path.join(folderPath, 'context.json'))).mode & 0o777).toBe(0o600);
});
