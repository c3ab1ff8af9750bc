/** Code in sandboxes, with E2B's own SDK for JavaScript. */
import { Sandbox, type ChartTypes } from '@e2b/code-interpreter';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

let server: E2bTestbed;
let sandbox: Sandbox;
beforeAll(async () => {
  server = await startE2bServer({ hostOptions: { preload: ['pandas', 'matplotlib.pyplot'] } });
  sandbox = await Sandbox.create({ ...server.connection, timeoutMs: 120_000, envs: { WHO: 'me' } });
});
afterAll(() => server[Symbol.asyncDispose]());

test('state is kept from run to run, and runs are counted', async () => {
  const fresh = await sandbox.createCodeContext();
  const first = await sandbox.runCode('x = 20\nx + 1', { context: fresh });
  expect(first).toMatchObject({ text: '21', executionCount: 1, error: undefined });
  expect(first.results).toMatchObject([{ text: '21', isMainResult: true }]);
  expect(await sandbox.runCode('x', { context: fresh })).toMatchObject({ text: '20', executionCount: 2 });
  expect((await sandbox.runCode("'text'", { context: fresh })).text).toBe('text');
  await sandbox.removeCodeContext(fresh);
});

test('output and results arrive while the code runs', async () => {
  const seen: string[] = [];
  const code = `import os, sys, time
print("one", flush=True)
while not os.path.exists("seen"): time.sleep(0.01)
display("shown")
print("two", file=sys.stderr)
7`;
  const run = await sandbox.runCode(code, {
    onStdout: async ({ line }) => {
      seen.push(`out ${line.trim()}`);
      await sandbox.files.write('seen', ''); // lets the code go on
    },
    onStderr: ({ line, error }) => void seen.push(`err ${line.trim()} ${error}`),
    onResult: ({ text }) => void seen.push(`result ${text}`),
  });
  expect(seen[0]).toBe('out one');
  expect(seen.filter((each) => each.startsWith('result'))).toEqual(['result shown', 'result 7']);
  expect(seen).toContain('err two true');
  // `print` writes the end of the line by itself to an unbuffered stream, which may arrive by itself.
  expect({ stdout: run.logs.stdout.join(''), stderr: run.logs.stderr.join('') }).toEqual({
    stdout: 'one\n',
    stderr: 'two\n',
  });
});

test('an exception is an error with name, value and traceback', async () => {
  const errors: string[] = [];
  const { error } = await sandbox.runCode('def f():\n    return {}["k"]\nf()', {
    onError: ({ name }) => void errors.push(name),
  });
  expect(error).toMatchObject({ name: 'KeyError', value: "'k'" });
  expect(error?.traceback).toContain('line 2, in f');
  expect(errors).toEqual(['KeyError']);
});

test('a crash is an error that says what became of the variables, and the context goes on', async () => {
  await sandbox.runCode('kept = 5');
  const { error } = await sandbox.runCode('import os, signal\nos.kill(os.getpid(), signal.SIGKILL)');
  expect(error?.name).toBe('ContextCrashed');
  expect(error?.value).toContain('every variable is as it was before this run');
  expect((await sandbox.runCode('kept')).text).toBe('5');
});

test('environment variables hold for the sandbox, or for one run', async () => {
  const code = 'import os\nos.environ["WHO"], os.environ.get("EXTRA")';
  expect((await sandbox.runCode(code)).text).toBe("('me', None)");
  expect((await sandbox.runCode(code, { envs: { WHO: "y'ou\n", EXTRA: '1' } })).text).toBe(`("y'ou\\n", '1')`);
  expect((await sandbox.runCode(code)).text).toBe("('me', None)");
});

test('code begins in /home/user, imports from there, and has it as its home', async () => {
  await sandbox.files.write('own_module.py', 'VALUE = 42');
  const { text } = await sandbox.runCode(
    'import os, own_module\nos.getcwd(), os.path.expanduser("~"), own_module.VALUE',
  );
  expect(text).toBe("('/home/user', '/home/user', 42)");
});

test('a table brings its columns as data', async () => {
  const code = 'import pandas as pd\npd.DataFrame({"a": [1, 2], "day": pd.to_datetime(["2026-01-02", None])})';
  const [table] = (await sandbox.runCode(code)).results;
  expect(table?.data).toEqual({ a: [1, 2], day: [expect.stringMatching(/^2026-01-02T/), null] });
  expect(table?.formats()).toEqual(['html', 'data']);
  const [large] = (await sandbox.runCode('pd.DataFrame({"a": range(100_000)})')).results;
  expect(large?.data).toBeUndefined();
  expect(large?.text).not.toContain('e2b/data');
});

async function draw(code: string): Promise<ChartTypes | undefined> {
  const { results, error } = await sandbox.runCode(`import matplotlib.pyplot as plt\n${code}\nplt.show()`);
  expect(error).toBeUndefined();
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({ isMainResult: false, png: expect.stringMatching(/^iVBOR/) as string });
  return results[0]?.chart;
}

test('the data of a line chart is there', async () => {
  const code = 'plt.plot([1, 2], [3, 4], label="a")\nplt.title("T")\nplt.xlabel("Time (s)")\nplt.yscale("log")';
  expect(await draw(code)).toMatchObject({
    type: 'line',
    title: 'T',
    x_label: 'Time (s)',
    x_unit: 's',
    x_scale: 'linear',
    y_scale: 'log',
    elements: [
      {
        label: 'a',
        points: [
          [1, 3],
          [2, 4],
        ],
      },
    ],
  });
});

test.each([
  [
    'scatter',
    'plt.scatter([1, 2], [3, 4], label="s")',
    [
      {
        label: 's',
        points: [
          [1, 3],
          [2, 4],
        ],
      },
    ],
  ],
  [
    'bar',
    'plt.bar(["a", "b"], [3, 4], label="g")',
    [
      { label: 'a', group: 'g', value: 3 },
      { label: 'b', value: 4 },
    ],
  ],
  [
    'pie',
    'plt.pie([1, 3], labels=["a", "b"])',
    [
      { label: 'a', angle: 90, radius: 1 },
      { label: 'b', angle: 270 },
    ],
  ],
  ['box_and_whisker', 'plt.boxplot([[1, 2, 3, 4, 50]])', [{ min: 1, first_quartile: 2, median: 3, outliers: [50] }]],
  ['superchart', '_, (a, b) = plt.subplots(2)\na.plot([1, 2])\nb.bar(["x"], [1])', [{ type: 'line' }, { type: 'bar' }]],
] as const)('the data of a %s chart is there', async (type, code, elements) => {
  expect(await draw(code)).toMatchObject({ type, elements });
});

test('contexts have their own variables and share the files', async () => {
  const context = await sandbox.createCodeContext({ cwd: '/tmp' });
  expect(context).toMatchObject({ language: 'python', cwd: '/tmp' });
  expect(await sandbox.listCodeContexts()).toHaveLength(2);
  await sandbox.runCode('mine = 1\nopen("shared.txt", "w").write("for all")\nopen("/tmp/t.txt", "w").write("too")');
  const code =
    'import os\nos.getcwd(), "mine" in globals(), open("/home/user/shared.txt").read(), open("t.txt").read()';
  expect((await sandbox.runCode(code, { context })).text).toBe("('/tmp', False, 'for all', 'too')");
  await sandbox.restartCodeContext(context);
  expect((await sandbox.runCode('"os" in globals(), __import__("os").getcwd()', { context })).text).toBe(
    "(False, '/tmp')",
  );
  expect(await sandbox.files.read('/tmp/t.txt')).toBe('too');
  await sandbox.removeCodeContext(context.id);
  await expect(sandbox.runCode('1', { context })).rejects.toThrow(`Context ${context.id} not found`);
  await expect(sandbox.restartCodeContext(context)).rejects.toThrow('not found');
});

test('a client that gives up interrupts the code and finds the state as it was', async () => {
  await sandbox.runCode('kept = "still here"\nticks = 0');
  const endless = sandbox.runCode('while True: ticks += 1', { timeoutMs: 300 });
  await expect(endless).rejects.toThrow('Execution timed out');
  expect((await sandbox.runCode('kept')).text).toBe('still here');
  const ticks = (await sandbox.runCode('ticks > 0, ticks')).text;
  expect((await sandbox.runCode('ticks > 0, ticks')).text).toBe(ticks);
});

test('runs of one context take turns', async () => {
  const runs = Array.from({ length: 5 }, (_, index) =>
    sandbox.runCode(`order = globals().get("order", "") + "${index}"`),
  );
  await Promise.all(runs);
  expect((await sandbox.runCode('len(order)')).text).toBe('5');
});

test.each(['javascript', 'r', 'bash'])('code in %s is refused with the reason', async (language) => {
  await expect(sandbox.runCode('1', { language })).rejects.toThrow('Vivarium runs Python');
  await expect(sandbox.createCodeContext({ language })).rejects.toThrow('Vivarium runs Python');
});
