/** The examples of the service, as separate processes and as graphs, with and without a model. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Command } from '@langchain/langgraph';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { buildAgent, QUESTION } from '../../../examples/service/data-analysis-capability.ts';
import { FlexiblePythonExecution } from '../../../examples/service/dynamic-environment.ts';
import { buildPipeline, DATA } from '../../../examples/service/two-stage-pipeline.ts';
import { createHost, type Host } from '../../../src/index.ts';
import {
  getRegistry,
  loadConfiguration,
  startPythonExecutor,
  type PythonExecutorService,
} from '../../../src/service.ts';
import { OpenAIServer, question, type ChatRequest, type Reply } from '../../support/openai-server.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../../examples/service');

/** Runs an example in an empty directory. */
async function runExample(name: string, { args = [], environment = {} }: Run = {}): Promise<string> {
  const directory = mkdtempSync(path.join(tmpdir(), 'example-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const child = spawn(process.execPath, [path.join(EXAMPLES, `${name}.ts`), ...args], {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect([stderr, child.exitCode]).toEqual(['', 0]);
  for (const [, link = ''] of stdout.matchAll(/"notebook_link": "([^"]+)"/g)) {
    expect(existsSync(fileURLToPath(link))).toBe(true);
  }
  return stdout;
}

interface Run {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** The last JSON document of an output. */
function lastJson(stdout: string): unknown {
  return JSON.parse(stdout.slice(Math.max(stdout.lastIndexOf('\n{\n'), stdout.lastIndexOf('\n[\n')) + 1));
}

describe('as processes of their own', { timeout: 120_000 }, () => {
  test.for(['command', 'state'])('O-05 O-37 the capability asks, and goes on through the %s', async (way) => {
    const stdout = await runExample('data-analysis-capability', { args: [way] });
    expect(stdout).toContain('**HUMAN APPROVAL REQUIRED**');
    expect(stdout).toContain('caput("DEMO:SETPOINT", 1.5)');
    expect(lastJson(stdout)).toMatchObject({
      beam_current: { results: { statistics: {}, trends: [1, 2, 3] }, error: null },
    });
  });

  test('O-09 the environment is chosen for each request, and a missing server is named', async () => {
    const stdout = await runExample('dynamic-environment', { environment: { EXAMPLE_JUPYTER_PORT: '9' } });
    expect(stdout).toMatch(/^Average three numbers: local\n\{"answer":1\.5\} file:\/\//);
    expect(stdout).toContain('Average three secrets: container\nMaxAttemptsExceededError (workflow): ');
    expect(stdout).toContain('No Jupyter server answers at localhost:9');
  });

  test('O-08 the pipeline runs both stages', async () => {
    expect(lastJson(await runExample('two-stage-pipeline'))).toMatchObject([
      { cleaned_data: {}, summary: {} },
      { statistics: {}, insights: [1, 2, 3] },
    ]);
  });

  test('U-54 the pipeline with a model: it is told the task, and what the first stage gave', async () => {
    await using server = await OpenAIServer.start(model);
    const stdout = await runExample('two-stage-pipeline', { environment: server.environment });
    expect(lastJson(stdout)).toMatchObject([
      { summary: { kept: 3 } },
      { statistics: { mean: 21.6 }, insights: ['3 values'] },
    ]);
    const [first = '', again = '', second = ''] = server.requests.map(question);
    expect(first).toContain('Clean and prepare data for analysis');
    expect(first).toContain('Data preprocessing stage');
    expect(first).toContain('- Handle missing values and outliers');
    expect(first).toContain('results["cleaned_data"]: pandas.DataFrame');
    expect(first).toContain('temperatures');
    expect(first).not.toContain('PREVIOUS ERRORS');
    expect(again).toContain('PREVIOUS ERRORS TO AVOID');
    expect(again).toContain('TypeError');
    expect(second).toContain('preprocessing_results');
  });
});

/** Fails at first: it forgets that a value is missing. */
function model(request: ChatRequest): Reply {
  const asked = question(request);
  const isSecond = asked.includes('Perform statistical analysis');
  if (isSecond) return { text: `\`\`\`python\n${SECOND}\n\`\`\`` };
  return { text: asked.includes('PREVIOUS ERRORS') ? FIRST : FIRST.replace('if t is not None and t', 'if t') };
}

const FIRST = `import pandas as pd
temperatures = [t for t in context.SENSORS.hall.temperatures if t is not None and t < 50]
results = {"cleaned_data": pd.DataFrame({"t": temperatures}), "summary": {"kept": len(temperatures)}}`;

const SECOND = `kept = context.preprocessing_results.cleaned_data["t"]
results = {"statistics": {"mean": round(sum(kept) / len(kept), 2)}, "insights": [f"{len(kept)} values"]}`;

describe('as graphs', () => {
  let host: Host;
  let directory: string;
  let service: PythonExecutorService;
  beforeAll(async () => {
    host = await createHost();
    directory = mkdtempSync(path.join(tmpdir(), 'example-'));
    const environment = {
      EXAMPLE_MOCK_BEHAVIOR: 'channel_write',
      EXAMPLE_STORAGE: path.join(directory, 'service.sqlite'),
    };
    const config = await loadConfiguration({ path: path.join(EXAMPLES, 'config.yml'), environment });
    service = await startPythonExecutor({ config, host, baseDir: directory });
    getRegistry().registerService('python_executor', service);
  });
  afterAll(async () => {
    getRegistry().unregisterService('python_executor');
    await service.close();
    await host.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('O-34 O-35 the capability hears of a decision through the state, and forgets it when it was used', async () => {
    const agent = buildAgent();
    const conversation = { configurable: { thread_id: 'state' } };
    const key = { ...QUESTION, step: { ...QUESTION.step, context_key: 'by_state' } };
    await agent.invoke(key, conversation);
    const [pending] = await service.approvals.list({ status: 'pending' });
    const { resume_payload: approved_payload = {} } = (pending?.payload ?? {}) as {
      readonly resume_payload?: Readonly<Record<string, unknown>>;
    };
    const state = await agent.invoke({ approval_approved: true, approved_payload }, conversation);
    expect(state).toMatchObject({ approval_approved: null, approved_payload: null });
    expect(Object.keys(state.capability_context_data)).toEqual(['ARCHIVER_DATA', 'ANALYSIS_RESULTS']);
    expect((await service.approvals.get(pending?.id ?? '')).run).toMatchObject({ status: 'finished' });
  });

  test('the capability hears of a rejection through the state', async () => {
    const agent = buildAgent();
    const conversation = { configurable: { thread_id: 'rejected' } };
    await agent.invoke({ ...QUESTION, step: { ...QUESTION.step, context_key: 'no' } }, conversation);
    await expect(
      agent.invoke({ approval_approved: false, approved_payload: null }, conversation),
    ).rejects.toMatchObject({
      name: 'ExecutionRejectedError',
    });
  });

  test('both stages of the pipeline are asked about, one after the other', async () => {
    const pipeline = buildPipeline();
    const conversation = { configurable: { thread_id: 'pipeline' } };
    await pipeline.invoke({ data_context: DATA }, conversation);
    const approve = new Command<unknown, Record<string, unknown>, never>({ resume: { approved: true } });
    await pipeline.invoke(approve, conversation);
    const { results } = await pipeline.invoke(approve, conversation);
    expect(results).toMatchObject([{ summary: {} }, { insights: [1, 2, 3] }]);
    const runs = (await service.approvals.list({ limit: 100 })).filter(({ threadId }) => threadId.includes('stage'));
    expect(runs.map(({ run }) => run?.status)).toEqual(['finished', 'finished']);
  });

  test('O-09 the rule that chooses an environment', () => {
    const choose = (request: object): string =>
      new FlexiblePythonExecution().selectExecutionEnvironment({ task_objective: 't', ...request });
    expect(choose({})).toBe('local');
    expect(choose({ estimated_time: 300 })).toBe('local');
    expect(choose({ estimated_time: 301 })).toBe('container');
    expect(choose({ security_level: 'high' })).toBe('container');
    expect(choose({ requires_isolation: true })).toBe('container');
    expect(choose({ has_special_dependencies: true })).toBe('container');
  });

  test('the configuration of the examples writes out what the reference has, and is loaded as it is written', async () => {
    const written = readFileSync(path.join(EXAMPLES, 'config.yml'), 'utf8');
    const withLocal = written.replace(/^( +)# (local:)\n\1# {3}(?=python_env_path)/m, '$1$2\n$1  ');
    expect(parseYaml(withLocal)).toMatchObject({
      framework: {
        python_executor: { max_generation_retries: 3, max_execution_retries: 3, execution_timeout_seconds: 600 },
        execution: {
          modes: {
            read_only: { kernel_name: 'python3-epics-readonly', allows_writes: false, requires_approval: false },
            write_access: { kernel_name: 'python3-epics-write', allows_writes: true, requires_approval: true },
          },
          container: { jupyter_host: 'localhost', jupyter_port: '${EXAMPLE_JUPYTER_PORT:-8888}' },
          local: { python_env_path: '${LOCAL_PYTHON_VENV}' },
        },
      },
      approval: {
        global_mode: 'selective',
        capabilities: { python_execution: { enabled: true, mode: 'epics_writes' } },
      },
    });
    const { framework, approval } = await loadConfiguration({
      text: withLocal,
      environment: { LOCAL_PYTHON_VENV: '/opt/venv' },
    });
    expect(framework.execution.local.python_env_path).toBe('/opt/venv');
    expect(framework.execution.container.jupyter_port).toBe(8888);
    expect(framework.execution.modes.read_only.kernel_name).toBe('python3-epics-readonly');
    expect(approval.capabilities.python_execution).toMatchObject({ enabled: true, mode: 'epics_writes' });
  });
});
