/** What the toolset gets right where the original does not, and what its users rely on without being told. */
import { readdir, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createHost } from '../../../src/index.ts';
import { open, sharedDirectory } from './pantheon-laboratory.ts';

const PLOTLY = 'import plotly.graph_objects as go\nfig = go.Figure(go.Scatter(y=[1, 3, 2]))\nfig.show()';
const CRASH = 'import os\nopen("runs", "a").write("x")\nos.kill(os.getpid(), 11)';

test('PB-02 an endless loop ends at the limit, with its output and its variables', async () => {
  const toolset = open({ timeout: 0.3 });
  await toolset.run_python_code('x = 1');
  const result = await toolset.run_python_code('print("begun", flush=True)\nwhile True: pass');
  expect(result).toMatchObject({ success: false, stdout: 'begun\n' });
  expect(result.stderr).toContain('The run timed out after 300 ms.');
  expect(await toolset.run_python_code('x')).toEqual({ success: true, result: null, stdout: '1\n', stderr: '' });
});

test('PB-02 null is as long as a limit can be, and the tool text says which', async () => {
  const definition = await open({ timeout: null }).tools()[0]?.define();
  expect(definition?.description).toContain('86400.0 seconds');
});

test('PB-03 P-46 crashed code is not run again, unless that was asked for', async () => {
  const toolset = open();
  expect((await toolset.run_python_code(CRASH)).success).toBe(false);
  expect((await toolset.run_python_code('open("runs").read()')).stdout).toBe('x\n');
  const code =
    'import os\nif not os.path.exists("runs"):\n    open("runs", "w").close()\n    os._exit(1)\nprint("again")';
  expect(await open({ retryOnCrash: true }).run_python_code(code)).toMatchObject({
    success: true,
    stdout: 'again\n',
    interpreter_restarted: true,
    restart_reason: expect.stringMatching(/^BrokenProcessPool: /) as unknown,
  });
});

test('P-44 code that crashes twice, when it may, gets the answer of a failed restart', async () => {
  const result = await open({ retryOnCrash: true }).run_python_code(CRASH);
  expect(result).toMatchObject({ success: false, result: null, stdout: '', interpreter_crashed: true });
  expect(result.stderr).toMatch(
    /^Python interpreter crashed and restart failed\.\nOriginal error: BrokenProcessPool\nRetry error: .*SIGSEGV.*\.\.\.\n\nTry using \/restart command/,
  );
});

test('P-44 a host that is gone is a failed restart, not an exception', async () => {
  const own = await createHost({ poolSize: 0, preload: [] });
  const toolset = open({ host: own });
  await toolset.run_python_code('x = 1');
  await own.close();
  const result = await toolset.run_python_code('x');
  expect(result).toMatchObject({ success: false, interpreter_crashed: true });
  expect(result.stderr).toContain('The host is closed');
});

test('P-11 an interpreter that was evicted is opened again, and the loss is said once', async () => {
  await using own = await createHost({ poolSize: 0, preload: [], idleMs: 40 });
  const toolset = open({ host: own });
  const { interpreters = [] } = await (await toolset.run_python_code('x = 1'), toolset.listInterpreters());
  const id = interpreters[0]?.id ?? '';
  await expect.poll(async () => (await own.listSessions()).length).toBe(0);
  expect(await toolset.listInterpreters()).toEqual({ success: true, interpreters: [] });
  const result = await toolset.run_python_code('"x" in globals()', { interpreter_id: id });
  expect(result).toMatchObject({
    success: true,
    stdout: 'False\n',
    interpreter_restarted: true,
    state_restored: false,
  });
  expect(result.restart_reason).toMatch(/^SessionClosed: .*evicted/);
});

test('PB-04 words in a traceback destroy nothing', async () => {
  const toolset = open();
  await toolset.run_python_code('x = 1');
  const code = 'raise RuntimeError("KeyboardInterrupt: worker terminated, not picklable, BrokenProcessPool")';
  const { interpreter_restarted: isRestarted } = await toolset.run_python_code(code);
  expect(isRestarted).toBeUndefined();
  expect((await toolset.run_python_code('x')).stdout).toBe('1\n');
});

test('PB-05 an interpreter that was named by its id recovers too', async () => {
  const toolset = open();
  const { interpreter_id: id } = await toolset.newInterpreter();
  await toolset.run_python_code('x = 1', { interpreter_id: id });
  expect(await toolset.run_python_code(CRASH, { interpreter_id: id })).toMatchObject({ interpreter_restarted: true });
  expect((await toolset.run_python_code('x', { interpreter_id: id })).stdout).toBe('1\n');
});

test('PB-06 three figures, shown, not current and never shown, are three pictures with three files', async () => {
  const workdir = await sharedDirectory();
  const result = await open({ workdir }).run_python_code(`
import matplotlib.pyplot as plt
first = plt.figure(); plt.plot([1, 2]); plt.show()
second = plt.figure(); plt.plot([2, 1])
third = plt.figure(); plt.scatter([1, 2], [3, 4])
`);
  expect(result.base64_uri).toHaveLength(3);
  expect(new Set(result.base64_uri).size).toBe(3);
  const stored = (await readdir(path.join(workdir, '.matplotlib_figs'))).map((name) => `.matplotlib_figs/${name}`);
  expect(new Set(result.fig_storage_paths)).toEqual(new Set(stored));
  expect(result.fig_storage_path).toBe(result.fig_storage_paths?.[2]);
});

test('PB-06 U-36 a plotly figure is a file that plotly can read, beside the pictures', async () => {
  const toolset = open();
  const drawn = await toolset.run_python_code(PLOTLY);
  expect(drawn).toMatchObject({ success: true, stdout: '' });
  expect(drawn.fig_storage_path).toMatch(/^\.matplotlib_figs\/[0-9a-f-]{36}\.plotly\.json$/);
  expect(drawn.base64_uri).toBeUndefined();
  const read = `import plotly.io as pio; list(pio.read_json(${JSON.stringify(drawn.fig_storage_path)}).data[0].y)`;
  expect((await toolset.run_python_code(read)).stdout).toBe('[1, 3, 2]\n');
  const both = await toolset.run_python_code(`${PLOTLY}\nplt.plot([1])\nplt.show()`);
  expect(both.fig_storage_paths?.map((file) => path.extname(file))).toEqual(['.json', '.png']);
  expect(both.base64_uri).toHaveLength(1);
  const seen = await toolset.tools()[0]?.call({ code: PLOTLY });
  expect(seen?.text).toMatch(/\[figures saved as \.matplotlib_figs\/.*\.plotly\.json\]/);
});

test('PB-07 os.chdir does not lead figures astray, nor does a link', async () => {
  const [workdir, elsewhere] = await Promise.all([sharedDirectory(), sharedDirectory()]);
  const plot = 'import matplotlib.pyplot as plt; import os; os.chdir("/tmp"); plt.plot([1]); plt.show()';
  const { fig_storage_path: stored = '' } = await open({ workdir }).run_python_code(plot);
  expect((await readFile(path.join(workdir, stored))).subarray(1, 4).toString()).toBe('PNG');
  await rm(path.join(workdir, '.matplotlib_figs'), { recursive: true });
  await symlink(elsewhere, path.join(workdir, '.matplotlib_figs'));
  const { fig_storage_path: path2, base64_uri: uris } = await open({ workdir }).run_python_code(plot);
  expect({ path2, pictures: uris?.length, files: await readdir(elsewhere) }).toEqual({
    path2: undefined,
    pictures: 1,
    files: [],
  });
});

test('P-42 PB-08 an exception is data: its traceback in stderr, what was printed before in stdout', async () => {
  const result = await open().run_python_code('print("before")\nimport sys\nprint("warned", file=sys.stderr)\n1/0');
  expect(result).toMatchObject({ success: false, result: null, stdout: 'before\n' });
  expect(result.stderr).toMatch(
    /^warned\nTraceback \(most recent call last\):\n[^]*ZeroDivisionError: division by zero\n$/,
  );
});

test('PB-09 a value that cannot be pickled is described', async () => {
  const { success, result } = await open().run_python_code('g = (n for n in [])', { result_var_name: 'g' });
  expect(success).toBe(true);
  expect(result).toMatchObject({ _type: 'object', type: 'generator' });
});

test('PB-10 names of the machinery are the program’s to use, and sys.exit ends the cell', async () => {
  const toolset = open();
  await toolset.run_python_code('io = ast = traceback = sys = exec_with_echo = print = 1\ndel print');
  expect((await toolset.run_python_code('import sys\nprint("out")\nsys.exit(3)')).stdout).toBe('out\n');
  expect((await toolset.run_python_code('io')).stdout).toBe('1\n');
});

test('PB-11 tracebacks show the source, __future__ has its effect, await works', async () => {
  const toolset = open();
  expect((await toolset.run_python_code('def f():\n    return 1/0\nf()')).stderr).toContain('return 1/0');
  await toolset.run_python_code('from __future__ import annotations');
  expect((await toolset.run_python_code('def g(a: Missing): pass\ng.__annotations__')).stdout).toContain("'Missing'");
  expect((await toolset.run_python_code('import asyncio\nawait asyncio.sleep(0, 42)')).stdout).toBe('42\n');
});

test('PB-12 the 21st interpreter is a clear error at once, and deleting one makes room', async () => {
  const toolset = open({ maxInterpreters: 20 });
  const made = await Promise.all(Array.from({ length: 20 }, () => toolset.newInterpreter()));
  expect(made.every(({ success }) => success)).toBe(true);
  const refused = await toolset.manage_interpreters({ operation: 'create' });
  expect(refused).toMatchObject({
    success: false,
    error: expect.stringMatching(/20 interpreters.*maxInterpreters/) as unknown,
  });
  expect((await toolset.run_python_code('1')).stderr).toBe(refused.error);
  await toolset.deleteInterpreter(made[0]?.interpreter_id ?? '');
  expect((await toolset.run_python_code('1')).success).toBe(true);
});

test('P-04 the cap of a shared host is a clear error as well', async () => {
  await using small = await createHost({ maxSessions: 1, poolSize: 0, preload: [] });
  const toolset = open({ host: small });
  await toolset.run_python_code('1');
  const { success, stderr } = await toolset.run_python_code('1', { context: { clientId: 'other' } });
  expect({ success, says: stderr.includes('maxSessions') }).toEqual({ success: false, says: true });
});

test('PB-13 P-53 an interpreter sees the context it was made for, and nothing of the host’s environment', async () => {
  process.env['TOOLSET_TEST_SECRET'] = 'secret';
  onTestFinished(() => void delete process.env['TOOLSET_TEST_SECRET']);
  const code = 'import os; v = [os.environ.get("TOOLSET_TEST_SECRET"), os.environ["PANTHEON_CONTEXT"]]';
  const { result } = await open().run_python_code(code, { result_var_name: 'v', context: { clientId: 'c' } });
  expect(result).toEqual([null, '{"workdir":null,"client_id":"c"}']);
});

test('P-43 U-37 the model sees paths and values, and no base64', async () => {
  const [tool] = open().tools();
  const code = 'import matplotlib.pyplot as plt; plt.plot([1]); plt.title("T"); plt.show(); d = {"a": 1}; print("hi")';
  const { text, payload, isError } = (await tool?.call({ code, result_var_name: 'd' })) ?? {};
  expect(isError).toBe(false);
  expect(text).toMatch(/^\[figure "T"[^]*\]\nhi\n[^]*\[result: \{"a":1\}\]\n\[figures saved as \.matplotlib_figs\//);
  expect(text).not.toContain('iVBOR');
  expect(payload).toMatchObject({ success: true, result: { a: 1 }, hidden_to_model: ['base64_uri'] });
});

test('P-47 U-04 who names a client sees only that client’s interpreters', async () => {
  const toolset = open();
  const mine = { context: { clientId: 'mine' } };
  const { interpreter_id: id = '' } = await toolset.manage_interpreters({ operation: 'create' }, mine);
  const theirs = { context: { clientId: 'theirs' } };
  expect(await toolset.manage_interpreters({ operation: 'list' }, theirs)).toEqual({ success: true, interpreters: [] });
  expect((await toolset.run_python_code('1', { interpreter_id: id, ...theirs })).error).toBe(
    `Interpreter ${id} not found`,
  );
  expect((await toolset.run_python_code('1', { interpreter_id: id, ...mine })).success).toBe(true);
});

test('P-49 U-05 mistakes have the texts that are known', async () => {
  const toolset = open();
  const manage = (operation: string, id?: string) =>
    toolset.manage_interpreters({ operation, ...(id && { interpreter_id: id }) });
  expect(await manage('delete', 'x')).toEqual({ success: false, error: 'Interpreter x not found' });
  expect(await manage('delete')).toEqual({ success: false, error: 'interpreter_id is required for delete operation' });
  expect(await manage('explode')).toEqual({ success: false, error: 'Unknown operation: explode' });
});

test('P-56 list_tools names the tools, their arguments, types and defaults', async () => {
  const listed = await open().listTools();
  expect(
    listed.map(({ name, inputs }) => [name, inputs.map((input) => [input.name, input.type, 'default' in input])]),
  ).toEqual([
    [
      'run_python_code',
      [
        ['code', 'string', false],
        ['result_var_name', 'string', true],
        ['interpreter_id', 'string', true],
      ],
    ],
    [
      'manage_interpreters',
      [
        ['operation', 'string', false],
        ['interpreter_id', 'string', true],
      ],
    ],
  ]);
});

test('arguments that do not fit are told to the model, and a cancelled call is one too', async () => {
  const [run, manage] = open().tools();
  expect(await run?.call({ source: '1' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('code') as unknown,
  });
  expect(await run?.call({ code: '1', result_var_name: 'a b' })).toMatchObject({ isError: true });
  expect(await manage?.call({})).toMatchObject({ isError: true });
  const cancelled = await run?.call({ code: 'print(1)' }, { signal: AbortSignal.abort() });
  const text = '[cancelled]\n[the run was cancelled before any of its code ran]';
  expect(cancelled).toMatchObject({ isError: true, text });
});
