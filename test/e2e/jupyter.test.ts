/** Sessions on a real Jupyter server that the tests start themselves. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { Limits } from '../../src/config.ts';
import type { Engine, EngineSession, OpenOptions } from '../../src/engine/engine.ts';
import { startJupyterEngine } from '../../src/engine/jupyter/engine.ts';
import { createHost } from '../../src/host/local/local-host.ts';
import { forModel } from '../../src/text/for-model.ts';
import { installJupyter, TestJupyterServer } from '../support/jupyter-server.ts';
import { startProxy } from '../support/proxy.ts';
import { Subject } from './engine/laboratory.ts';

const LIMITS = Limits.parse({ timeoutMs: 30_000, graceMs: 300 });
const installation = await installJupyter();
const python = 'python' in installation ? installation.python : '';

test('the server of compose.jupyter.yaml wants a token, listens to this machine alone and is not root', async () => {
  const file = path.join(import.meta.dirname, '..', '..', 'compose.jupyter.yaml');
  const { jupyter } = (parseYaml(await readFile(file, 'utf8')) as { services: Record<string, object> }).services;
  expect(jupyter).toMatchObject({
    environment: { JUPYTER_TOKEN: expect.stringMatching(/^\$\{JUPYTER_TOKEN:\?/u) as string },
    ports: [expect.stringMatching(/^127\.0\.0\.1:/u)],
    user: '1000:100',
  });
  expect(JSON.stringify(jupyter)).not.toMatch(/xsrf|allow.root|token=/iu);
});

test.runIf('problem' in installation)('a Jupyter server can be installed', (context) => {
  const reason = 'problem' in installation ? installation.problem : '';
  if (process.env['CI'] !== 'true') context.skip(`THE JUPYTER ENGINE IS NOT TESTED: ${reason}`);
  expect.fail(reason);
});

describe.runIf('python' in installation)('On a Jupyter server', () => {
  let server: TestJupyterServer;
  let engine: Engine;
  let subject: Subject<EngineSession>;
  beforeAll(async () => {
    server = await TestJupyterServer.start(python);
    engine = await startJupyterEngine(server.access);
    subject = await openOn(engine);
  });
  afterAll(async () => {
    await engine?.close();
    await server?.close();
  });

  test('magics and shell lines of notebooks work', async () => {
    const { logs } = await subject.run('!echo from the shell\n%alias_magic t timeit');
    expect(logs.stdout).toContain('from the shell');
  });

  test('input for a run is refused, and the kernel keeps its own', async () => {
    await expect(subject.run('input()', { stdin: 'x' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect((await subject.run('input()')).error?.name).toBe('StdinNotImplementedError');
  });

  test('a model reads the content of displays, and no frames or paths of libraries', async () => {
    const shown = await subject.run(
      'from IPython.display import Markdown, JSON\nprint("first")\ndisplay(Markdown("**bold**"))\ndisplay(JSON({"a": 1}))\nprint("last")',
    );
    expect(forModel(shown)).toMatch(/^first\n\*\*bold\*\*\n\{"a": ?1\}\nlast(?:\n|$)/u);
    const text = forModel(await subject.run('import json\njson.loads("{")'));
    expect(text).toMatch(/json\.loads\("\{"\)\n\n {2}… 3 frames in json\n\nJSONDecodeError: /u);
    expect(text).not.toMatch(/\/lib\/|site-packages/u);
  });

  test('the names of our modules are not in the way of the program', async () => {
    await subject.run("open('cell.py', 'w').write('mine = 1')\nimport cell");
    expect(await subject.evaluate('cell.mine')).toBe('1');
    const { error } = await subject.run('import encode');
    expect(error?.name).toBe('ModuleNotFoundError');
  });

  test('a notebook that asks for inline figures gets each once', async () => {
    const { results } = await subject.run(
      "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('inline');",
    );
    expect(results).toMatchObject([{ kind: 'figure', title: 'inline' }]);
  });

  test('output of a thread that outlives its run is counted, and belongs to no run', async () => {
    await subject.run(
      "import threading\ngo, done = threading.Event(), threading.Event()\ndef late():\n    go.wait(); print('late', flush=True); done.set()\nthreading.Thread(target=late).start()",
    );
    const { logs } = await subject.run("go.set(); done.wait(); print('mine')");
    expect(logs.stdout.replaceAll('late\n', '')).toBe('mine\n');
  });

  test('a program after which nobody can say what became of its variables is a crash, not a success', async () => {
    await using broken = await openOn(engine);
    const { outcome } = await broken.run(
      "x = 1\nimport sys\nsys.modules['_vivarium.jupyter.companion']._companion.finish = lambda *_: 1 / 0",
    );
    expect(outcome).toMatchObject({
      status: 'crashed',
      reason: expect.stringMatching(/could not say what became of its variables: ZeroDivisionError/u) as string,
    });
    expect(await broken.evaluate('1 + 1')).toBe('2');
  });

  test('a program that breaks our side in the kernel costs it its state, and the next run works', async () => {
    await using broken = await openOn(engine);
    const { outcome, state } = await broken.run("import sys; sys.modules.pop('_vivarium.jupyter.companion')");
    expect(outcome.status).toBe('crashed');
    expect(state.status).toBe('lost');
    expect(await broken.evaluate('1 + 1')).toBe('2');
  });

  test('a program that forges messages of a wrong shape loses its kernel', async () => {
    await using forger = await openOn(engine);
    const { outcome, state } = await forger.run(
      "kernel = get_ipython().kernel\nkernel.session.send(kernel.iopub_socket, 'stream', {'name': 'stdout', 'text': 5})",
    );
    expect(outcome).toMatchObject({ status: 'crashed', reason: expect.stringContaining('protocol') as string });
    expect(state.status).toBe('lost');
    expect(await forger.evaluate('1 + 1')).toBe('2');
  });

  test('a kernel that dies between runs is replaced, and the next result says so', async () => {
    await using quiet = await TestJupyterServer.start(python);
    await using own = await startJupyterEngine(quiet.access);
    await using mortal = await openOn(own);
    process.kill(Number(await mortal.evaluate("__import__('os').getpid()")), 'SIGKILL');
    await expect.poll(() => connectionsOf(quiet), { timeout: 15_000 }).toBe(0);
    expect((await mortal.run('1')).state).toMatchObject({ status: 'lost', generation: 2 });
    expect((await mortal.run('1')).state).toMatchObject({ status: 'preserved', generation: 2 });
  });

  test('a connection that breaks off between runs costs nothing', async () => {
    await using quiet = await TestJupyterServer.start(python);
    const proxy = await startProxy(quiet.access.url);
    await using own = await startJupyterEngine({ ...quiet.access, url: proxy.url });
    await using distant = await openOn(own);
    await distant.run('value = 42');
    const noticed = closingOfSocket();
    proxy.cut();
    await noticed; // a run that is sent before that is lost on its way, and said to be
    await expect.poll(() => connectionsOf(quiet), { timeout: 15_000 }).toBe(0);
    const { results, state } = await distant.run('value');
    expect(results[0]?.data['text/plain']).toBe('42');
    expect(state).toMatchObject({ status: 'preserved', generation: 1 });
  });

  test('a connection that breaks off during a run ends it, and the kernel does not run on', async () => {
    const proxy = await startProxy(server.access.url);
    await using remote = await startJupyterEngine({ url: proxy.url, token: server.access.token });
    await using distant = await openOn(remote);
    const events = distant.stream("print('begun', flush=True)\nimport time\ntime.sleep(60)");
    expect((await events.next()).value).toMatchObject({ type: 'output' });
    proxy.cut();
    const last = await events.next();
    expect(last.value).toMatchObject({
      type: 'done',
      summary: {
        outcome: { status: 'crashed', cause: 'connection', reason: expect.stringContaining('connection') as string },
        state: { status: 'lost' },
      },
    });
    expect(await distant.evaluate('1 + 1')).toBe('2');
  });

  test('a host on a Jupyter server keeps what runs write, with its hash', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-jupyter-host-'));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(dataDir, { recursive: true }));
    const jupyter = server.access;
    const host = stack.use(await createHost({ dataDir, engine: { jupyter }, initCode: 'ready = 1' }));
    const session = await host.createSession();
    await session.files.upload('in.txt', 'first');
    const { files, value } = await session.runCode(
      "text = open('in.txt').read()\nopen('out.txt', 'w').write(text)\nopen('in.txt', 'a').write('!')",
      { resultVariable: 'ready' },
    );
    expect(value).toBe(1);
    expect(files).toMatchObject([
      { path: 'in.txt', change: 'changed', sizeBytes: 6, mime: 'text/plain' },
      {
        path: 'out.txt',
        change: 'created',
        sizeBytes: 5,
        sha256: 'a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e',
      },
    ]);
    expect(String(await buffer(await host.artifacts.open(files[1]?.id ?? '')))).toBe('first');
    expect(String(await buffer(await session.files.download('in.txt')))).toBe('first!');
    await session.files.remove('in.txt');
    expect((await session.files.list()).files.map((file) => file.path)).toEqual(['out.txt']);
    expect((await session.info()).workspace).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/contents\/vivarium-[0-9a-f]+$/u);
  });

  test('a directory of too many files is listed in part, and runs go on', async () => {
    await using writer = await openOn(engine);
    await writer.run("for number in range(10_050): open(f'{number}.txt', 'w').close()");
    const { files, cut } = await writer.session.workspace.list();
    expect([files.length, cut]).toEqual([10_000, 'entries']);
    await writer.run('import shutil, os; shutil.rmtree(os.getcwd())');
    expect((await writer.session.workspace.list()).files).toEqual([]);
  });

  test('nothing is left of sessions that were closed, failed to open, or were open when the engine closed', async () => {
    await using quiet = await TestJupyterServer.start(python);
    const own = await startJupyterEngine(quiet.access);
    const closed = await openOn(own);
    await closed.run("open('.hidden', 'w').close(); import os; os.makedirs('a/b'); open('a/b/c', 'w').close()");
    await closed.session.close();
    await expect(openOn(own, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' });
    const left = await openOn(own);
    await left.run("open('left.txt', 'w').close()");
    expect([await quiet.get('kernels'), await sessionsIn(quiet)]).toMatchObject([[{}], [expect.any(String)]]);
    await own.close();
    await own.close();
    expect([await quiet.get('kernels'), await sessionsIn(quiet)]).toEqual([[], []]);
    await expect(openOn(own)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  // Two kernels are started and one is waited for: on a busy machine that takes a while.
  test('files of a kernel that cannot tidy up any more are removed all the same', { timeout: 180_000 }, async () => {
    await using quiet = await TestJupyterServer.start(python);
    await using own = await startJupyterEngine(quiet.access);
    const stuck = await openOn(own);
    await stuck.run("import os; os.makedirs('a/b'); open('a/b/.c', 'w').close()");
    const forever = 'import time\nwhile True:\n    try: time.sleep(9)\n    except KeyboardInterrupt: pass';
    await stuck.run(forever, { timeoutMs: 200 });
    expect(await sessionsIn(quiet)).toHaveLength(1);
    await stuck.session.close();
    expect(await sessionsIn(quiet)).toEqual([]);
  });

  test('output that the server drops above its rate limit is missed, and said', async () => {
    await using limited = await TestJupyterServer.start(python, { hasRateLimits: true });
    await using own = await startJupyterEngine(limited.access);
    await using printer = await openOn(own);
    const execution = await printer.run("print('x' * 5_000_000)\nkept = 1\n1 / 0");
    expect(execution.truncated?.dropped).toContain('rate limit');
    expect(execution.error?.name).toBe('ZeroDivisionError');
    expect(execution.state.variables.added).toEqual(['kept']);
    expect(forModel(execution)).toContain('output is missing');
  });

  test('a server that is gone ends the run, and says so from then on', async () => {
    const doomed = await TestJupyterServer.start(python);
    onTestFinished(() => doomed.close());
    await using own = await startJupyterEngine(doomed.access);
    const bereft = await openOn(own);
    const events = bereft.stream("print('begun', flush=True)\nimport time\ntime.sleep(60)");
    await events.next();
    await doomed.kill();
    expect((await events.next()).value).toMatchObject({
      summary: { outcome: { status: 'crashed' }, state: { status: 'lost' } },
    });
    await expect(bereft.run('1')).rejects.toMatchObject({
      code: 'JUPYTER_UNREACHABLE',
      message: expect.stringContaining(new URL(doomed.access.url).host) as string,
    });
    await bereft.session.close();
  });

  test('a server without a token works, which the isolation names; of several kernels the first that it has is used', async () => {
    await using open = await TestJupyterServer.start(python, { hasToken: false });
    await using own = await startJupyterEngine({ url: open.access.url, kernelName: ['fortran', 'python3'] });
    expect(own.kernelName).toBe('python3');
    expect(own.isolation.missing).toContainEqual(
      expect.stringMatching(/^token: .*does not ask for a token/u) as string,
    );
    expect(engine.isolation.missing.join()).not.toContain('token:');
    await using guest = await openOn(own);
    expect((await guest.run('print(6 * 7)')).logs.stdout).toBe('42\n');
    await expect(startJupyterEngine({ url: server.access.url })).rejects.toMatchObject({
      code: 'JUPYTER_REFUSED',
      message: expect.stringContaining('asks for a token, and none was given (HTTP 403)') as string,
    });
  });

  test('what cannot work is refused at the start, each with its reason', async () => {
    const start = (options: object): Promise<unknown> => startJupyterEngine({ ...server.access, ...options });
    const refusal = (code: string, words: RegExp): object => ({
      code,
      message: expect.stringMatching(words) as string,
    });
    await expect(start({ token: 'wrong' })).rejects.toMatchObject(refusal('JUPYTER_REFUSED', /refuses the token/u));
    await expect(start({ kernelName: 'fortran' })).rejects.toMatchObject(
      refusal('CONFIG_INVALID', /no Python kernel "fortran".*python3/u),
    );
    const free = await freePort();
    const nobody = refusal(
      'JUPYTER_UNREACHABLE',
      new RegExp(`127\\.0\\.0\\.1:${free}.*ECONNREFUSED.*curl http://127`, 'u'),
    );
    await expect(start({ url: `http://127.0.0.1:${free}` })).rejects.toMatchObject(nobody);
    await expect(start({ url: `${server.access.url}/?token=secret` })).rejects.toMatchObject(
      refusal('CONFIG_INVALID', /token/u),
    );
    await expect(start({ url: 'ftp://host' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(start({ token: '' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const mount = { source: '/tmp', target: '/data', writable: false };
    await expect(openOn(engine, { mounts: [mount] })).rejects.toMatchObject(refusal('CONFIG_INVALID', /mounts/u));
  });
});

/** The directories of sessions; the server itself may leave an empty one for its checkpoints. */
async function sessionsIn(server: TestJupyterServer): Promise<string[]> {
  return (await readdir(server.root)).filter((name) => name.startsWith('vivarium-'));
}

/** How many clients the server sees at its kernels. */
async function connectionsOf(server: TestJupyterServer): Promise<number> {
  const kernels = (await server.get('kernels')) as { connections: number }[];
  return kernels.reduce((sum, { connections }) => sum + connections, 0);
}

async function openOn(engine: Engine, options: Partial<OpenOptions> = {}): Promise<Subject<EngineSession>> {
  const fixed = {
    id: 'subject',
    limits: LIMITS,
    mounts: [],
    network: false,
    readOnly: false,
    env: {},
    twins: true,
  };
  return new Subject(await engine.open({ ...fixed, ...options }), LIMITS);
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  return port;
}

/** Resolves when a WebSocket of this process has closed, and its owner was told. */
function closingOfSocket(): Promise<void> {
  return new Promise((resolve) => {
    const channel = 'undici:websocket:close';
    const hear = (): void => {
      unsubscribe(channel, hear);
      setImmediate(resolve);
    };
    subscribe(channel, hear);
  });
}
