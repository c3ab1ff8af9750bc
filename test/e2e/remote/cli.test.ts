/** The command line with `--url` and `VIVARIUM_URL`, as a shell sees it. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Host } from '../../../src/index.ts';
import type { Server } from '../../../src/server/server.ts';
import { vivarium } from '../../support/command-line.ts';
import { OpenAIServer } from '../../support/openai-server.ts';
import { openTestServer } from '../../support/remote-server.ts';

const WHERE = "import os; print('on the', os.environ['WHERE'])";

let server: Server;
let host: Host;
beforeAll(async () => {
  server = await openTestServer({
    ceiling: { limits: { timeoutMs: 600_000 } },
    settings: { env: { WHERE: 'server' } },
  });
  host = await connect(server.url);
});
afterAll(async () => {
  await host?.close();
  await server?.close();
});

async function scratch(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-remote-cli-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe('run', () => {
  test('runs a program on the server that a flag or the environment names, and closes its session', async () => {
    const expected = { code: 0, stdout: 'on the server\n', stderr: '' };
    expect(await vivarium(['run', '--url', server.url, '-c', WHERE])).toEqual(expected);
    expect(await vivarium(['run', '-c', WHERE], { env: { VIVARIUM_URL: server.url } })).toEqual(expected);
    expect(await host.listSessions()).toEqual([]);
  });

  test('takes files there and brings files back', async () => {
    const directory = await scratch();
    await writeFile(path.join(directory, 'in.txt'), 'from here');
    const code = "open('out.txt', 'w').write(open('in.txt').read() + ' and back')";
    const [input, out] = [path.join(directory, 'in.txt'), path.join(directory, 'out')];
    const options = ['--file', input, '--output-dir', out];
    expect(await vivarium(['run', '--url', server.url, ...options, '-c', code])).toMatchObject({ code: 0 });
    expect(await readdir(out)).toEqual(['out.txt']);
    expect(await readFile(path.join(out, 'out.txt'), 'utf8')).toBe('from here and back');
  });

  test('ends as a program of this machine does: exit codes, time limits, standard input', async () => {
    const run = ['run', '--url', server.url];
    expect(await vivarium([...run, '-c', 'raise SystemExit(7)'])).toMatchObject({ code: 7 });
    const slow = await vivarium([...run, '--timeout-ms', '300', '-c', 'import time; time.sleep(60)']);
    expect(slow).toMatchObject({ code: 124, stderr: expect.stringContaining('timed out after 300 ms') as string });
    expect(await vivarium([...run, '-c', 'print(input())'], { input: 'said' })).toMatchObject({ stdout: 'said\n' });
    const { stdout } = await vivarium([...run, '--json', '-c', WHERE]);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: 'on the server\n' } });
  });

  test('refuses what is about this machine', async () => {
    const refused = { code: 2, stderr: expect.stringContaining('--isolation') as string };
    expect(await vivarium(['run', '--url', server.url, '--isolation', 'none', '-c', '1'])).toMatchObject(refused);
    const relative = ['run', '--url', server.url, '--mount', '.:/data', '-c', '1'];
    expect(await vivarium(relative)).toMatchObject({ code: 2, stderr: expect.stringContaining('absolute') as string });
  });

  test('says that a server is not there, and where', async () => {
    const { code, stderr } = await vivarium(['run', '--url', 'http://127.0.0.1:9', '-c', '1']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/error: http:\/\/127\.0\.0\.1:9 cannot be reached: .*\nhint: /u);
  });
});

test('exec runs a command there, connected to our streams', async () => {
  const run = vivarium(['exec', '--url', server.url, 'sh', '-c', 'cat; echo $WHERE >&2; exit 3'], { input: 'words' });
  expect(await run).toEqual({ code: 3, stdout: 'words', stderr: 'server\n' });
});

test('repl keeps variables there between cells', async () => {
  const input = 'x = 20\nx + 1\n';
  expect(await vivarium(['repl', '--url', server.url], { input })).toMatchObject({ code: 0, stdout: '21\n' });
});

test('tools describes the libraries of the server', async () => {
  const { code, stdout } = await vivarium(['tools', '--url', server.url]);
  expect(code).toBe(0);
  expect(stdout).toContain(`Python ${host.environment.version}`);
});

test('agent answers with code that ran there', async () => {
  await using model = await OpenAIServer.start([
    { calls: [{ name: 'run_python_code', arguments: { code: WHERE } }] },
    { text: 'On the server.' },
  ]);
  const env = { ...model.environment, VIVARIUM_URL: server.url };
  const { code, stdout, stderr } = await vivarium(['agent', 'Where?', '--output-dir', await scratch()], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'On the server.\n' });
  expect(stderr).toContain('on the server');
  expect(await host.listSessions()).toEqual([]);
});

test('task runs approved code there, and approvals decide about it here', async () => {
  const directory = await scratch();
  const [code, data] = [path.join(directory, 'code.py'), path.join(directory, 'data')];
  await writeFile(code, "results = {'answer': 42}\n");
  const common = ['--data-dir', data];
  const env = { VIVARIUM_URL: server.url };
  const task = ['task', 'The answer', '--code', code, '--expect', 'answer=int', '--json'];
  const waiting = await vivarium([...common, ...task], { env });
  expect(waiting.code).toBe(75);
  const listed = await vivarium([...common, 'approvals', 'list', '--json'], { env });
  const [{ id }] = JSON.parse(listed.stdout) as [{ id: string }];
  const approved = await vivarium([...common, 'approvals', 'approve', id, '--json'], { env });
  expect(approved.code).toBe(0);
  expect(approved.stdout).toContain('"answer": 42');
});
