/** The execution method `container`: the service's code runs in kernels of a real Jupyter server. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, request as ask } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import {
  handle_service_with_interrupts,
  loadConfiguration,
  startPythonExecutor,
  type ContainerConnectivityError,
  type PythonExecutorService,
} from '../../../src/service.ts';
import { installJupyter, TestJupyterServer } from '../../support/jupyter-server.ts';
import { startProxy } from '../../support/proxy.ts';
import { EPICS } from './laboratory-settings.ts';

const CODE = `
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.title('Trend'); plt.show()
print('from', context.SENSOR.first.name)
import os
results = {'statistics': {'mean': sum(context.SENSOR.first.values) / 2}, 'directory': os.getcwd()}
`;
const REQUEST = {
  user_query: 'How warm was it?',
  task_objective: 'Average the sensor',
  expected_results: { statistics: 'dict' },
  execution_folder_name: 'container',
  capability_context_data: { SENSOR: { first: { name: 'roof', values: [20, 22] } } },
  approved_code: CODE,
};
const config = (thread: string, more = {}): { configurable: Record<string, string> } => ({
  configurable: { thread_id: thread, checkpoint_ns: 'python_executor', ...more },
});

const installation = await installJupyter();
const python = 'python' in installation ? installation.python : '';

let host: Host;
let server: TestJupyterServer | undefined;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'container-'));
  host = await createHost();
  if (python !== '') server = await TestJupyterServer.start(python);
}, 400_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await host.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Start {
  readonly method?: string;
  readonly kernel?: string;
  readonly port?: number;
  readonly approval?: string;
  readonly writes?: boolean;
  readonly records?: string;
  readonly at?: TestJupyterServer | undefined;
  readonly token?: boolean;
}

async function start({
  method = 'container',
  kernel = 'python3',
  port = 0,
  approval = 'selective',
  writes = false,
  records = '_agent_data',
  at = server,
  token: hasToken = true,
}: Start = {}): Promise<PythonExecutorService> {
  const { url, token } = at?.access ?? { url: 'http://127.0.0.1:1', token: 'x' };
  const text = `
framework:
  execution:
    execution_method: "${method}"
    modes:
      read_only: { kernel_name: "${kernel}" }
      write_access: { kernel_name: "${kernel}" }
    container:
      jupyter_host: "127.0.0.1"
      jupyter_port: ${port === 0 ? new URL(url).port : port}
      jupyter_token: "\${TOKEN:-}"
file_paths: { agent_data_dir: "${records}" }
execution_control: { epics: { writes_enabled: ${writes} } }
approval:
  global_mode: "${approval}"
  capabilities: { python_execution: { enabled: true, mode: "epics_writes" } }
`;
  const configuration = await loadConfiguration({ text, environment: hasToken ? { TOKEN: token } : {} });
  const place = mkdtempSync(path.join(directory, 'service-'));
  return startPythonExecutor({ config: configuration, dataDir: path.join(place, 'data'), baseDir: place, host });
}

test('O-42 a server that is not there: host, port and how to check are said, and the same code was tried again', async () => {
  let probes = 0;
  const deaf = createServer((request) => {
    if (request.url === '/api') probes += 1;
    request.socket.destroy();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void deaf.close());
  await once(deaf, 'listening');
  const { port } = deaf.address() as AddressInfo;
  await using hanging = await start({ port });
  const failure = await hanging.invoke({ ...REQUEST, retries: 1 }, config('gone')).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'MaxAttemptsExceededError', operationType: 'execution', maxAttempts: 2 });
  expect(String(failure)).toContain(`\`curl http://127.0.0.1:${port}/api\` must answer with its version`);
  expect((failure as Error).cause).toMatchObject({ name: 'ContainerConnectivityError', host: '127.0.0.1', port });
  expect(probes).toBe(2);
  await using service = await start({ port: 9 });
  const alone = await service.invoke({ ...REQUEST, retries: 0 }, config('gone-again')).catch((error: unknown) => error);
  expect(alone).toMatchObject({
    name: 'ContainerConnectivityError',
    host: '127.0.0.1',
    port: 9,
    category: 'infrastructure',
    message: expect.stringMatching(/No Jupyter server answers at 127\.0\.0\.1:9: .*`curl http:/u) as string,
  });
  expect((alone as ContainerConnectivityError).getUserMessage()).toBe(
    'The Jupyter server at 127.0.0.1:9 cannot be reached. Start it, or set execution_method to "local".',
  );
});

describe.runIf(python !== '')('On a Jupyter server', { timeout: 60_000 }, () => {
  test('O-25 O-28 the same request runs on the server as configured, and its record has the same form', async () => {
    await using service = await start();
    const { executionResult, analysisWarnings } = await service.invoke(REQUEST, config('there'));
    expect(executionResult).toMatchObject({ results: { statistics: { mean: 21 } }, stdout: 'from roof\n' });
    expect(executionResult.results['directory']).toMatch(new RegExp(`^${server?.root}/vivarium-`, 'u'));
    expect(analysisWarnings).toEqual([]);
    expect(readFileSync(fileURLToPath(executionResult.notebookLink), 'utf8')).toContain('Successful Execution');
    expect(executionResult.figurePaths.map((figure) => path.basename(figure))).toEqual(['figure_01.png']);
    expect(existsSync(executionResult.figurePaths[0] ?? '')).toBe(true);
    const metadata: unknown = JSON.parse(
      readFileSync(path.join(executionResult.folderPath, 'execution_metadata.json'), 'utf8'),
    );
    expect(metadata).toMatchObject({ success: true, figure_count: 1, execution_mode: 'read_only' });
    expect(metadata).toMatchObject({ execution_method: 'container', python_env: 'python3' });
  });

  test('the method can be chosen for one request', async () => {
    await using service = await start({ method: 'local' });
    const here = await service.invoke(REQUEST, config('here'));
    const there = await service.invoke(REQUEST, config('elsewhere', { execution_method: 'container' }));
    const inServer = expect.stringMatching(new RegExp(`^${server?.root}/`, 'u')) as string;
    expect(there.executionResult.results['directory']).toEqual(inServer);
    expect(here.executionResult.results['directory']).not.toEqual(inServer);
  });

  test('a kernel that somebody chose and the server does not have is named, with those that it has', async () => {
    await using service = await start({ kernel: 'science' });
    await expect(service.invoke(REQUEST, config('kernel'))).rejects.toMatchObject({
      category: 'configuration',
      message: expect.stringMatching(/no Python kernel "science".*python3/) as string,
    });
  });

  test('O-26 the documented kernel falls back to python3 where it is missing, which result, record and progress say', async () => {
    await using service = await start({ kernel: 'python3-epics-readonly' });
    const note =
      'The Jupyter server has no kernel "python3-epics-readonly", so the code ran in "python3". Install that kernel, or set kernel_name of its mode to "python3".';
    const said: string[] = [];
    for await (const event of service.stream(REQUEST, config('fallback'))) {
      if (event.type === 'status') said.push(event.text);
      if (event.type !== 'settled') continue;
      expect(event).toMatchObject({ status: 'completed', result: { analysisWarnings: [note] } });
    }
    expect(said).toContain(note);
    const lines: string[] = [];
    const logger = { info: (line: string) => void lines.push(line) };
    const call = { service, request: REQUEST, config: config('logged'), logger, capability_name: 'Analysis' };
    const { executionResult } = await handle_service_with_interrupts(call);
    expect(lines).toEqual([`Analysis: ${note}`]);
    const file = path.join(executionResult.folderPath, 'execution_metadata.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ python_env: 'python3' });
  });

  test('O-26 a server that has the documented kernel runs the code in it, and nothing is said', async () => {
    await using own = await TestJupyterServer.start(python, { kernels: ['python3-epics-readonly'] });
    await using service = await start({ kernel: 'python3-epics-readonly', at: own });
    const { executionResult, analysisWarnings } = await service.invoke(REQUEST, config('own-kernel'));
    expect(analysisWarnings).toEqual([]);
    const file = path.join(executionResult.folderPath, 'execution_metadata.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ python_env: 'python3-epics-readonly' });
  });

  test('a server without a token needs none, and one with a token says that it is missing', async () => {
    await using open = await TestJupyterServer.start(python, { hasToken: false });
    await using service = await start({ at: open, token: false });
    const { executionResult } = await service.invoke(REQUEST, config('open'));
    expect(executionResult.results).toMatchObject({ statistics: { mean: 21 } });
    expect(executionResult.figurePaths).toHaveLength(1);
    await using refused = await start({ token: false });
    await expect(refused.invoke({ ...REQUEST, retries: 0 }, config('closed'))).rejects.toMatchObject({
      name: 'ContainerConfigurationError',
      message: expect.stringMatching(/asks for a token, and none was given.*jupyter server list/u) as string,
    });
  });

  /** Acts as a server with JupyterLab, whose pages the real server lacks. */
  async function withLab(): Promise<{ readonly port: number } & AsyncDisposable> {
    const { url } = server?.access ?? { url: '' };
    const lab = createServer((request, response) => {
      if (request.url?.startsWith('/lab/tree/')) return void response.end('<html>');
      const { method, headers } = request;
      const onward = ask(`${url}${request.url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    });
    lab.on('upgrade', (request, near: Socket) => {
      const far = connect(Number(new URL(url).port), '127.0.0.1');
      const lines = [`${request.method} ${request.url} HTTP/1.1`];
      for (let at = 0; at < request.rawHeaders.length; at += 2)
        lines.push(request.rawHeaders.slice(at, at + 2).join(': '));
      far.write(`${lines.join('\r\n')}\r\n\r\n`);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    });
    lab.listen(0, '127.0.0.1');
    await once(lab, 'listening');
    return {
      port: (lab.address() as AddressInfo).port,
      [Symbol.asyncDispose]: async () => {
        lab.close().closeAllConnections();
      },
    };
  }

  /** What the server returns for a link. */
  async function linked(link: string): Promise<string> {
    expect((await fetch(link)).status).toBe(200);
    const { url, token } = server?.access ?? { url: '', token: '' };
    const there = new URL(link).pathname.replace('/lab/tree/', '/files/');
    return (await fetch(`${url}${there}`, { headers: { Authorization: `token ${token}` } })).text();
  }

  test('O-07 O-93 U-71 a server that does not see the records is given the notebook and what it needs', async () => {
    await using lab = await withLab();
    await using service = await start({ port: lab.port });
    const { executionResult } = await service.invoke(REQUEST, config('link'));
    const { notebookLink } = executionResult;
    expect(notebookLink).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/lab\/tree\/executed_scripts\//);
    expect(await linked(notebookLink)).toContain('Successful Execution');
    for (const name of ['context.json', 'results.json', 'figures/figure_01.png']) {
      const beside = await linked(notebookLink.replace('notebook.ipynb', name));
      expect(beside).toBe(readFileSync(path.join(executionResult.folderPath, name), 'utf8'));
    }
  });

  test('O-118 a server whose files the records are is given no copies', async () => {
    await using lab = await withLab();
    await using service = await start({ port: lab.port, records: server?.root ?? '' });
    const { executionResult } = await service.invoke(REQUEST, config('shared'));
    const { notebookLink, folderPath, notebookPath } = executionResult;
    expect(await linked(notebookLink)).toBe(readFileSync(notebookPath, 'utf8'));
    expect(readdirSync(path.join(folderPath, '..', '..')).filter((name) => name.startsWith('is-shared'))).toEqual([]);
    expect(statSync(notebookPath).mode & 0o077).toBe(0); // the mode in which the service wrote it
  });

  /** Counts its runs in the parent directory, and waits in the first run. */
  const counting = (name: string): string => `import time
with open('../${name}', 'a') as journal: journal.write('ran ')
runs = open('../${name}').read()
print('on', flush=True)
if runs == 'ran ': time.sleep(60)
results = {'statistics': {'runs': runs}}`;

  test('U-56 O-125 OB-18 a connection that breaks off is no fault of the code, which runs again as it is', async () => {
    const proxy = await startProxy(server?.access.url ?? '');
    await using service = await start({ port: proxy.port });
    const events = service.stream({ ...REQUEST, approved_code: counting('reading') }, config('broken'));
    let settled: unknown;
    let cuts = 0;
    for await (const event of events) {
      if (event.type === 'output' && (cuts += 1) === 1) proxy.cut();
      if (event.type === 'settled') settled = event;
    }
    expect(settled).toMatchObject({
      result: { retries: { execution: 1 }, executionResult: { results: { statistics: { runs: 'ran ran ' } } } },
    });
  });

  test('OB-06 code that may have written does not run again when the connection breaks off', async () => {
    const proxy = await startProxy(server?.access.url ?? '');
    await using service = await start({ port: proxy.port, approval: 'disabled', writes: true });
    const code = `${EPICS}_w('magnet', 1)\n${counting('writing')}`;
    const events = service.stream({ ...REQUEST, approved_code: code }, config('half'));
    const failure = await (async () => {
      for await (const event of events) if (event.type === 'output') proxy.cut();
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'WorkflowError', stage: 'execution' });
    expect(String(failure)).toMatch(
      /connection to the Jupyter server broke off.*is not known, so it is not run again/s,
    );
  });

  test('O-19 large results and files come back in full', async () => {
    await using service = await start();
    const code = `open('out.csv', 'w').write('x')
results = {'statistics': {'rows': list(range(100_000))}}`;
    const { executionResult } = await service.invoke({ ...REQUEST, approved_code: code }, config('large'));
    expect(executionResult.results).toMatchObject({ statistics: { rows: { length: 100_000 } } });
    expect(executionResult.filePaths.map((file) => path.basename(file))).toEqual(['out.csv']);
  });

  test('the types of results are those of Python there, too: a tuple is no list', async () => {
    await using service = await start();
    const approved = "results = {'statistics': (1, 2)}";
    const request = { ...REQUEST, approved_code: approved, retries: 0, expected_results: { statistics: 'list' } };
    const failure = await service.invoke(request, config('types')).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'ResultsInvalidError',
      message: expect.stringContaining('results["statistics"] is a tuple of int, expected list') as string,
    });
  });

  test('no session is left behind on the server', async () => {
    await using service = await start();
    await service.invoke(REQUEST, config('tidy'));
    const { url, token } = server?.access ?? { url: '', token: '' };
    const kernels = await fetch(`${url}/api/kernels`, { headers: { Authorization: `token ${token}` } });
    expect(await kernels.json()).toEqual([]);
  });

  test('a read-only run is told about writes there, too, also under computed names', async () => {
    await using service = await start({ approval: 'disabled' });
    const code = `import importlib, sys
open('epics.py', 'w').write('def caput(*args): print("WROTE")')
sys.path.insert(0, '')
module = importlib.import_module('scipe'[::-1])
vars(module)['tupac'[::-1]]('magnet', 1)
results = {'statistics': {}}`;
    const failure = await service
      .invoke({ ...REQUEST, approved_code: code }, config('notice'))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'CodeRuntimeError',
      message: expect.stringContaining('WriteRefused') as string,
    });
  });
});
