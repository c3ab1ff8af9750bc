/** The guide's snippets as one program, with the guide's config.yml, a stock Jupyter server and a scripted model. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfiguration } from '../../../src/service.ts';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { installJupyter, TestJupyterServer } from '../../support/jupyter-server.ts';
import { OpenAIServer, question, type ChatRequest, type Reply } from '../../support/openai-server.ts';

const SEEDS = path.resolve(import.meta.dirname, '../../../examples/seeds');
/** The guide's port. Nobody else may have it while these tests run. */
const PORT = 8888;

const installation = await installJupyter();
const python = 'python' in installation ? installation.python : '';
const isFree = await portIsFree();
const isRequired = process.env['CI'] === 'true';
if (!isFree)
  process.stderr.write(`THE SEED IS NOT TESTED: something else listens on port ${PORT}, which its config.yml names\n`);

/** It unpickles, which nobody may do unasked. */
const ANALYSIS = `import pickle
import matplotlib.pyplot as plt
temperatures = pickle.loads(pickle.dumps([t for t in context.SENSORS.hall.temperatures if t is not None]))
plt.plot(temperatures)
plt.savefig('hall.png')
results = {
    'statistics': {'mean': round(sum(temperatures) / len(temperatures), 3)},
    'trends': ['rising'],
    'visualizations': ['hall.png'],
}`;
const WHERE = `import os, sys
results = {'python': sys.prefix + ' ' + os.getcwd()}`;
const FIRST = `kept = [t for t in context.SENSORS.hall.temperatures if t is not None and t < 50]
import pandas as pd
results = {'cleaned_data': pd.DataFrame({'t': kept}), 'summary': {'kept': len(kept)}}`;
const SECOND = `kept = context.preprocessing_results.cleaned_data['t']
results = {'statistics': {'mean': round(sum(kept) / len(kept), 2)}, 'insights': [f'{len(kept)} values']}`;

/** Task and code. */
const ANSWERS = [
  ['Analyze data', ANALYSIS],
  ['Say where this runs', WHERE],
  ['Clean and prepare data for analysis', FIRST],
  ['Perform statistical analysis on preprocessed data', SECOND],
] as const;

function model(request: ChatRequest): Reply {
  const asked = question(request);
  const code = ANSWERS.find(([task]) => asked.includes(task))?.[1];
  return code === undefined
    ? { status: 400, message: `no answer to: ${asked}` }
    : { text: `\`\`\`python\n${code}\n\`\`\`` };
}

async function runSeed(environment: Readonly<Record<string, string | undefined>>) {
  const directory = mkdtempSync(path.join(tmpdir(), 'seed-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { JUPYTER_TOKEN: _token, LOCAL_PYTHON_VENV: _venv, ...own } = process.env;
  const child = spawn(process.execPath, [path.join(SEEDS, 'osprey.ts')], {
    cwd: directory,
    env: { ...own, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const told = (what: string): string[] =>
    [...stdout.matchAll(new RegExp(`^${what} (.*)$`, 'gmu'))].map(([, rest = '']) => rest);
  return { stdout, stderr, told, exitCode: child.exitCode };
}

/** As the guide prints it, which has lost its indentation. */
const PRINTED = `# config.yml - Python Execution Configuration
framework:
# Python Executor Service Configuration
python_executor:
max_generation_retries: 3 # Maximum retries for code generation failures
max_execution_retries: 3 # Maximum retries for execution failures
execution_timeout_seconds: 600 # Execution timeout in seconds (default: 10 minutes)
execution:
execution_method: "container" # or "local"
modes:
read_only:
kernel_name: "python3-epics-readonly"
allows_writes: false
requires_approval: false
write_access:
kernel_name: "python3-epics-write"
allows_writes: true
requires_approval: true
# Container execution settings
container:
jupyter_host: "localhost"
jupyter_port: 8888
# Local execution settings
local:
python_env_path: "\${LOCAL_PYTHON_VENV}"
# Approval configuration for Python execution
approval:
global_mode: "selective"
capabilities:
python_execution:
enabled: true
mode: "epics_writes" # disabled, all_code, epics_writes`;

test('the configuration beside the example is that of the guide, line by line', () => {
  const lines = readFileSync(path.join(SEEDS, 'config.yml'), 'utf8').split('\n');
  expect(lines.map((line) => line.trim()).filter((line) => line !== '')).toEqual(PRINTED.split('\n'));
});

test('O-22 to O-32 the configuration of the guide loads as it is printed, without any variable set', async () => {
  const configuration = await loadConfiguration({ path: path.join(SEEDS, 'config.yml'), environment: {} });
  expect(configuration).toMatchObject({
    framework: {
      execution: { execution_method: 'container', container: { jupyter_host: 'localhost', jupyter_port: PORT } },
    },
    approval: { capabilities: { python_execution: { mode: 'epics_writes' } } },
  });
});

describe.runIf(isRequired || (python !== '' && isFree))(
  'with a stock server where config.yml says',
  { timeout: 300_000 },
  () => {
    test('O-01 O-05 O-08 O-09 O-37 every snippet of the guide runs to its end, and the process ends by itself', async () => {
      await using server = await TestJupyterServer.start(python, { port: PORT, hasToken: false });
      await using llm = await OpenAIServer.start(model);
      const sessions = await findEnvironment(defaultDataDir(process.env));
      const prefix = path.resolve(sessions?.python ?? '', '../..');
      const ran = await runSeed({ ...llm.environment, LOCAL_PYTHON_VENV: prefix });
      expect([ran.stderr, ran.exitCode]).toEqual(['', 0]);
      expect(ran.stdout).toContain('**HUMAN APPROVAL REQUIRED**');
      expect(ran.stdout).toContain('pickle.loads(');
      expect(ran.stdout).toContain(
        'The Jupyter server has no kernel "python3-epics-readonly", so the code ran in "python3"',
      );

      const { ANALYSIS_RESULTS } = JSON.parse(ran.told('analysis')[0] ?? '') as Record<
        string,
        Record<string, Analysis>
      >;
      const hall = ANALYSIS_RESULTS?.['hall'];
      expect(hall?.results).toEqual({ statistics: { mean: 41.175 }, trends: ['rising'], visualizations: ['hall.png'] });
      expect(hall?.figure_paths).toHaveLength(1);
      expect(existsSync(hall?.figure_paths[0] ?? '')).toBe(true);
      const [there = '', here = ''] = ran.told('dynamic');
      expect(there).toContain(server.root);
      expect(here).toContain(`${prefix} `);
      expect(ran.told('pipeline')).toEqual(['true {"statistics":{"mean":21.6},"insights":["3 values"]}']);
      expect(await server.get('kernels')).toEqual([]);
    });

    test('O-29 without LOCAL_PYTHON_VENV all that runs on the server runs, and what would run here says what is missing', async () => {
      await using server = await TestJupyterServer.start(python, { port: PORT });
      await using llm = await OpenAIServer.start(model);
      const ran = await runSeed({ ...llm.environment, JUPYTER_TOKEN: server.access.token });
      expect(ran.told('analysis')).toHaveLength(1);
      expect(ran.told('dynamic')).toHaveLength(1);
      expect(ran.stderr).toContain(
        'framework.execution.local.python_env_path: the environment variable LOCAL_PYTHON_VENV',
      );
      expect(ran.exitCode).toBe(1);
    });
  },
);

interface Analysis {
  readonly results: unknown;
  readonly figure_paths: readonly string[];
}

/** Whether nobody answers at the port on this machine. */
async function portIsFree(): Promise<boolean> {
  const socket = connect(PORT, 'localhost');
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true; // refused
  } finally {
    socket.destroy();
  }
}
