/** How a request of the service is shown while it runs, and how its end is printed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { printFailure, printResult, printWaiting } from '../../src/cli/service/outcome.ts';
import { ProgressDisplay } from '../../src/cli/service/progress.ts';
import {
  CodeRuntimeError,
  CodeSyntaxError,
  ContainerConfigurationError,
  ContainerConnectivityError,
  EngineUnavailableError,
  ExecutionRejectedError,
  ExecutionTimeoutError,
  MaxAttemptsExceededError,
  ModelUnavailableError,
  PolicyRefusedError,
  ResultsInvalidError,
  ServiceConfigurationError,
  WorkflowError,
} from '../../src/service/api/failures.ts';
import type { PythonServiceResult } from '../../src/service/api/result.ts';
import type { ServiceEvent } from '../../src/service/service.ts';
import { approvalOf, payloadOf } from '../support/approval.ts';
import { CommandContext } from '../support/command-context.ts';

const RESULT: PythonServiceResult = {
  executionResult: {
    results: { mean: 12.7, names: ['a', 'b'] },
    stdout: 'hello\n',
    stderr: '',
    executionTime: 0.5,
    folderPath: '/records/one',
    notebookPath: '/records/one/notebook.ipynb',
    notebookLink: 'file:///records/one/notebook.ipynb',
    figurePaths: ['/records/one/figures/figure_01.png'],
    filePaths: ['/records/one/files/a.csv'],
  },
  generatedCode: 'results = {}',
  generationAttempt: 2,
  retries: { generation: 1, execution: 0 },
  analysisWarnings: ['it reads files'],
};

describe('A result', () => {
  test('is a table of values and a list of paths', async () => {
    const context = new CommandContext();
    expect(await printResult(RESULT, {}, context)).toBe(0);
    expect(context.out.text).toBe(
      `${[
        'Results',
        '  mean   12.7',
        '  names  ["a","b"]',
        'Figure    /records/one/figures/figure_01.png',
        'File      /records/one/files/a.csv',
        'Notebook  /records/one/notebook.ipynb',
        'Folder    /records/one',
      ].join('\n')}\n`,
    );
    expect(context.err.text).toBe('note: it reads files\n');
  });

  test('without values says so', async () => {
    const context = new CommandContext();
    const executionResult = { ...RESULT.executionResult, results: {}, figurePaths: [], filePaths: [] };
    await printResult({ ...RESULT, executionResult }, {}, context);
    expect(context.out.text).toBe('No results\nNotebook  /records/one/notebook.ipynb\nFolder    /records/one\n');
  });

  test('as JSON is one document and nothing else', async () => {
    const context = new CommandContext();
    expect(await printResult(RESULT, { json: true }, context)).toBe(0);
    expect(JSON.parse(context.out.text)).toMatchObject({
      status: 'completed',
      results: { mean: 12.7, names: ['a', 'b'] },
      execution_stdout: 'hello\n',
      generated_code: 'results = {}',
      generation_attempt: 2,
      figure_count: 1,
      analysis_warnings: ['it reads files'],
    });
    expect(context.err.text).toBe('');
  });

  test('cannot forge lines, whatever its names and values are', async () => {
    const results = { 'x\nFolder  /evil': '\u001B[2J\nFolder  /evil\u202E' };
    const executionResult = { ...RESULT.executionResult, results, filePaths: ['/a\nFolder  /evil'] };
    for (const columns of [undefined, 60]) {
      const context = new CommandContext(columns === undefined ? {} : { isTerminal: true, columns });
      await printResult({ ...RESULT, executionResult, analysisWarnings: ['a\nerror: b'] }, {}, context);
      expect(context.out.plain.match(/^Folder .*$/gmu)).toEqual(['Folder    /records/one']);
      expect(context.out.plain).not.toContain('\u202E');
      expect(context.err.plain).toBe('note: a error: b\n');
    }
  });
});

describe('A request that waits', () => {
  const approval = approvalOf('x = 1', { payload: payloadOf({}) });

  test('prints its id for scripts, and for people the commands that decide it', async () => {
    const context = new CommandContext();
    await context.stderr.write('Working');
    expect(await printWaiting(approval, { sameAgain: '--config /c.yml' }, context)).toBe(75);
    expect(context.out.text).toBe('a-1\n');
    expect(context.err.text).toBe(
      `${[
        'Working',
        'waiting for approval: All code requires approval',
        '  review it           vivarium approvals show a-1 --config /c.yml',
        '  run it              vivarium approvals approve a-1 --config /c.yml',
        '  edit it             vivarium approvals edit a-1 --config /c.yml',
        '  reject it           vivarium approvals reject a-1 --reason "…" --config /c.yml',
        '  ask for other code  vivarium approvals respond a-1 "…" --config /c.yml',
      ].join('\n')}\n`,
    );
  });

  test('needs no options if there are none, and has a JSON form', async () => {
    const context = new CommandContext();
    expect(await printWaiting(approval, { json: true, sameAgain: '' }, context)).toBe(75);
    expect(context.err.text).toContain('vivarium approvals approve a-1\n');
    expect(JSON.parse(context.out.text)).toEqual({
      status: 'awaiting_approval',
      approval_id: 'a-1',
      code_sha256: approval.codeSha256,
      notebook_path: '/records/notebook.ipynb',
      execution_folder: '/records',
    });
  });
});

const RUNTIME = new CodeRuntimeError('ZeroDivisionError: division by zero', {
  tracebackInfo: 'Traceback:\n  line 1\n',
  executionAttempt: 1,
});

describe('A failure', () => {
  test.for([
    [
      new ExecutionRejectedError('no', { rejectedBy: 'g', reason: null }),
      'rejected',
      77,
      'was rejected, so it was not run',
    ],
    [new PolicyRefusedError('no', { reasons: ['os'] }), 'refused', 77, 'the policy refuses the code'],
    [new ModelUnavailableError('no'), 'failed', 5, 'the model cannot be used'],
    [new EngineUnavailableError('no'), 'failed', 3, 'the code could not be run; run `vivarium doctor`'],
    [new ContainerConnectivityError('no', { host: 'h', port: 1 }), 'failed', 3, 'the code could not be run'],
    [new ServiceConfigurationError('no'), 'failed', 2, 'the configuration of the service'],
    [new ContainerConfigurationError('no'), 'failed', 2, 'the configuration of the service'],
    [new ExecutionTimeoutError('no', { timeoutSeconds: 1 }), 'failed', 124, 'the code timed out'],
    [new WorkflowError('no', { stage: 's' }), 'failed', 1, 'the task was not finished'],
    [new CodeSyntaxError('no', { syntaxIssues: [] }), 'failed', 1, 'the code failed'],
    [new ResultsInvalidError('no'), 'failed', 1, 'the code failed'],
    [RUNTIME, 'failed', 1, 'the code failed'],
  ] as const)('%s is %s with exit code %i', async ([error, status, exitCode, title]) => {
    const context = new CommandContext();
    expect(await printFailure(error, { json: true }, context)).toBe(exitCode);
    const { name: type, category, message } = error;
    expect(JSON.parse(context.out.text)).toMatchObject({ status, error: { type, category, message } });
    expect(context.err.text).toMatch(/^error: .*\n│ /);
    expect(context.err.text).toContain(title);
  });

  test('of all attempts is that of the last one', async () => {
    const facts = { operationType: 'o', maxAttempts: 3, errorChain: [] };
    const model = new MaxAttemptsExceededError('no', { ...facts, cause: new ModelUnavailableError('down') });
    expect(await printFailure(model, {}, new CommandContext())).toBe(5);
    expect(await printFailure(new MaxAttemptsExceededError('no', facts), {}, new CommandContext())).toBe(1);
    const odd = new MaxAttemptsExceededError('no', { ...facts, cause: 'text' });
    expect(await printFailure(odd, {}, new CommandContext())).toBe(1);
  });

  test('shows the traceback and the message in a frame, and nothing on standard output', async () => {
    const context = new CommandContext();
    await printFailure(RUNTIME, {}, context);
    expect(context.out.text).toBe('');
    expect(context.err.text).toBe(
      'error: the code failed\n│ Traceback:\n│   line 1\n│ ZeroDivisionError: division by zero\n',
    );
  });

  test('shows only the end of a long traceback', async () => {
    const context = new CommandContext();
    const tracebackInfo = `begin${'x'.repeat(5000)}end`;
    await printFailure(new CodeRuntimeError('m', { tracebackInfo, executionAttempt: 1 }), {}, context);
    expect(context.err.text).not.toContain('begin');
    expect(context.err.text).toContain('xend\n│ m\n');
  });

  test('names the record, and its notebook only if there is one', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'vivarium-record-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const error = new ResultsInvalidError('no', { folderPath: folder });
    const before = new CommandContext();
    await printFailure(error, { json: true }, before);
    expect(before.err.text).toMatch(new RegExp(`\nFolder {2}${folder}\n$`));
    expect(JSON.parse(before.out.text)).toMatchObject({ notebook_path: null, execution_folder: folder });
    await writeFile(path.join(folder, 'notebook.ipynb'), '{}');
    const after = new CommandContext();
    await printFailure(error, { json: true }, after);
    expect(after.err.text).toContain(`\nNotebook  ${folder}/notebook.ipynb\nFolder    ${folder}\n`);
    expect(JSON.parse(after.out.text)).toMatchObject({ notebook_path: `${folder}/notebook.ipynb` });
  });

  test('of something else is left to others', async () => {
    const context = new CommandContext();
    expect(await printFailure(new Error('x'), {}, context)).toBeUndefined();
    expect(context.err.text).toBe('');
  });
});

describe('Progress', () => {
  const WAITING: ServiceEvent = { type: 'settled', status: 'awaiting-approval', approval: approvalOf('x') };

  async function* eventsOf(...events: readonly ServiceEvent[]): AsyncGenerator<ServiceEvent> {
    yield* events;
  }

  function status(text: string, stage: string): ServiceEvent {
    return { type: 'status', text, stage } as ServiceEvent;
  }

  function output(text: string): ServiceEvent {
    return { type: 'output', text } as ServiceEvent;
  }

  const TOKEN = { type: 'token', text: 'x' } as ServiceEvent;

  test('has a line for each stage, and output in a frame', async () => {
    const context = new CommandContext();
    const events = eventsOf(
      status('Generating', 'generation'),
      TOKEN,
      status('Executing', 'execution'),
      output('one\nt'),
      output('wo'),
      status('Recording', 'execution'),
      WAITING,
    );
    expect(await new ProgressDisplay(context.stderr).watch(events)).toBe(WAITING);
    expect(context.err.text).toBe('Generating\nExecuting\n│ one\n│ two\nRecording\n');
  });

  test('counts tokens in place at a terminal, and ends the line before the next one', async () => {
    const context = new CommandContext({ isTerminal: true, columns: 80 });
    const events = eventsOf(status('Generating', 'generation'), TOKEN, TOKEN, status('Analyzing', 'analysis'), WAITING);
    await new ProgressDisplay(context.stderr).watch(events);
    expect(context.err.plain).toBe('Generating\rGenerating 1 tokens\nAnalyzing\n');
  });

  test('ends its line when the request fails', async () => {
    const context = new CommandContext();
    const events = async function* (): AsyncGenerator<ServiceEvent> {
      yield status('Executing', 'execution');
      yield output('half');
      throw RUNTIME;
    };
    await expect(new ProgressDisplay(context.stderr).watch(events())).rejects.toBe(RUNTIME);
    expect(context.err.text).toBe('Executing\n│ half\n');
  });

  test('that ends without a result is a bug', async () => {
    const context = new CommandContext();
    await expect(new ProgressDisplay(context.stderr).watch(eventsOf())).rejects.toThrow('ended without `settled`');
  });
});
