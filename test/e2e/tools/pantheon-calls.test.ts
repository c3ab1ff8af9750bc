/** How the toolset is called: every spelling that is known, and nothing that is taken without being understood. */
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PythonInterpreterToolSet } from '../../../src/tools.ts';
import { host, open } from './pantheon-laboratory.ts';

test('P-09 P-47 an id counts under either spelling, and a context that is not understood is refused', async () => {
  const toolset = open();
  await toolset.run_python_code('x = "of A"', { context: { client_id: 'A' } });
  const see = async (context: object) => (await toolset.run_python_code('globals().get("x")', { context })).stdout;
  expect(await see({ client_id: 'B' })).toBe('');
  expect(await see({ clientId: 'A' })).toBe('of A\n');
  expect(await see({ client_id: 'A', chat_id: '1' })).toBe('');
  expect(await see({ session_id: 'A' })).toBe('');
  for (const context of [{ clientID: 'A' }, { client_id: 7 }, { client_id: '' }, { clientId: 'A', client_id: 'B' }]) {
    const wrong = { context } as object;
    expect(await toolset.run_python_code('x', wrong)).toMatchObject({ success: false, stdout: '' });
    expect(await toolset.manage_interpreters({ operation: 'list' }, wrong)).toMatchObject({ success: false });
  }
});

test('P-13 names beside an object of arguments count as well, and unknown ones are refused', async () => {
  const { result } = await open().run_python_code({ code: 'x = 5' }, { result_var_name: 'x' });
  expect(result).toBe(5);
  const misspelt = { result_var: 'x' } as object;
  expect((await open().run_python_code({ code: 'x = 5' }, misspelt)).error).toContain('result_var');
});

test('U-05 P-44 a restart is a fresh interpreter under the same id, also where code never ends', async () => {
  const toolset = open();
  const { interpreter_id: id = '' } = await toolset.new_interpreter();
  await toolset.run_code_in_interpreter('x = 1; open("kept", "w").write("file")', id);
  const endless = toolset.run_code_in_interpreter('while True: pass', id);
  await expect.poll(async () => (await (await host.getSession(id)).info()).status).toBe('running');
  const restarted = await toolset.manage_interpreters({ operation: 'restart', interpreter_id: id });
  expect(restarted).toEqual({ success: true, interpreter_id: id });
  expect((await endless).success).toBe(false);
  const seen = await toolset.run_code_in_interpreter('("x" in globals(), open("kept").read(), plt.__name__)', id);
  expect(seen.stdout).toBe("(False, 'file', 'matplotlib.pyplot')\n");
});

test('U-05 an interrupt stops the code and keeps the variables; without an id it is the caller’s own interpreter', async () => {
  const toolset = open();
  const mine = { context: { client_id: 'mine' } };
  const interrupt = () => toolset.manage_interpreters({ operation: 'interrupt' }, mine);
  expect(await interrupt()).toEqual({ success: false, error: 'There is no interpreter yet' });
  await toolset.run_python_code('x = 1', mine);
  const { interpreters = [] } = await toolset.list_interpreters(mine.context);
  const endless = toolset.run_python_code('while True: pass', mine);
  await expect
    .poll(async () => (await (await host.getSession(interpreters[0]?.id ?? '')).info()).status)
    .toBe('running');
  expect(await interrupt()).toEqual({ success: true, interpreter_id: interpreters[0]?.id });
  expect((await endless).success).toBe(false);
  expect((await toolset.run_python_code('x', mine)).stdout).toBe('1\n');
  await toolset.manage_interpreters({ operation: 'reset' }, mine);
  expect((await toolset.run_python_code('"x" in globals()', mine)).stdout).toBe('False\n');
});

test('P-54 an interpreter that is being opened is pending, one that is alive is running', async () => {
  const toolset = open();
  const creating = toolset.new_interpreter();
  await expect.poll(async () => (await toolset.list_interpreters()).interpreters?.[0]?.status).toBe('pending');
  const { interpreter_id: id = '' } = await creating;
  expect((await toolset.list_interpreters()).interpreters).toEqual([{ id, status: 'running' }]);
});

test('P-48 P-56 every method has the name that it is known by, and takes a context and a signal', async () => {
  const toolset = open();
  const { interpreter_id: id = '' } = await toolset.new_interpreter({ client_id: 'mine' });
  const theirs = { context: { client_id: 'theirs' } };
  expect((await toolset.run_code_in_interpreter('1', id, null, theirs)).error).toBe(`Interpreter ${id} not found`);
  const gone = { signal: AbortSignal.abort() };
  expect((await toolset.run_code_in_interpreter('x = 1', id, 'x', gone)).success).toBe(false);
  expect((await toolset.run_code_in_interpreter('x = 1', id, 'x')).result).toBe(1);
  expect(await toolset.delete_interpreter(id)).toEqual({ success: true, interpreter_id: id });
  expect((await toolset.list_tools()).map(({ name }) => name)).toEqual(['run_python_code', 'manage_interpreters']);
  await toolset.run_setup();
  await toolset.cleanup();
});

test('P-04 X-06 engine may be null, and retry_on_crash has its own spelling', async () => {
  const own = new PythonInterpreterToolSet({ name: 'own', engine: null, workdir: false, retry_on_crash: true });
  onTestFinished(() => own.close());
  const code = 'import os\nif not os.path.exists("a"):\n    open("a", "w").close()\n    os._exit(1)\nprint("again")';
  expect(await own.run_python_code(code)).toMatchObject({ success: true, stdout: 'again\n' });
});

test('P-53 variables of the context are in PANTHEON_CONTEXT; more than a program can be started with is refused', async () => {
  const toolset = open();
  const context = { chat_id: 'c', variables: { user: 'Ada', levels: [1, 2] } };
  const code = 'import json, os; context = json.loads(os.environ["PANTHEON_CONTEXT"])';
  const { result } = await toolset.run_python_code(code, { context, result_var_name: 'context' });
  expect(result).toEqual({ workdir: null, chat_id: 'c', user: 'Ada', levels: [1, 2] });
  const large = { chat_id: 'd', variables: { text: 'x'.repeat(200_000) } };
  expect((await toolset.run_python_code('1', { context: large })).error).toContain('Pass large data as a file');
});

test('P-50 figures can be saved in GLOBAL_FIG_DIR from the first call on', async () => {
  const code = 'plt.plot([1]); plt.savefig(GLOBAL_FIG_DIR + "/own.png"); os.listdir(GLOBAL_FIG_DIR)';
  expect(await open().run_python_code(code)).toMatchObject({ success: true });
});

test('P-50 plt.show with nothing to show says so, and with a figure that is not the current one it does not', async () => {
  const toolset = open();
  const none = 'No active figure to save.\n';
  expect((await toolset.run_python_code('plt.show()')).stdout).toBe(none);
  expect((await toolset.run_python_code('f = plt.figure(); plt.show()')).stdout).toBe(none);
  const drawn = await toolset.run_python_code('a = plt.plot([1]); b = plt.figure(); plt.show()');
  expect({ stdout: drawn.stdout, pictures: drawn.base64_uri?.length }).toEqual({ stdout: '', pictures: 1 });
  expect((await toolset.run_python_code('"_show" in globals()')).stdout).toBe('False\n');
});

test('P-51 a call has the figures that it drew, and none of the call before', async () => {
  const toolset = open();
  const drawn = await toolset.run_python_code('plt.plot([1]); plt.show()');
  expect(drawn.fig_storage_path).toBeDefined();
  expect(await toolset.run_python_code('1')).toEqual({ success: true, result: null, stdout: '1\n', stderr: '' });
});

test('P-52 the workdir is entered before the init code runs', async () => {
  const workdir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'toolset-')));
  await chmod(workdir, 0o777);
  onTestFinished(() => rm(workdir, { recursive: true, force: true }));
  const toolset = open({ workdir, init_code: 'import os; started_in = os.getcwd()' });
  expect((await toolset.run_python_code('started_in')).stdout).toBe(`${workdir}\n`);
});
