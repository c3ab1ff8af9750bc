/** A program that closes nothing ends by itself when its last line has run, and leaves nothing behind. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { OpenAIServer, toolResults } from '../../support/openai-server.ts';
import { askForPostgres, createDatabase } from '../../support/postgres/postgres.ts';
import { runProgram, type Ended } from './program.ts';

/** About a second on a quiet machine. */
const SOON_MS = 3000;

function expectCleanEnd({ code, stdout, stderr, lingeredMs, leftovers }: Ended): void {
  expect({ code, stderr, leftovers }).toEqual({ code: 0, stderr: '', leftovers: [] });
  expect(stdout).toMatch(/^end$/m);
  expect(lingeredMs).toBeLessThan(SOON_MS);
}

const HOST = "import { createHost } from 'vivarium';\nconst host = await createHost();\n";

const PROGRAMS = {
  'a host alone': HOST,
  'a session': `${HOST}
    const session = await host.createSession();
    await session.runCode('x = 1');`,
  'a session that is being closed': `${HOST}
    const session = await host.createSession();
    await session.runCode('x = 1');
    void session.close();`,
  'a run of its own': `${HOST}await host.runOnce('x = 1');`,
  'an interpreter that was killed': `${HOST}await host.runCode('import os; os.kill(os.getpid(), 9)');`,
  'a program that goes on in the background': `${HOST}
    await host.runCode('import subprocess; subprocess.Popen(["sleep", "60"])');`,
  'a stream that nobody reads to its end': `${HOST}
    const session = await host.createSession();
    const events = session.stream('print(1)\\nprint(2)', { timeoutMs: 2000 });
    await events.next();`,
  'the toolset': `import { PythonInterpreterToolSet } from 'vivarium/tools';
    const tools = new PythonInterpreterToolSet({ name: 'python' });
    await tools.run_python_code('x = 1');
    await tools.manage_interpreters({ operation: 'create' });`,
  'the one-shot tool': `import { CodeInterpreterTool } from 'vivarium/tools';
    await new CodeInterpreterTool().run({ code: 'open("a.txt", "w").write("1")' });`,
  'the IPython action': `import { IPythonInterpreter } from 'vivarium/tools';
    await new IPythonInterpreter().run('1 + 1');`,
} as const;

test.for(Object.entries(PROGRAMS))('a program with %s that closes nothing ends by itself', async ([, code]) => {
  const ended = await runProgram(`${code}\nconsole.log('end');`);
  expect(ended.code).toBe(0);
  expectCleanEnd(ended);
});

test('everything that a program waits for keeps it alive', async () => {
  const ended = await runProgram(`${HOST}
    const session = await host.createSession();
    console.log((await session.runCode('import time; time.sleep(0.5); x = 1; 7 * 6')).results[0].data['text/plain']);
    await Promise.all([session.runCode('x = 2'), session.runCode('x = 3')]); // one waits for the other
    await session.rollback();
    console.log((await session.inspect()).length > 0);
    await session.files.upload('a.txt', 'hello');
    console.log((await session.files.list()).files.length);
    await session.runCode('import pandas as pd; t = pd.DataFrame({"a": [1]})');
    console.log((await session.exportTable('t')).name);
    await session.setVariables({ y: 5 });
    await session.reset();
    const running = session.runCode('import time; time.sleep(60)');
    await new Promise((resolve) => setTimeout(resolve, 200));
    await session.interrupt();
    console.log((await running).outcome.status);
    for await (const event of session.stream('print(1)')) console.log(event.type);
    const { outcome } = await session.runCode('while True: pass', { timeoutMs: 300 });
    console.log(outcome.status);
    await session.close();
    console.log('end');`);
  expectCleanEnd(ended);
  const lines = ['42', 'true', '1', 't.csv', 'cancelled', 'output', 'done', 'timed-out', 'end'];
  expect(ended.stdout.trim().split('\n')).toEqual(lines);
});

test('a run that the last line begins is finished first', async () => {
  const ended = await runProgram(`${HOST}
    const session = await host.createSession();
    console.log('end');
    void session.runCode('import time; time.sleep(1); 6 * 7').then(({ results }) => console.log(results[0].data));`);
  expect(ended).toMatchObject({ code: 0, stderr: '', leftovers: [] });
  expect(ended.stdout).toContain('42');
});

test('copies of large files are made before the process ends', async () => {
  const ended = await runProgram(`${HOST}
    const { files } = await host.runOnce('open("big", "wb").write(bytes(60 << 20))');
    console.log('id', files[0].id);
    console.log('end');`);
  expect(ended).toMatchObject({ code: 0, stderr: '', leftovers: [] });
  const [, id = ''] = /^id (.+)$/m.exec(ended.stdout) ?? [];
  const again = await runProgram(
    `import { createHost } from 'vivarium';
    const host = await createHost({ dataDir: process.env.EARLIER });
    console.log((await host.artifacts.get('${id}')).sizeBytes);
    console.log('end');`,
    { env: { EARLIER: path.join(ended.directory, 'data') } },
  );
  expect(again.stdout).toContain(String(60 << 20));
});

test('a program that waits for what never comes ends as Node ends it, and leaves nothing', async () => {
  const ended = await runProgram(`${HOST}
    await host.runCode('x = 1');
    console.log('end');
    await new Promise(() => {});`);
  expect(ended).toMatchObject({ code: 13, leftovers: [] });
});

test('a program that is ended by an error leaves no process', async () => {
  const ended = await runProgram(`${HOST}
    await host.runCode('x = 1');
    console.log('end');
    throw new Error('as expected');`);
  expect(ended.code).toBe(1); // the next start removes its directories and control groups
  expect(ended.leftovers.filter((name) => name.startsWith('process'))).toEqual([]);
});

test('an agent and its tools', async () => {
  await using server = await OpenAIServer.start((request) =>
    toolResults(request).length === 0
      ? { calls: [{ name: 'run_python_code', arguments: { code: 'print(6 * 7)' } }] }
      : { text: `It is ${toolResults(request)[0]}` },
  );
  const ended = await runProgram(
    `import { Agent } from 'vivarium/agent';
    import { PythonInterpreterToolSet } from 'vivarium/tools';
    const agent = new Agent({ name: 'a', instructions: 'Calculate.' });
    await agent.toolset(new PythonInterpreterToolSet({ name: 'python' }));
    console.log(await agent.run('How much?'));
    console.log('end');`,
    { env: server.environment },
  );
  expectCleanEnd(ended);
  expect(ended.stdout).toContain('It is 42');
});

test('a tool that never answers is given up after its time', async () => {
  await using server = await OpenAIServer.start((request) =>
    toolResults(request).length === 0 ? { calls: [{ name: 'wait', arguments: {} }] } : { text: 'given up' },
  );
  const ended = await runProgram(
    `import { Agent, tool } from 'vivarium/agent';
    import { z } from '${import.meta.resolve('zod')}';
    const wait = tool({ name: 'wait', description: 'Waits.', parameters: z.object({}), run: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))) });
    const agent = new Agent({ name: 'a', instructions: 'Wait.', toolTimeoutMs: 500 });
    await agent.toolset({ tools: () => [wait] });
    console.log(await agent.run('Wait'));
    console.log('end');`,
    { env: server.environment },
  );
  expectCleanEnd(ended);
  expect(ended.stdout).toContain('given up');
});

const SERVICE = `
  import { loadConfiguration, startPythonExecutor } from 'vivarium/service';
  const config = await loadConfiguration({ text: process.env.SERVICE_CONFIG, environment: process.env });
  const service = await startPythonExecutor({ config });
  const thread = { configurable: { thread_id: 't', checkpoint_ns: 'python_executor' } };
  const request = { user_query: 'q', task_objective: 'o', expected_results: {}, execution_folder_name: 'f' };
  const settled = await service.run(request, thread);
  console.log(settled.status);
  console.log('end');`;

const answer = await askForPostgres();

test.for(['SQLite', 'PostgreSQL'])('the execution service on %s', async (name, { skip }) => {
  if (name === 'PostgreSQL' && 'missing' in answer) skip(answer.missing);
  const url = name === 'PostgreSQL' && 'url' in answer ? await createDatabase(answer.url) : undefined;
  const config = {
    framework: { execution: { execution_method: 'local', code_generator: 'mock' } },
    approval: { global_mode: 'disabled' },
    ...(url && { langgraph: { storage_url: url } }),
  };
  const ended = await runProgram(SERVICE, { env: { SERVICE_CONFIG: JSON.stringify(config) } });
  expectCleanEnd(ended);
  expect(ended.stdout).toContain('completed');
  if (url !== undefined) return;
  const database = path.join(ended.directory, 'data', 'vivarium.sqlite');
  expect(readFileSync(database).length).toBeGreaterThan(0);
  expect(existsSync(`${database}-wal`)).toBe(false); // it was closed
});
