/** The execution service from request to result: generated, judged, approved, run, recorded. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInterpreter, type Interpreter } from '../../../src/index.ts';
import { loadConfiguration } from '../../../src/service/config/load.ts';
import type { PythonExecutionRequestInput } from '../../../src/service/request.ts';
import { startPythonExecutor } from '../../../src/service/start.ts';
import type { PythonExecutorService } from '../../../src/service/service.ts';

let interpreter: Interpreter;
let directory: string;
beforeAll(async () => {
  interpreter = await createInterpreter();
  directory = mkdtempSync(path.join(tmpdir(), 'service-'));
});
afterAll(async () => {
  await interpreter.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Settings {
  readonly yaml?: string;
  readonly code?: string | readonly string[];
}

let count = 0;
/** A service with a generator that gives these codes, one after the other. */
async function start({ yaml = '', code = 'results = {"answer": 42}' }: Settings = {}): Promise<PythonExecutorService> {
  count += 1;
  const sequence = typeof code === 'string' ? [code] : [...code];
  const text = `
framework:
  execution:
    code_generator: scripted
approval:
  global_mode: selective
  capabilities:
    python_execution: { enabled: true, mode: epics_writes }
${yaml}`;
  const baseDir = path.join(directory, String(count));
  return startPythonExecutor({
    config: await loadConfiguration({ text, environment: {} }),
    dataDir: path.join(baseDir, 'data'),
    baseDir,
    interpreter,
    generators: { scripted: () => ({ generateCode: async () => sequence.shift() ?? sequence.at(-1) ?? '' }) },
  });
}

const REQUEST: PythonExecutionRequestInput = {
  user_query: 'What is the answer?',
  task_objective: 'Find the answer',
  expected_results: { answer: 'int' },
  execution_folder_name: 'answer',
};
const CONFIG = { configurable: { thread_id: 't', checkpoint_ns: 'python_executor' } };

test('a request becomes a result with its record', async () => {
  await using service = await start({
    code: 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint("hello")\nresults = {"answer": 42}',
  });
  const { executionResult, generatedCode, generationAttempt } = await service.invoke(REQUEST, CONFIG);
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
  expect(JSON.parse(readFileSync(path.join(executionResult.folderPath, 'results.json'), 'utf8'))).toEqual({
    answer: 42,
  });
});

test('code that fails is written anew with what went wrong', async () => {
  await using service = await start({ code: ['print(1/0)', 'results = {"answer": "six"}', 'results = {"answer": 6}'] });
  const { executionResult, generationAttempt } = await service.invoke(REQUEST, CONFIG);
  expect([executionResult.results, generationAttempt]).toEqual([{ answer: 6 }, 3]);
  const attempts = readdirSync(path.join(executionResult.folderPath, 'attempts')).map((name) =>
    name.replace(/_\d{6}\.ipynb$/, ''),
  );
  expect(attempts).toEqual(['01_execution_failed', '02_results_invalid', '03_succeeded']);
});

const WRITES = `
execution_control: { epics: { writes_enabled: true } }
`;
/** A stand-in for the library of a control system; its writes are prints. */
const EPICS = `import sys, types
sys.modules['epics'] = types.ModuleType('epics')
sys.modules['epics'].caput = lambda name, value: print('wrote', name, value)
`;
const WRITE_CODE = `${EPICS}from epics import caput as _w
_w('magnet', 1)
results = {'answer': 1}`;

test('code that writes is asked about, and approved runs once', async () => {
  await using service = await start({ yaml: WRITES, code: WRITE_CODE });
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

test('what the reviewer is shown: the code, its hash, the analysis and what it did behind walls', async () => {
  await using service = await start({ yaml: WRITES, code: WRITE_CODE });
  const waiting = await service.run(REQUEST, CONFIG);
  const { user_message: message, resume_payload: payload } =
    waiting.status === 'awaiting-approval' ? (waiting.approval.payload as Record<string, never>) : {};
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
  await using service = await start({ yaml: WRITES, code: WRITE_CODE });
  await service.run(REQUEST, CONFIG);
  await expect(
    service.invoke(new Command({ resume: { approved: false, reason: 'not today' } }), CONFIG),
  ).rejects.toMatchObject({
    name: 'ExecutionRejectedError',
    reason: 'not today',
  });
});

test('who decides about an old question does not approve the code of the new one', async () => {
  await using service = await start({ yaml: WRITES, code: [WRITE_CODE, `${WRITE_CODE}\n# other`] });
  const first = await service.run(REQUEST, CONFIG);
  const old = first.status === 'awaiting-approval' ? first.approval.id : '';
  const second = await service.decide(old, { type: 'respond', text: 'Do it otherwise.' }, { by: 'reviewer' });
  expect(second).toMatchObject({ status: 'awaiting-approval' });
  await expect(service.decide(old, { type: 'approve' }, { by: 'reviewer' })).rejects.toMatchObject({
    code: 'APPROVAL_DECIDED',
  });
  expect(second.status === 'awaiting-approval' && (await service.approvals.get(second.approval.id)).status).toBe(
    'pending',
  );
});

test('a service that does not find the record decides nothing', async () => {
  await using service = await start({ yaml: WRITES, code: WRITE_CODE });
  const waiting = await service.run(REQUEST, CONFIG);
  const id = waiting.status === 'awaiting-approval' ? waiting.approval.id : '';
  await using elsewhere = await startPythonExecutor({
    config: service.configuration,
    dataDir: path.join(directory, String(count), 'data'),
    baseDir: path.join(directory, 'elsewhere'),
    interpreter,
  });
  await expect(elsewhere.decide(id, { type: 'approve' }, { by: 'reviewer' })).rejects.toMatchObject({
    name: 'ServiceConfigurationError',
  });
  expect((await service.approvals.get(id)).status).toBe('pending');
  await service.decide(id, { type: 'approve' }, { by: 'reviewer' });
});

test('files that come with a request are there for the code, as they were when it began', async () => {
  const code = 'results = {"answer": len(open("table.csv").read())}';
  await using service = await start({ code, yaml: 'control_system: {}' });
  const file = path.join(directory, 'source.csv');
  writeFileSync(file, 'a,b\n1,2\n');
  const { executionResult } = await service.invoke(REQUEST, { ...CONFIG, files: { 'table.csv': file } });
  expect(executionResult.results).toEqual({ answer: 8 });
  expect(readFileSync(path.join(executionResult.folderPath, 'inputs', 'table.csv'), 'utf8')).toBe('a,b\n1,2\n');
  for (const files of [{ '../table.csv': file }, { 'table.csv': directory }, { 'table.csv': `${file}.missing` }]) {
    await expect(service.run(REQUEST, { ...CONFIG, files })).rejects.toMatchObject({
      name: 'ServiceConfigurationError',
    });
  }
});

test('a file that was changed after it was shown to a reviewer is not used', async () => {
  const code = `${WRITE_CODE}\nopen("table.csv").read()\nimport urllib.request\nimport socket\nsocket.socket().connect_ex(("127.0.0.1", 9))`;
  await using service = await start({ yaml: WRITES, code });
  const file = path.join(directory, 'source.csv');
  writeFileSync(file, 'a,b\n1,2\n');
  const waiting = await service.run(REQUEST, { ...CONFIG, files: { 'table.csv': file } });
  const payload = (waiting.status === 'awaiting-approval' ? waiting.approval.payload : {}) as {
    resume_payload: { execution_folder_path: string; input_files: unknown; effects: unknown };
  };
  expect(payload.resume_payload.input_files).toMatchObject([{ name: 'table.csv', size_bytes: 8 }]);
  expect(payload.resume_payload.effects).toMatchObject({ isComplete: false });
  writeFileSync(path.join(payload.resume_payload.execution_folder_path, 'inputs', 'table.csv'), 'a,b\n9,9\n');
  await expect(service.invoke(new Command({ resume: true }), CONFIG)).rejects.toThrow(
    /table\.csv in the record is not the one/,
  );
});
