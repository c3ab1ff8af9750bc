/** Tools, agents and the service with `VIVARIUM_URL`: nothing else is different. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Agent } from '../../../src/agent.ts';
import { connect, createHost, type Host } from '../../../src/index.ts';
import { KeyStore } from '../../../src/server/access/keys.ts';
import type { Server } from '../../../src/server/server.ts';
import { startPythonExecutor } from '../../../src/service.ts';
import {
  CodeInterpreterTool,
  type CodeInterpreterPayload,
  IPythonInterpreter,
  PythonInterpreterToolSet,
  PythonREPLTool,
} from '../../../src/tools.ts';
import { openTestServer, startTestServer } from '../../support/remote-server.ts';
import { inSession, script } from '../agent/laboratory.ts';
import { thread } from '../service/laboratory-settings.ts';

const WHERE = "import os; print('on the', os.environ['WHERE'])";

let server: Server;
let host: Host;
beforeAll(async () => {
  server = await openTestServer({ settings: { env: { WHERE: 'server' } } });
  vi.stubEnv('VIVARIUM_URL', server.url);
  host = await connect(server.url);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await host?.close();
  await server?.close();
});

describe('createHost', () => {
  test('leads to the server that the environment or an option names', async () => {
    await using implied = await createHost();
    await using named = await createHost({ url: server.url });
    for (const one of [implied, named]) expect((await one.runOnce(WHERE)).logs.stdout).toBe('on the server\n');
  });

  test('refuses options of a host of this machine beside an address, wherever that comes from', async () => {
    const refusal = { code: 'CONFIG_INVALID', message: expect.stringContaining('`poolSize`') as string };
    await expect(createHost({ poolSize: 0 })).rejects.toMatchObject(refusal);
    await expect(createHost({ url: server.url, poolSize: 0 })).rejects.toMatchObject(refusal);
    const isolated = createHost({ url: server.url, isolation: 'none' } as object);
    await expect(isolated).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test('is of this machine if `engine` says so, and a key needs an address', async () => {
    await using own = await createHost({ engine: 'local', preload: [], poolSize: 0 });
    expect((await own.runOnce('import os; "WHERE" in os.environ')).results[0]?.data['text/plain']).toBe('False');
    await expect(createHost({ engine: 'local', key: 'k' } as object)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('a tool of its own', () => {
  test('the toolset keeps variables on the server', async () => {
    await using tools = new PythonInterpreterToolSet({ name: 'python' });
    expect(await tools.runPythonCode(WHERE)).toMatchObject({ stdout: 'on the server\n' });
    await tools.runPythonCode('x = 41');
    expect(await tools.runPythonCode('print(x + 1)')).toMatchObject({ stdout: '42\n' });
  });

  test('the one-shot tool hands over files', async () => {
    const artifactDir = await mkdtemp(path.join(tmpdir(), 'viv-remote-tool-'));
    onTestFinished(() => rm(artifactDir, { recursive: true, force: true }));
    await using tool = new CodeInterpreterTool({ artifactDir });
    const { output } = await tool.run({ code: `${WHERE}\nopen('a.txt', 'w').write('from afar')` });
    const { stdout, files } = JSON.parse(output) as CodeInterpreterPayload;
    expect(stdout).toBe('on the server\n');
    expect(await readFile(files[0]?.path ?? '', 'utf8')).toBe('from afar');
  });

  test('the IPython action and the REPL tool run there', async () => {
    await using action = new IPythonInterpreter();
    expect(JSON.stringify((await action.run(WHERE)).result)).toContain('on the server');
    await using repl = new PythonREPLTool();
    expect((await repl.run({ code: WHERE })).output).toBe('on the server\n');
  });
});

test('an agent runs its code on the server', async () => {
  const { llm, server: model } = await script([inSession(WHERE), { text: 'On the server.' }]);
  await using tools = new PythonInterpreterToolSet({ name: 'python' });
  const agent = new Agent({ name: 'a', model: llm });
  await agent.toolset(tools);
  expect(await agent.run('Where are you?')).toBe('On the server.');
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('on the server');
});

test('the service runs its code on the server, and keeps its records here', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-remote-service-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  // Its usual time limit is ten minutes, which a server allows only if it was started so.
  const patient = await startTestServer({
    ceiling: { limits: { timeoutMs: 600_000 } },
    settings: { limits: { openFiles: 750 } },
  });
  await using service = await startPythonExecutor({
    hostSettings: { url: patient.url },
    config: { text: 'approval: { global_mode: disabled }\n', environment: process.env },
    dataDir,
    baseDir: dataDir,
  });
  const code = `import resource
results = {'hundreds': resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 100}
open('a.txt', 'w').write('x')`;
  const { executionResult } = await service.invoke(
    {
      userQuery: 'Where?',
      taskObjective: 'Where?',
      executionFolderName: 'where',
      expectedResults: { hundreds: 'int' },
      approvedCode: code,
    },
    thread('t'),
  );
  expect(executionResult.results).toEqual({ hundreds: 7 });
  expect(await readFile(executionResult.filePaths[0] ?? '', 'utf8')).toBe('x');
});

test('a time limit that was chosen is not changed: the server refuses it', async () => {
  await using tools = new PythonInterpreterToolSet({ name: 'python', timeout: 601 });
  await expect(tools.runPythonCode('1')).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

test('a tool with the key of a client has the mounts of the server, whose places it does not learn', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-remote-key-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await mkdir(path.join(directory, 'shared'), { mode: 0o755 });
  await writeFile(path.join(directory, 'shared', 'a.txt'), 'shared');
  await chmod(directory, 0o755);
  const { dataDir, secret: key } = await dataDirWithKey();
  const mounts = [{ source: path.join(directory, 'shared'), target: '/data' }];
  const guarded = await startTestServer({ settings: { mounts, dataDir } });
  await expect(connect(guarded.url)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  await using client = await connect(guarded.url, { key });
  expect(client.access.mounts).toEqual([{ source: '', target: '/data', writable: false }]);
  await using repl = new PythonREPLTool({ host: client });
  expect((await repl.run({ code: "print(open('/data/a.txt').read())" })).output).toBe('shared\n');
});

async function dataDirWithKey(): Promise<{ dataDir: string; secret: string }> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-remote-keys-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  using keys = await KeyStore.open(dataDir);
  const { secret } = await keys.add({ name: 'client', role: 'client' });
  return { dataDir, secret };
}

test('closing a tool leaves no session on the server', async () => {
  const before = (await host.listSessions()).length;
  const tools = new PythonInterpreterToolSet({ name: 'python' });
  await tools.runPythonCode('1');
  expect((await host.listSessions()).length).toBe(before + 1);
  await tools[Symbol.asyncDispose]();
  expect((await host.listSessions()).length).toBe(before);
});
