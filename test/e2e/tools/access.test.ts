/** What of the host the tools open, when they are told to, and what they say about it. */
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import {
  BatchIPythonInterpreter,
  CodeInterpreterTool,
  IPythonInterpreter,
  PythonInterpreterToolSet,
  type Tool,
} from '../../../src/tools.ts';

let host: Host;
let bare: Host;
let shown: string;
beforeAll(async () => {
  [host, bare] = await Promise.all([createHost(), createHost({ isolation: 'none', poolSize: 0, preload: [] })]);
  shown = await mkdtemp(path.join(os.tmpdir(), 'access-'));
  await chmod(shown, 0o755);
  await writeFile(path.join(shown, 'given.txt'), 'given');
});
afterAll(async () => {
  await host?.close();
  await bare?.close();
  await rm(shown, { recursive: true, force: true });
});

interface Opened {
  readonly tool: Tool;
  /** What the code printed. */
  readonly print: (code: string) => Promise<string>;
}

type Options = ConstructorParameters<typeof IPythonInterpreter>[0];

/** The three interfaces, made with the same options. */
const MAKERS: Readonly<Record<string, (options: Options) => Opened>> = {
  PythonInterpreterToolSet: (options) => {
    const toolset = new PythonInterpreterToolSet({ name: 'python', host, workdir: false, ...options });
    onTestFinished(() => toolset.close());
    const [tool] = toolset.tools();
    if (tool === undefined) throw new Error('the toolset has no tools');
    return { tool, print: async (code) => (await toolset.run_python_code(code)).stdout };
  },
  CodeInterpreterTool: (options) => {
    const tool = new CodeInterpreterTool({ host, timeout: 30, ...options });
    const print = async (code: string) => {
      const { output } = await tool.run({ code });
      return (JSON.parse(output) as { stdout: string }).stdout;
    };
    return { tool, print };
  },
  IPythonInterpreter: (options) => {
    const interpreter = new IPythonInterpreter({ host, ...options });
    onTestFinished(() => interpreter.close());
    return { tool: interpreter.toTool(), print: async (code) => (await interpreter.run(code)).formatResult() };
  },
};

/** A server of the host that says hello. */
async function serve(): Promise<string> {
  const server = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const fetching = (url: string): string => `
from urllib.request import urlopen
try:
    print(urlopen(${JSON.stringify(url)}, timeout=5).read().decode())
except OSError:
    print("closed")`;

for (const [name, make] of Object.entries(MAKERS)) {
  test(`X-07 ${name}: the network is closed unless it is opened, and the tool text says which`, async () => {
    const code = fetching(await serve());
    const [closed, opened] = [make({}), make({ network: true })];
    expect(await closed.print(code)).toBe('closed\n');
    expect(await opened.print(code)).toBe('hello\n');
    expect((await closed.tool.define()).description).toMatch(/no network|Internet access for this session is disabled/);
    const { description } = await opened.tool.define();
    expect(description).toMatch(
      /can use the network of the machine|Internet access for this session is that of the machine/,
    );
    expect(description).not.toContain('nothing can be installed');
  });

  test(`X-07 ${name}: paths and variables of the host are seen when they are named`, async () => {
    const code =
      'import os\nprint(os.path.exists("/given/given.txt") and open("/given/given.txt").read(), os.environ.get("CITY"))';
    const mounts = [{ source: shown, target: '/given' }];
    expect(await make({}).print(code)).toBe('False None\n');
    const opened = make({ mounts, env: { CITY: 'Paris' } });
    expect(await opened.print(code)).toBe('given Paris\n');
    expect((await opened.tool.define()).description).toContain('/given is shared with the machine and read-only.');
    expect(await opened.print('try:\n    open("/given/x", "w")\nexcept OSError: print("no")')).toBe('no\n');
  });

  test(`X-07 ${name}: where there are no walls the tool text and the result say so`, async () => {
    const { tool } = make({ host: bare });
    const { description } = await tool.define();
    expect(description).toContain('there is no isolation: the code runs with the files, the network and the rights');
    expect(description).not.toContain('nothing can be installed');
    const argument = name === 'IPythonInterpreter' ? 'command' : 'code';
    expect((await tool.call({ [argument]: '1' })).payload).toMatchObject({ isolation: 'none' });
    expect((await make({}).tool.call({ [argument]: '1' })).payload).not.toHaveProperty('isolation');
  });
}

test('X-07 what a host gives to sessions is not taken away by a tool that adds to it', async () => {
  const mounts = [{ source: shown, target: '/given' }];
  await using own = await createHost({ poolSize: 0, preload: [], mounts, env: { CITY: 'Rome' } });
  const workdir = await mkdtemp(path.join(os.tmpdir(), 'toolset-'));
  await chmod(workdir, 0o777);
  onTestFinished(() => rm(workdir, { recursive: true, force: true }));
  await using toolset = new PythonInterpreterToolSet({ name: 'python', host: own, workdir });
  const { stdout } = await toolset.run_python_code('print(open("/given/given.txt").read(), os.environ["CITY"])');
  expect(stdout).toBe('given Rome\n');
});

test('X-07 a batch passes on what it was given', async () => {
  await using batch = new BatchIPythonInterpreter({ host, env: { CITY: 'Oslo' } });
  const { result } = await batch.call('import os; os.environ["CITY"]');
  expect(result).toEqual([{ type: 'text', content: "'Oslo'" }]);
});

test('X-07 results of runs without walls say so in their own shape', async () => {
  const tool = new CodeInterpreterTool({ host: bare, timeout: 30 });
  expect((await tool.run({ code: '1' })).metadata).toEqual({ isolation: 'none' });
  await using interpreter = new IPythonInterpreter({ host: bare });
  expect((await interpreter.run('1')).isolation).toBe('none');
});

test('X-21 a workdir can be opened for reading alone; figures are kept in the workspace', async () => {
  await using toolset = new PythonInterpreterToolSet({
    name: 'python',
    host,
    workdir: shown,
    workdirWritable: false,
  });
  const read = await toolset.run_python_code('print(open("given.txt").read())\nopen("new", "w")');
  expect(read).toMatchObject({ success: false, stdout: 'given\n' });
  expect(read.stderr).toContain('Read-only file system');
  const { fig_storage_path: stored = '' } = await toolset.run_python_code('plt.plot([1]); plt.show()');
  expect(stored).toMatch(/^\/workspace\/\.matplotlib_figs\//);
  expect((await toolset.run_python_code(`os.path.exists(${JSON.stringify(stored)})`)).stdout).toBe('True\n');
  expect((await toolset.run_python_code('plt.savefig(GLOBAL_FIG_DIR + "/a.png")')).success).toBe(true);
  expect((await toolset.tools()[0]?.define())?.description).toContain(
    `${shown}; it is shared with the machine, and is read-only`,
  );
  expect(await readFile(path.join(shown, 'given.txt'), 'utf8')).toBe('given');
});
