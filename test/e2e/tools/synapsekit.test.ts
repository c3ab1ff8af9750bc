/** The tools that agents of SynapseKit know: each row of the requirements under its id. */
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import {
  CodeInterpreterTool,
  type CodeInterpreterOptions,
  type CodeInterpreterPayload,
  type ToolResult,
} from '../../../src/tools.ts';

let host: Host;
let artifactDir: string;
beforeAll(async () => {
  host = await createHost();
  artifactDir = await mkdtemp(path.join(os.tmpdir(), 'code-interpreter-'));
});
afterAll(async () => {
  await host?.close();
  await rm(artifactDir, { recursive: true, force: true });
});

/** With time enough for a busy machine; the default limits have tests of their own. */
function open(options: CodeInterpreterOptions = {}): CodeInterpreterTool {
  return new CodeInterpreterTool({ host, artifactDir, timeout: 30, ...options });
}

const payloadOf = (result: ToolResult): CodeInterpreterPayload => JSON.parse(result.output) as CodeInterpreterPayload;
const run = async (code: string, options?: CodeInterpreterOptions) => payloadOf(await open(options).run({ code }));
const namesOf = (files: readonly { path: string }[]) => files.map((file) => path.basename(file.path));

/** Whether some process of the machine has this among its arguments. */
function isRunning(mark: string): boolean {
  const commands = globSync('/proc/[0-9]*/cmdline').map((file) => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return ''; // it has just ended
    }
  });
  return commands.some((command) => command.split('\0').includes(mark));
}

test('S-01 the defaults are 5.0 seconds and 256 MB', async () => {
  const { description } = await new CodeInterpreterTool({ host, artifactDir }).define();
  expect(description).toContain('5.0 seconds and use 256 MB of memory');
  // @ts-expect-error - a misspelt option of a caller from JavaScript
  expect(() => open({ memory: 5 })).toThrow(/memory/);
});

test('S-02 the model knows it as code_interpreter', async () => {
  expect(open().name).toBe('code_interpreter');
  expect((await open().define()).name).toBe('code_interpreter');
});

test('S-03 S-41 run takes code, or input; without either there is an error', async () => {
  expect((await run('print(1)')).stdout).toBe('1\n');
  expect(payloadOf(await open().run({ input: 'print(2)' })).stdout).toBe('2\n');
  expect(await open().run({ code: '' })).toMatchObject({ error: 'No code provided.', is_error: true });
});

test('S-04 a result has output, error and is_error', async () => {
  const good = await open().run({ code: 'x = 1' });
  expect([good.error, good.is_error, good.isError, typeof good.output]).toEqual([null, false, false, 'string']);
  const bad = await open().run({ code: 'print("seen")\nraise ValueError("no")' });
  expect([bad.error, bad.is_error]).toEqual(['ValueError: no', true]);
  expect(bad.toString()).toMatch(/seen[^]*Traceback[^]*ValueError: no/);
});

test('S-05 the output is JSON with five keys and no other', async () => {
  const payload = await run('import sys; print("out"); print("err", file=sys.stderr)');
  expect(payload).toEqual({ stdout: 'out\n', stderr: 'err\n', files: [], plots: [], dataframes: [] });
  const { stderr } = await run('import warnings\nwarnings.warn("odd")\n1/0');
  expect(stderr).toMatch(/UserWarning: odd[^]*Traceback[^]*ZeroDivisionError/);
});

test('S-06 SB-09 at the time limit the whole tree is killed, and what was printed is there', async () => {
  const mark = `3600.${process.pid}`;
  const code = `import subprocess\nsubprocess.Popen(["sleep", "${mark}"])\nprint("begun", flush=True)\nwhile True: pass`;
  const running = open({ timeout: 3 }).run({ code });
  await expect.poll(() => isRunning(mark), { timeout: 20_000 }).toBe(true);
  const result = await running;
  expect(result.error).toBe('Code execution timed out after 3.0 seconds');
  expect(payloadOf(result).stdout).toBe('begun\n');
  await expect.poll(() => isRunning(mark), { timeout: 20_000 }).toBe(false);
});

test('S-07 U-11 over the memory limit there is a clean error', async () => {
  const result = await open({ memory_limit_mb: 256 }).run({
    code: 'print("begun", flush=True)\nimport numpy\na = numpy.ones(60_000_000)',
  });
  expect(result.error).toBe('Memory limit exceeded during code execution');
  expect(payloadOf(result).stdout).toBe('begun\n');
});

test('S-08 SB-01 there is no host filesystem, no network and no environment of the host', async () => {
  process.env['CODE_INTERPRETER_TEST_KEY'] = 'sk-secret';
  onTestFinished(() => void delete process.env['CODE_INTERPRETER_TEST_KEY']);
  const secret = path.join(artifactDir, 'secret');
  await writeFile(secret, 'secret');
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { stdout } = await run(`
import os, socket
print(os.path.exists(${JSON.stringify(secret)}), os.environ.get("CODE_INTERPRETER_TEST_KEY"))
for address in ("127.0.0.1", ${port}), ("192.0.2.1", 80):
    try:
        socket.create_connection(address, 2)
    except OSError as error:
        print("no network")
`);
  expect(stdout).toBe('False None\nno network\nno network\n');
});

test('S-09 each run is fresh: no variables, modules, files or environment of the last', async () => {
  const tool = open();
  await tool.run({
    code: 'import os, sys\nx = 1\nos.environ["LEFT"] = "1"\nsys.modules["left"] = sys\nopen("left", "w").close()',
  });
  const second = await tool.run({
    code: 'import os, sys\nprint("x" in globals(), os.environ.get("LEFT"), "left" in sys.modules, os.listdir())',
  });
  expect(payloadOf(second).stdout).toBe('False None False []\n');
});

test('S-10 S-45 the code runs as __main__ in a process of its own, which has both its streams captured', async () => {
  const { stdout, stderr } = await run(
    'import os, sys\nif __name__ == "__main__":\n    print(os.getpid(), os.getcwd())\n    sys.stderr.write("err")',
  );
  expect(stdout).toMatch(/^\d+ \/workspace\n$/);
  expect(stdout).not.toContain(`${process.pid} `);
  expect(stderr).toBe('err');
  const killed = await open().run({ code: 'import os\nprint("begun", flush=True)\nos.kill(os.getpid(), 9)' });
  expect(killed.error).toMatch(/^Code execution failed unexpectedly: /);
  expect(payloadOf(killed).stdout).toBe('begun\n');
});

test('S-11 S-42 figures that were not saved are found, numbered from 1', async () => {
  const { plots, files } = await run(
    'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()\nplt.plot([2, 1])',
  );
  expect(namesOf(plots)).toEqual(['plot_1.png', 'plot_2.png']);
  expect(plots.every((plot) => plot.path.includes('/plots/plot_'))).toBe(true);
  expect(files).toEqual(plots);
});

test('S-12 SB-07 DataFrames are reported by name and repr, their subclasses too, and nothing else', async () => {
  const { dataframes } = await run(`
import pandas as pd
class Frame(pd.DataFrame): pass
df = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})
own = Frame({'c': [5]})
series, stamp, index = df['a'], pd.Timestamp('2024-01-01'), df.index
`);
  expect(dataframes.map(({ name }) => name)).toEqual(['df', 'own']);
  expect(dataframes[0]?.repr).toBe('   a  b\n0  1  3\n1  2  4');
});

test('S-05 S-12 the repr of a table is what print shows', async () => {
  const { dataframes, stdout } = await run('import pandas as pd\ndf = pd.DataFrame({"a": range(50)})\nprint(df)');
  expect(`${dataframes[0]?.repr}\n`).toBe(stdout);
});

test('S-12 S-24 the model reads the JSON of the payload, with the rows of a table that nobody printed', async () => {
  const code = 'import pandas as pd\ndf = pd.DataFrame({"city": ["Oslo", "Rome"], "n": [17, 23]})';
  const { text, payload } = await open().call({ code });
  expect(JSON.parse(text)).toEqual(payload);
  expect(payload).toMatchObject({ dataframes: [{ name: 'df', repr: '   city   n\n0  Oslo  17\n1  Rome  23' }] });
  const large = await open().call({ code: 'import pandas as pd\ndf = pd.DataFrame({"a": ["x" * 45] * 59})' });
  expect(large.text.length).toBeLessThan(3000);
  expect(large.text).toContain('characters omitted');
  expect(JSON.parse(large.text)).not.toEqual(large.payload);
});

test('S-13 SB-02 U-38 every file is listed with its size, and is still there afterwards', async () => {
  const { files } = await run(
    'import os\nopen("a.txt", "w").write("hello")\nos.mkdir("sub")\nopen("sub/b.csv", "w").write("1,2\\n")',
  );
  expect(files.map(({ size }) => size)).toEqual([5, 4]);
  expect(namesOf(files)).toEqual(['a.txt', 'b.csv']);
  for (const { path: file, size } of files) expect((await stat(file)).size).toBe(size);
  expect(await readFile(files[0]?.path ?? '', 'utf8')).toBe('hello');
});

test('S-13 without a directory of the caller’s, files are in the data directory', async () => {
  const result = await new CodeInterpreterTool({ host, timeout: 30 }).run({ code: 'open("a", "w").write("1")' });
  const [file] = payloadOf(result).files;
  onTestFinished(() => rm(path.dirname(path.dirname(file?.path ?? '')), { recursive: true }));
  expect(await readFile(file?.path ?? '', 'utf8')).toBe('1');
});

test('S-14 data is passed in as a literal, text as it is', async () => {
  const data = [1, 2, 3, 4, 5];
  expect((await run(`data = ${JSON.stringify(data)}\nprint(sum(data))`)).stdout).toBe('15\n');
  const texts = ['two\nlines', '"double" and \'single\'', 'C:\\new', 'Zürich 🌍'];
  const { stdout } = await run(`import json\nprint(json.dumps(${JSON.stringify(texts)}))`);
  expect(JSON.parse(stdout)).toEqual(texts);
});

test('S-15 S-47 larger limits hold, and 0 is no limit but that of the machine', async () => {
  const code = 'import numpy\na = numpy.ones(60_000_000)\nprint(a.size)';
  expect((await run(code, { timeout: 60, memory_limit_mb: 1024 })).stdout).toBe('60000000\n');
  expect((await run(code, { timeout: 60, memoryLimitMb: 0 })).stdout).toBe('60000000\n');
  const longerThanUsual = 'import time\ntime.sleep(5.1)\nprint("slept")';
  expect((await run(longerThanUsual, { timeout: 60, memory_limit_mb: 1024 })).stdout).toBe('slept\n');
  expect(() => open({ memoryLimitMb: 4 })).toThrow(/16/);
});

test.for([true, false])(
  'S-17 a memory limit that cannot be set as usual is not ignored: it is kept, and it is said how (control groups: %s)',
  async (cgroups) => {
    await using own = await createHost({ cgroups, poolSize: 0, preload: [] });
    const { memory, missing } = own.isolation;
    const isGrouped = memory.includes('cgroup');
    expect(memory).toEqual(['rlimit', 'watchdog', ...(isGrouped ? ['cgroup'] : [])]);
    expect(missing.some((one) => one.startsWith('control groups: '))).toBe(!isGrouped);
    expect(isGrouped && !cgroups).toBe(false);
    const alone = 'a = b"x" * 200_000_000';
    const together = 'import os, time\nfor _ in range(3): os.fork()\na = b"x" * 50_000_000\ntime.sleep(60)';
    for (const code of [alone, together]) {
      const tool = open({ host: own, memory_limit_mb: 64 });
      const result = await tool.run({ code: `print("begun", flush=True)\n${code}\nprint("never")` });
      expect(result.error).toBe('Memory limit exceeded during code execution');
      expect(payloadOf(result).stdout).toBe('begun\n');
    }
  },
);

test('S-27 the tool text orders what the prompt of the tutorial orders', async () => {
  const { description } = await open().define();
  expect(description).toMatch(
    /self-contained scripts.*print.*interpret the output.*traceback is in stderr: fix it and retry once/,
  );
});

test('S-29 the helper of the tutorial works', async () => {
  const tool = open();
  const runCode = async (code: string): Promise<object> => {
    const result = await tool.run({ code });
    return result.is_error ? { error: result.error } : (JSON.parse(result.output) as object);
  };
  expect(await runCode('print(6 * 7)')).toMatchObject({ stdout: '42\n' });
  expect(await runCode('1/0')).toEqual({ error: 'ZeroDivisionError: division by zero' });
});

test('S-32 SB-04 SB-15 import-heavy code that plots works with the memory of the default, saved before show or not', async () => {
  const draw = 'import pandas as pd\nimport matplotlib.pyplot as plt\npd.Series([3, 7, 2, 9, 5]).plot.bar()';
  for (const [save, name] of [
    ['plt.savefig("output.png")', 'output.png'],
    ['pass', 'plot_1.png'],
  ] as const) {
    const { plots, stderr } = await run(`${draw}\n${save}\nplt.show()`, { memory_limit_mb: 256 });
    expect({ names: namesOf(plots), stderr }).toEqual({ names: [name], stderr: '' });
  }
});

test('S-40 the schema has code, and nothing else', async () => {
  expect((await open().define()).parameters).toEqual({
    type: 'object',
    properties: { code: { type: 'string', description: 'Python code to execute in the sandboxed interpreter' } },
    required: ['code'],
  });
});

test('S-40 schema and anthropic_schema are the forms that models are given', async () => {
  const { parameters, description } = await open().define();
  const name = 'code_interpreter';
  expect(await open().schema()).toEqual({ type: 'function', function: { name, description, parameters } });
  expect(await open().anthropic_schema()).toEqual({ name, description, input_schema: parameters });
});

test('S-43 files are listed by path, those in folders too, and nothing of ours is among them', async () => {
  const { files } = await run(
    'import os\nos.makedirs("z/a")\nfor name in ("z/a/1", "b", "a", "z/0"): open(name, "w").write("x")',
  );
  const root = path.dirname(files[0]?.path ?? '');
  expect(files.map((file) => path.relative(root, file.path))).toEqual(['a', 'b', 'z/0', 'z/a/1']);
});

test('S-44 tables are found wherever they were made, except under names of Python’s own', async () => {
  const { dataframes } = await run(
    'import pandas as pd\nfor number in range(2): loop = pd.DataFrame({"a": [number]})\n__hidden = loop\n__dunder__ = loop',
  );
  expect(dataframes).toEqual([{ name: 'loop', repr: '   a\n0  1' }]);
});

test('S-46 SB-03 an exception comes with everything that there was before it', async () => {
  const code = 'import pandas as pd\nprint("so far")\ndf = pd.DataFrame({"a": [1]})\nopen("f", "w").write("1")\n1/0';
  const observation = await open().call({ code });
  expect(observation).toMatchObject({
    isError: true,
    payload: { error: 'ZeroDivisionError: division by zero', stdout: 'so far\n' },
  });
  expect(observation.payload).toMatchObject({ files: [{ size: 1 }], dataframes: [{ name: 'df' }] });
  const { stdout, stderr, error } = JSON.parse(observation.text) as Record<string, string>;
  expect([stdout, error]).toEqual(['so far\n', 'ZeroDivisionError: division by zero']);
  expect(stderr).toMatch(/^Traceback[^]*ZeroDivisionError/);
});

test('SB-05 sys.exit is what it says, and costs no output', async () => {
  const failed = await open().run({ code: 'print("out")\nimport sys\nsys.exit(1)' });
  expect([failed.error, payloadOf(failed).stdout]).toEqual(['SystemExit: 1', 'out\n']);
  const ended = await open().run({ code: 'print("out")\nexit()' });
  expect([ended.error, payloadOf(ended)]).toMatchObject([null, { stdout: 'out\n', stderr: '' }]);
});

test('SB-06 output of child processes is output', async () => {
  const { stdout } = await run('import os, subprocess\nos.system("echo one")\nsubprocess.run(["echo", "two"])');
  expect(stdout).toBe('one\ntwo\n');
});

test('S-13 SB-08 X-12 every file is in files once, figures and images are in plots too; an option keeps them apart', async () => {
  const code = `
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.savefig('open.png')
plt.figure(); plt.plot([2, 1]); plt.savefig('closed.png'); plt.close()
from PIL import Image
Image.new('RGB', (4, 4)).save('drawn.jpg')
open('data.csv', 'w').write('1')
`;
  const { plots, files } = await run(code);
  expect(namesOf(plots).toSorted()).toEqual(['closed.png', 'drawn.jpg', 'open.png']);
  expect(namesOf(files)).toEqual(['closed.png', 'data.csv', 'drawn.jpg', 'open.png']);
  expect([...plots, ...files].every((file) => existsSync(file.path))).toBe(true);
  const apart = await run(code, { plotsInFiles: false });
  expect(namesOf(apart.files)).toEqual(['data.csv']);
  expect(namesOf(apart.plots)).toEqual(namesOf(plots));
});

test('U-36 X-02 a plotly figure is a plot: a file with its JSON', async () => {
  const { plots, files } = await run(
    'import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1, 3, 2])).show()\ngo.Figure(go.Bar(y=[4])).show()',
  );
  expect(namesOf(plots)).toEqual(['plot_1.plotly.json', 'plot_2.plotly.json']);
  expect(files).toEqual(plots);
  const shown = await open().call({ code: 'import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1])).show()' });
  const { plots: told } = JSON.parse(shown.text) as CodeInterpreterPayload;
  expect(existsSync(told[0]?.path ?? '')).toBe(true);
  const { data } = JSON.parse(await readFile(plots[0]?.path ?? '', 'utf8')) as { data: { type: string }[] };
  expect(data).toMatchObject([{ type: 'bar' }]);
});

test('SB-09 long output is cut in the middle and kept as a file', async () => {
  const { stdout, files } = await run('print("a" + "x" * 3_000_000 + "z")');
  expect(stdout.length).toBeLessThan(1_200_000);
  expect(stdout).toMatch(/^ax[^]*bytes of output omitted[^]*xz\n$/);
  expect(files.map(({ size }) => size)).toContain(3_000_003);
});

test('SB-10 a figure that cannot be drawn costs nothing else', async () => {
  const { stdout, plots } = await run(`
import matplotlib.pyplot as plt
class Broken(plt.Line2D):
    def draw(self, renderer): raise RuntimeError('no')
print('printed')
plt.gca().add_line(Broken([0, 1], [0, 1]))
plt.figure(); plt.plot([1, 2])
`);
  expect(stdout).toBe('printed\n');
  expect(plots).toHaveLength(1);
});

test('SB-14 the numbers of the tutorial, corrected', async () => {
  const { stdout } = await run(`
import random, statistics
print(sum(n * n for n in range(2, 50) if all(n % d for d in range(2, n))))
random.seed(42)
numbers = [random.randint(1, 100) for _ in range(20)]
print(statistics.mean(numbers), statistics.median(numbers), round(statistics.stdev(numbers), 2))
`);
  expect(stdout).toBe('10466\n43.2 30.5 34.63\n');
});

test('X-11 a name that leads out of the directory is not followed', async () => {
  const { files } = await run('import os\nos.symlink("/etc/passwd", "link")\nopen("a", "w").write("1")');
  expect(namesOf(files)).toEqual(['a']);
});

test('arguments that do not fit, and a full house, are answers', async () => {
  const empty = { stdout: '', stderr: '', files: [], plots: [], dataframes: [] };
  for (const [args, error] of [
    [{ program: '1' }, expect.stringMatching(/arguments are invalid.*program/s) as unknown],
    [{}, 'No code provided.'],
  ] as const) {
    const { text, isError } = await open().call(args);
    expect([isError, JSON.parse(text)]).toEqual([true, { ...empty, error }]);
  }
  await using small = await createHost({ maxSessions: 1, poolSize: 0, preload: [] });
  await using _ = await small.createSession();
  const refused = await open({ host: small }).run({ code: '1' });
  expect(refused).toMatchObject({ is_error: true, error: expect.stringContaining('maxSessions') as unknown });
});
