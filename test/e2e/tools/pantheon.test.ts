/** The toolset that agents of Pantheon know: each row of the requirements under its id. */
import { on } from 'node:events';
import { chmod, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { LIBRARY_SETS } from '../../../src/environment/library-sets.ts';
import { createHost } from '../../../src/index.ts';
import { PythonInterpreterToolSet } from '../../../src/tools.ts';
import { host, open, sharedDirectory } from './pantheon-laboratory.ts';

/** The next warning of this process with this code. */
async function warning(code: string): Promise<Error> {
  for await (const [warned] of on(process, 'warning') as AsyncIterable<[Error & { code?: string }]>) {
    if (warned.code === code) return warned;
  }
  throw new Error('never warned');
}

const PLOT = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n';
const SINE = `
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 10, 100)
y = np.sin(x)
plt.plot(x, y)
plt.title('Sine Wave')
plt.show()
`;

test('P-01 the constructor takes name, workdir, engine and init_code, and nothing that it does not know', async () => {
  const workdir = await realpath(await sharedDirectory());
  const toolset = new PythonInterpreterToolSet({ name: 'science', workdir, engine: host, init_code: 'x = 1' });
  onTestFinished(() => toolset.close());
  const before = (await host.listSessions()).length;
  const { stdout } = await toolset.run_python_code('import os; print(x, os.getcwd())');
  expect({ name: toolset.name, stdout }).toEqual({ name: 'science', stdout: `1 ${workdir}\n` });
  expect(await host.listSessions()).toHaveLength(before + 1);
  expect(open({ workdir: null, init_code: null, engine: null })).toBeInstanceOf(PythonInterpreterToolSet);
  // @ts-expect-error - a misspelt option of a caller from JavaScript
  expect(() => open({ work_dir: '/tmp' })).toThrow(/work_dir/);
});

test('P-02 the name is required', () => {
  expect(open({ name: 'science' }).name).toBe('science');
  // @ts-expect-error - left out by a caller from JavaScript
  expect(() => new PythonInterpreterToolSet({ host })).toThrow(/name/);
});

test('P-03 the workdir is the current directory, relative paths lead there, and it must exist', async () => {
  const workdir = await sharedDirectory();
  await writeFile(path.join(workdir, 'in.txt'), 'from the host');
  const toolset = open({ workdir });
  const { stdout } = await toolset.run_python_code(
    'import os\nprint(os.getcwd(), open("in.txt").read())\nopen("out.txt", "w").write("back")',
  );
  expect(stdout).toBe(`${await realpath(workdir)} from the host\n4\n`);
  expect(await readFile(path.join(workdir, 'out.txt'), 'utf8')).toBe('back');
  const lost = await open({ workdir: path.join(workdir, 'none') }).run_python_code('1');
  expect(lost).toMatchObject({
    success: false,
    stderr: expect.stringContaining('Name an existing directory') as unknown,
  });
});

test('P-03 a workdir may begin with the home directory', async () => {
  const home = await realpath(await sharedDirectory());
  vi.stubEnv('HOME', home);
  onTestFinished(() => void vi.unstubAllEnvs());
  await mkdir(path.join(home, 'work'));
  await chmod(path.join(home, 'work'), 0o777);
  const code = 'import os; os.getcwd()';
  expect((await open({ workdir: '~' }).run_python_code(code)).stdout).toBe(`${home}\n`);
  expect((await open({ workdir: '~/work' }).run_python_code(code)).stdout).toBe(`${home}/work\n`);
});

test('P-03 a workdir that sessions cannot write is refused with the way out', async () => {
  const workdir = await sharedDirectory();
  await chmod(workdir, 0o555);
  const { success, stderr } = await open({ workdir }).run_python_code('1');
  expect({ success, says: /chmod o\+rwx/.test(stderr) }).toEqual({ success: false, says: true });
});

test('P-04 toolsets share a host and its caps; without one they start and close their own', async () => {
  const [first, second] = [open({ name: 'a' }), open({ name: 'b', host: null, engine: host })];
  const before = (await host.listSessions()).length;
  await Promise.all([first.run_python_code('x = 1'), second.run_python_code('x = 2')]);
  expect(await host.listSessions()).toHaveLength(before + 2);
  await first.close();
  expect(await host.listSessions()).toHaveLength(before + 1);
  const own = new PythonInterpreterToolSet({ name: 'own', workdir: false });
  expect((await own.run_python_code('print(1)')).stdout).toBe('1\n');
  await Promise.all([own.close(), own.close()]);
  await expect(own.run_python_code('1')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
});

test('P-05 init code runs once when an interpreter starts; null runs nothing', async () => {
  const toolset = open({ initCode: 'started = globals().get("started", 0) + 1' });
  await toolset.run_python_code('1');
  expect((await toolset.run_python_code('started')).stdout).toBe('1\n');
  expect((await open({ initCode: null }).run_python_code('"plt" in globals()')).stdout).toBe('False\n');
  expect((await open({ initCode: '1/0' }).run_python_code('1')).stderr).toContain('ZeroDivisionError');
});

test('P-05 P-50 the default init code has the names that generated code counts on', async () => {
  const { stdout } = await open().run_python_code('plt.__name__, os.__name__, uuid.__name__, GLOBAL_FIG_DIR');
  expect(stdout).toBe("('matplotlib.pyplot', 'os', 'uuid', '.matplotlib_figs')\n");
});

test('P-07 each interpreter is a process of its own', async () => {
  const toolset = open();
  const code = 'import os; os.readlink("/proc/self/ns/pid")';
  const [a, b] = await Promise.all(
    ['a', 'b'].map((clientId) => toolset.run_python_code(code, { context: { clientId } })),
  );
  expect(a?.stdout).toMatch(/^pid:/);
  expect(a?.stdout).not.toBe(b?.stdout);
});

test('P-08 variables persist across executions', async () => {
  const toolset = open();
  await toolset.run_python_code('x = 10');
  expect((await toolset.run_python_code('print(x * 2)')).stdout).toBe('20\n');
});

test('P-09 each client has an interpreter of its own, and so has each chat', async () => {
  const toolset = open();
  const contexts = [{ clientId: 'A' }, { clientId: 'B' }, { clientId: 'A', chatId: '1' }, { sessionId: 's' }, {}];
  await Promise.all(contexts.map((context, n) => toolset.run_python_code(`x = ${n}`, { context })));
  const seen = await Promise.all(contexts.map((context) => toolset.run_python_code('x', { context })));
  expect(seen.map(({ stdout }) => stdout)).toEqual(['0\n', '1\n', '2\n', '3\n', '4\n']);
});

test('P-10 P-40 every top-level expression is printed as str, None and nested ones are not', async () => {
  const code = '"a"\n1 + 1\nNone\nif True:\n    "nested"\n[1, "b"]';
  expect((await open().run_python_code(code)).stdout).toBe("a\n2\n[1, 'b']\n");
});

test('P-11 P-14 a crash costs no state, is not an exception, and says so', async () => {
  const toolset = open();
  await toolset.run_python_code('x = 10');
  const crash = await toolset.run_python_code('import os\nprint("before", flush=True)\nos.kill(os.getpid(), 9)');
  expect(crash).toMatchObject({
    success: false,
    result: null,
    stdout: 'before\n',
    interpreter_restarted: true,
    restart_reason: expect.stringMatching(/^BrokenProcessPool: .{1,100}\.\.\.$/) as unknown,
    state_restored: true,
  });
  expect(await toolset.run_python_code('x')).toEqual({ success: true, result: null, stdout: '10\n', stderr: '' });
});

test('P-11 P-14 an interpreter of which no copy could be made is replaced after a crash, and the loss is said', async () => {
  const toolset = open();
  await toolset.run_python_code('import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()');
  expect(await toolset.run_python_code('import os\nos.kill(os.getpid(), 9)')).toMatchObject({
    success: false,
    interpreter_restarted: true,
    restart_reason: expect.stringMatching(/^BrokenProcessPool: .{100}\.\.\.$/) as unknown,
    state_restored: false,
  });
  const next = await toolset.run_python_code('("threading" in globals(), plt.__name__)');
  expect(next).toEqual({ success: true, result: null, stdout: "(False, 'matplotlib.pyplot')\n", stderr: '' });
});

test('P-12 P-23 the sine wave is captured as base64', async () => {
  const result = await open().run_python_code(SINE);
  expect(result).toMatchObject({ success: true, stderr: '' });
  expect(result.base64_uri).toHaveLength(1);
  expect(result.base64_uri?.[0]).toMatch(/^data:image\/png;base64,iVBORw0KGgo/);
});

test('P-23 the sine wave is finished when it is shown, and what follows is another figure', async () => {
  const { base64_uri: shown } = await open().run_python_code(SINE);
  const { base64_uri: both } = await open().run_python_code(`${SINE}plt.plot(x, np.cos(x))`);
  expect(both).toEqual([shown?.[0], expect.stringMatching(/^data:image\/png;base64,/)]);
});

test('P-13 run_python_code returns success, result, stdout and stderr', async () => {
  const result = await open().run_python_code({ code: 'x = 1 + 2\nprint(x)', result_var_name: 'x' });
  expect(result).toEqual({ success: true, result: 3, stdout: '3\n', stderr: '' });
  const { stdout, stderr } = await open().runPythonCode('import sys; print("e", file=sys.stderr); print("o")');
  expect({ stdout, stderr }).toEqual({ stdout: 'o\n', stderr: 'e\n' });
});

test('P-13 P-55 interpreter_id chooses a session, and one that is not there is said by name', async () => {
  const toolset = open();
  const { interpreter_id: id } = await toolset.manage_interpreters({ operation: 'create' });
  await toolset.run_python_code({ code: 'x = "own"', interpreter_id: id });
  expect((await toolset.runCodeInInterpreter('x', id ?? '')).stdout).toBe('own\n');
  expect((await toolset.run_python_code('"x" in globals()')).stdout).toBe('False\n');
  const none = await toolset.run_python_code('1', { interpreter_id: 'none' });
  expect(none).toMatchObject({ success: false, error: 'Interpreter none not found' });
});

test('P-15 a figure is a file under .matplotlib_figs and a data URI, and hidden from the model', async () => {
  const workdir = await sharedDirectory();
  const result = await open({ workdir }).run_python_code(PLOT);
  expect(result.fig_storage_path).toMatch(/^\.matplotlib_figs\/[0-9a-f-]{36}\.png$/);
  const file = await readFile(path.join(workdir, result.fig_storage_path ?? ''));
  expect(result.base64_uri).toEqual([`data:image/png;base64,${file.toString('base64')}`]);
  expect(result.hidden_to_model).toEqual(['base64_uri']);
});

test('P-15 without a workdir the figure is in the workspace, where the next run finds it', async () => {
  const toolset = open();
  const { fig_storage_path: stored } = await toolset.run_python_code(PLOT);
  const { stdout } = await toolset.run_python_code(`open(${JSON.stringify(stored)}, "rb").read(4)`);
  expect(stdout).toBe("b'\\x89PNG'\n");
});

test('P-16 P-17 P-18 interpreters are created, listed and deleted', async () => {
  const toolset = open();
  const { success, interpreter_id: id = '' } = await toolset.manage_interpreters({ operation: 'create' });
  expect({ success, type: typeof id }).toEqual({ success: true, type: 'string' });
  expect(await toolset.manage_interpreters({ operation: 'list' })).toEqual({
    success: true,
    interpreters: [{ id, status: 'running' }],
  });
  const deleted = await toolset.manage_interpreters({ operation: 'delete', interpreter_id: id });
  expect(deleted).toEqual({ success: true, interpreter_id: id });
  expect(await toolset.manageInterpreters({ operation: 'list' })).toEqual({ success: true, interpreters: [] });
  const gone = await toolset.run_python_code('1', { interpreter_id: id });
  expect(gone).toMatchObject({ success: false, error: `Interpreter ${id} not found` });
  expect((await host.listSessions()).map((session) => session.id)).not.toContain(id);
});

test('P-19 results are native values, also a dictionary', async () => {
  const toolset = open();
  expect((await toolset.run_python_code('x = 1 + 2', { result_var_name: 'x' })).result).toBe(3);
  const { result } = await toolset.run_python_code('d = {"a": [1, None, 2.5], "b": {"c": True}}', {
    result_var_name: 'd',
  });
  expect(result).toEqual({ a: [1, null, 2.5], b: { c: true } });
  const missing = await toolset.run_python_code('1', { result_var_name: 'nothing' });
  expect(missing).toMatchObject({ success: true, result: null, stderr: expect.stringContaining('nothing') as unknown });
});

test('P-20 the promised libraries can be imported, and the tool text lists the real ones', async () => {
  const toolset = open();
  const libraries = 'pandas, numpy, scipy, matplotlib, seaborn, plotly, scikit-learn, statsmodels';
  const modules = `${libraries.replace('scikit-learn', 'sklearn')}, datetime, collections, json`;
  expect(await toolset.run_python_code(`import ${modules}`)).toMatchObject({ success: true, stderr: '' });
  const definition = await toolset.tools()[0]?.define();
  for (const name of LIBRARY_SETS.core) {
    expect(definition?.description).toContain(`${name} ${host.environment.libraries[name]}`);
  }
  expect(definition?.description).toMatch(/, polars, .* and \d+ others;/);
});

test('P-21 the data analysis example prints its groups', async () => {
  const toolset = open();
  const { success, stdout } = await toolset.run_python_code(`
import pandas as pd
import numpy as np

# Create sample data
df = pd.DataFrame({
    'date': pd.date_range('2024-01-01', periods=30),
    'sales': np.random.randint(100, 1000, 30),
    'region': np.random.choice(['North', 'South', 'East'], 30)
})

# Analyze
summary = df.groupby('region')['sales'].agg(['mean', 'sum'])
print(summary)
`);
  expect(success).toBe(true);
  expect(stdout).toMatch(/^ +mean +sum\nregion +\n(?:(?:East|North|South) +[\d.]+ +\d+\n){1,3}$/);
  const facts = await toolset.run_python_code('facts = [str(summary), int(df["sales"].sum() - summary["sum"].sum())]', {
    result_var_name: 'facts',
  });
  expect(facts.result).toEqual([stdout.trimEnd(), 0]);
});

test('P-22 the machine learning example prints its R²', async () => {
  const { stdout } = await open().run_python_code(`
from sklearn.model_selection import train_test_split
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
import numpy as np

# Generate sample data
X = np.random.rand(100, 1) * 10
y = 2 * X + 1 + np.random.randn(100, 1) * 2

# Train model
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
model = LinearRegression()
model.fit(X_train, y_train)

# Evaluate
predictions = model.predict(X_test)
r2 = r2_score(y_test, predictions)
print(f"R² Score: {r2:.4f}")
`);
  expect(stdout).toMatch(/R² Score: -?\d+\.\d{4}\n$/);
});

test('P-24 PB-01 the indented example returns its summary', async () => {
  const { success, result } = await open().run_python_code({
    code: `
    import pandas as pd
    df = pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 6]})
    summary = df.describe().to_dict()
    `,
    result_var_name: 'summary',
  });
  expect(success).toBe(true);
  expect(result).toMatchObject({ a: { count: 3, mean: 2 }, b: { max: 6 } });
});

test('P-25 the tool text teaches the good practice, and a try/except in the code is the code’s own', async () => {
  const toolset = open();
  const definition = await toolset.tools()[0]?.define();
  expect(definition?.description).toMatch(/Print intermediate results; use result_var_name/);
  expect(definition?.description).toContain('Variables and files stay from call to call.');
  const caught = await toolset.run_python_code('try:\n    1/0\nexcept ZeroDivisionError as error:\n    print(error)');
  expect(caught).toEqual({ success: true, result: null, stdout: 'division by zero\n', stderr: '' });
});

test('P-26 code meets walls, and where there are none a warning says so', async () => {
  const secret = path.join(await sharedDirectory(), 'secret');
  await writeFile(secret, 'secret');
  const toolset = open();
  const read = await toolset.run_python_code(`open(${JSON.stringify(secret)}).read()`);
  expect(read).toMatchObject({ success: false, stderr: expect.stringContaining('FileNotFoundError') as unknown });
  const dial = await toolset.run_python_code('import socket; socket.create_connection(("192.0.2.1", 80), 2)');
  expect(dial).toMatchObject({ success: false, stderr: expect.stringContaining('OSError') as unknown });
  await using bare = await createHost({ isolation: 'none', poolSize: 0, preload: [] });
  const warned = warning('VIVARIUM_WEAK_ISOLATION');
  await open({ host: bare }).runSetup();
  expect((await warned).message).toMatch(/arbitrary Python code with isolation "none"/);
});
