/** The action that agents of lagent know: each row of the requirements under its id. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { FunctionCallingAgent, ToolRegistry } from '../../../src/agent.ts';
import { toolResults } from '../../support/openai-server.ts';
import { Terminal as TestTerminal } from '../../support/terminal.ts';
import { createHost } from '../../../src/index.ts';
import {
  ActionExecutor,
  ActionStatusCode,
  BaseAction,
  BaseParser,
  BatchIPythonInterpreter,
  code_interpreter,
  escape_ansi,
  extract_code,
  get_multiline_input,
  IPythonInterpreter,
  JsonParser,
  publish_image_to_local,
  runConsole,
  START_CODE,
  TimeoutError,
  TupleParser,
} from '../../../src/tools.ts';
import { script } from '../agent/laboratory.ts';
import { host, open, run, shared, textOf, workDir } from './lagent-laboratory.ts';

test('L-01 the constructor has its defaults, and takes each of them written out', async () => {
  process.env['USER_DATA_DIR'] = path.join(workDir, 'l-01');
  onTestFinished(() => void delete process.env['USER_DATA_DIR']);
  await mkdir(path.join(workDir, 'l-01'));
  await writeFile(path.join(workDir, 'l-01', 'mine.txt'), 'of the user');
  const written = {
    timeout: 20,
    user_data_dir: 'ENV',
    work_dir: './work_dir/tmp_dir',
    description: null,
    parser: JsonParser,
    enable: true,
  };
  for (const options of [{}, written]) {
    const interpreter = new IPythonInterpreter({ host, ...options });
    onTestFinished(() => interpreter.close());
    expect(interpreter).toBeInstanceOf(BaseAction);
    const { timeout, work_dir, enable, name, description } = interpreter;
    expect({ timeout, work_dir, enable, name }).toEqual({
      timeout: 20,
      work_dir: path.resolve('work_dir/tmp_dir'),
      enable: true,
      name: 'IPythonInterpreter',
    });
    expect(description.description).toContain('time out after 20.0 seconds');
    const { result } = await interpreter.call('{"command": "x = open(\'mine.txt\').read()\\nx.title()"}');
    expect(result).toEqual([{ type: 'text', content: "'Of The User'" }]);
    expect(textOf(await interpreter.run('x'))).toBe("'of the user'"); // in a notebook's manner: it stays, and is shown
  }
  // @ts-expect-error - a misspelt option of a caller from JavaScript
  expect(() => open({ time_out: 5 })).toThrow(/time_out/);
});

test('L-02 LB-02 LB-03 the timeout is the duration, and the text has its number', async () => {
  const interpreter = open({ timeout: 0.4 });
  const noisy = await interpreter.run(
    'import time\nwhile True:\n    print(".", end="", flush=True)\n    time.sleep(0.05)',
  );
  expect(noisy).toMatchObject({ result: null, state: ActionStatusCode.API_ERROR });
  expect(noisy.errmsg).toMatch(/^\.+\nTimeout\. No response after 0\.4 seconds\.$/);
  expect(() => open({ timeout: 0 })).toThrow(/timeout of 0 seconds/);
  expect((await shared.call({ command: '1', timeout: -1 })).errmsg).toContain('timeout of -1 seconds');
});

test('L-04 L-37 LB-12 images are written to work_dir, also those from before an error', async () => {
  const drawn = await shared.run(
    'import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nplt.plot([2])\nplt.show()',
  );
  expect(drawn.result?.map(({ type }) => type)).toEqual(['text', 'image', 'image']);
  for (const { content } of drawn.result?.slice(1) ?? []) {
    expect(content).toMatch(new RegExp(`^${workDir}/[0-9a-f-]{36}\\.png$`));
    expect((await readFile(content)).subarray(1, 4).toString()).toBe('PNG');
  }
  const failed = await shared.run('plt.plot([3])\nplt.show()\n1/0');
  expect(failed).toMatchObject({ state: ActionStatusCode.API_ERROR, result: [{ type: 'image' }] });
  expect(existsSync(failed.result?.[0]?.content ?? '')).toBe(true);
});

test('L-04 the default is ./work_dir/tmp_dir of the current directory, which is made when it is needed', async () => {
  const [before, directory] = [process.cwd(), await mkdtemp(path.join(tmpdir(), 'l-04-'))];
  onTestFinished(() => rm(directory, { recursive: true }));
  onTestFinished(() => process.chdir(before));
  process.chdir(directory);
  await using interpreter = new IPythonInterpreter({ host });
  await interpreter.run('1');
  expect(await readdir(directory)).toEqual([]);
  const { result } = await interpreter.run('import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()');
  const [file] = await readdir('work_dir/tmp_dir');
  expect(file).toMatch(/^[0-9a-f-]{36}\.png$/);
  expect(result?.[1]).toEqual({ type: 'image', content: path.join(directory, 'work_dir/tmp_dir', file ?? '') });
});

test('L-05 a description of one’s own takes the place of the built one, for executors and models', async () => {
  const parameters = [{ name: 'code', type: 'STRING', description: 'A short script' }];
  const description = { name: 'python', description: 'Mine.', parameters, required: ['code'] };
  const interpreter = open({ description });
  expect(new ActionExecutor([interpreter]).get_actions_info()).toMatchObject([description]);
  const { server, llm } = await script([
    { calls: [{ name: 'python', arguments: { code: '6 * 7' } }] },
    { text: 'Done.' },
  ]);
  const agent = new FunctionCallingAgent({ llm, tools: [interpreter.toTool()] });
  expect(await agent.run('?')).toBe('Done.');
  expect(server.requests[0]?.tools?.[0]?.function).toMatchObject({
    name: 'python',
    description: 'Mine.',
    parameters: {
      type: 'object',
      properties: { code: { type: 'string', description: 'A short script' } },
      required: ['code'],
    },
  });
  expect(toolResults(server.requests[1] ?? assert.fail())).toEqual(['42']);
  expect(textOf(await interpreter.call({ code: '1 + 1' }))).toBe('2');
  expect((await interpreter.call({ command: '1' })).errmsg).toBe("unknown arguments: {'command'}");
});

test('L-05 what a description leaves out stays as it is', async () => {
  const { description, parameters, name } = await open({ description: { description: 'Mine.' } })
    .toTool()
    .define();
  expect([name, description, Object.keys(parameters.properties)]).toEqual([
    'IPythonInterpreter',
    'Mine.',
    ['command', 'timeout'],
  ]);
  const renamed = await open({ timeout: 7, description: { name: 'python' } })
    .toTool()
    .define();
  expect([renamed.name, renamed.description.includes('time out after 7.0 seconds')]).toEqual(['python', true]);
});

test('L-06 L-45 the parser decides how arguments are written, and the description says so', async () => {
  expect(open().description.parameter_description).toMatch(/JSON format/);
  expect(open({ parser: TupleParser }).description.parameter_description).toMatch(/tuple format/);
  expect(open({ parser: BaseParser }).description.parameter_description).toBeUndefined();
  expect((await open().call('6 * 7')).errmsg).toBe('invalid json format: 6 * 7');
  expect(textOf(await open({ parser: TupleParser }).call('("6 * 7",)'))).toBe('42');
  expect(textOf(await open({ parser: BaseParser }).call('6 * 7'))).toBe('42');
});

test('L-07 U-24 X-20 a disabled action is hidden and refused', async () => {
  const executor = new ActionExecutor([open({ enable: false })]);
  expect([executor.action_names(), executor.action_names(false), executor.get_actions_info()]).toEqual([
    [],
    ['IPythonInterpreter'],
    [],
  ]);
  const refused = await executor.call('IPythonInterpreter', { command: '1' });
  expect(refused.errmsg).toBe('The action is invalid, please check the action name.');
  const action = open({ enable: false });
  const tool = action.toTool();
  expect(await tool.call({ command: '1' })).toMatchObject({ isError: true, text: 'IPythonInterpreter is disabled.' });
  const toolbox = new ToolRegistry([tool]);
  expect([tool.isEnabled, await toolbox.definitions()]).toEqual([false, []]);
  action.enable = true;
  expect([tool.isEnabled, (await tool.call({ command: '1' })).text]).toEqual([true, '1']);
});

test('L-08 start_kernel starts a manager and a client, which has run the start code', async () => {
  const [manager, client] = await IPythonInterpreter.start_kernel({ poolSize: 0, preload: [] });
  onTestFinished(() => manager.close());
  expect((await manager.listSessions()).map(({ id }) => id)).toEqual([client.id]);
  await client.runCode('x = 1');
  expect((await client.runCode('x + 1')).results[0]?.data['text/plain']).toBe('2');
  expect((await client.runCode('input()')).error?.value).toBe('Python input() function is disabled.');
  expect((await client.runCode('get_ipython().system("ls")')).logs.stdout).toContain('! is disabled');
  await manager.close();
  expect(client.isClosed).toBe(true);
});

test('L-09 initialize opens the session once and runs the start code, before any run', async () => {
  const interpreter = open();
  const before = new Set((await host.listSessions()).map(({ id }) => id));
  await Promise.all([interpreter.initialize(), interpreter.initialize()]);
  const [opened, ...others] = (await host.listSessions()).filter(({ id }) => !before.has(id));
  expect(others).toEqual([]);
  const session = await host.getSession(opened?.id ?? '');
  expect((await session.runCode('input()')).error?.value).toBe('Python input() function is disabled.');
  expect((await session.runCode('get_ipython().system("ls")')).logs.stdout).toContain('! is disabled');
  await session.runCode('x = "set before the first run"');
  expect(textOf(await interpreter.run('x'))).toBe("'set before the first run'");
});

test('L-10 L-42 LB-15 reset leaves neither variables nor modules nor environment', async () => {
  const interpreter = open();
  await interpreter.run('import os, json\nx = 1\nos.environ["LEFT"] = "1"\njson.left = 1\nos.chdir("/tmp")');
  await interpreter.reset();
  const seen = await interpreter.run(
    'import os, json\n("x" in globals(), os.environ.get("LEFT"), hasattr(json, "left"), os.getcwd())',
  );
  expect(textOf(seen)).toBe("(False, None, False, '/workspace')");
  expect(textOf(await interpreter.run('!ls'))).toContain('! is disabled');
});

test('L-11 run takes a timeout of its own', async () => {
  const started = performance.now();
  const result = await shared.run('import time; time.sleep(30)', 0.3);
  expect(result.errmsg).toBe('Timeout. No response after 0.3 seconds.');
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('L-12 LB-01 the tool text tells the truth: real limit, real drive, no internet', async () => {
  const interpreter = open({ timeout: 7 });
  const { description } = await interpreter.toTool().define();
  expect(description).toContain(
    'When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment. ' +
      'python will respond with the output of the execution or time out after 7.0 seconds. ' +
      "The drive at '/mnt/data' can be used to save and persist user files. " +
      'Internet access for this session is disabled. Do not make external web requests or API calls as they will fail.',
  );
  await interpreter.run('open("/mnt/data/kept", "w").write("kept")');
  expect(textOf(await interpreter.run('open("/mnt/data/kept").read()'))).toBe("'kept'");
  const dialled = await interpreter.run('import socket; socket.create_connection(("192.0.2.1", 80), 2)');
  expect(dialled.errmsg).toContain('OSError');
});

test('L-13 U-14 input() and every way to the shell are disabled with the words of the start code', async () => {
  expect(START_CODE).toContain('{}');
  expect(await run('input("name")')).toContain('NotImplementedError: Python input() function is disabled.');
  const disabled = 'Assume we have this package, ! is disabled!\n';
  expect(await run('!pip install numpy')).toBe(disabled);
  expect(await run('%pip install numpy')).toBe(disabled);
  expect(await run('%%bash\nls\n')).toBe(disabled);
  expect(await run('get_ipython().system("ls")')).toBe(disabled);
  expect(await run('if True:\n    !ls \\\n      -l\nfiles = !ls\nfiles')).toBe(`${disabled}${disabled}[]`);
  expect(await run('%matplotlib inline\n%time 6 * 7')).toMatch(/^CPU times: .*\nWall time: .*\n42$/);
  expect(await run('%%time\n6 * 7')).toMatch(/^CPU times: .*\nWall time: .*\n42$/);
  expect(await run('%timeit -n 1 -r 1 1')).toMatch(/per loop/);
  expect(await run('%nothing')).toMatch(/SyntaxError: %nothing is not known here/);
});

test('L-14 TimeoutError is a class of its own', async () => {
  await expect(shared.runOrThrow('while True: pass', 0.2)).rejects.toBeInstanceOf(TimeoutError);
  await expect(shared.runOrThrow('1/0')).rejects.toThrow(/ZeroDivisionError/);
  expect(textOf(await shared.runOrThrow('1'))).toBe('1');
});

test('L-15 X-19 LB-08 code is taken out of what a model writes, and code that is fine stays', async () => {
  expect(extract_code('Here:\n```python\nprint(1)\n```\n')).toBe('print(1)');
  expect(extract_code('Use `print(1)`.')).toBe('print(1)');
  expect(extract_code("{code: 'print(1)',}")).toBe('print(1)');
  expect(extract_code('print(1)')).toBe('print(1)');
  expect(await run('Sure!\n```python\nprint("a")\n```\nand\n```python\nprint("b")\n```')).toBe('a\nb\n');
  expect(await run('print("use `x` here")')).toBe('use `x` here\n');
});

test('L-16 LB-09 colours are stripped', () => {
  expect(escape_ansi('\x1b[31mred\x1b[0m \x1b]0;title\x07x')).toBe('red x');
});

test('L-17 an image is published as a file of its own, by default in ./work_dir/tmp_dir', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const directory = path.join(workDir, 'published', 'deep');
  const files = [await publish_image_to_local(png, directory), await publish_image_to_local(png, directory)];
  expect(files.map((file) => path.dirname(file))).toEqual([directory, directory]);
  expect((await readdir(directory)).toSorted()).toEqual(files.map((file) => path.basename(file)).toSorted());
  for (const file of files) expect((await readFile(file)).toString('base64')).toBe(png);
  await expect(publish_image_to_local('bm90IGEgcG5n', directory)).rejects.toThrow(/not a PNG/);
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(directory);
  const published = await publish_image_to_local(png);
  expect(published).toMatch(/^work_dir\/tmp_dir\/[0-9a-f-]{36}\.png$/);
  expect((await readFile(published)).toString('base64')).toBe(png);
});

test('L-18 get_multiline_input reads lines until the end', async () => {
  const output = new PassThrough();
  const code = await get_multiline_input('Enter python code:', { input: Readable.from(['a = 1\n', 'a\n']), output });
  output.end();
  expect(code).toBe('a = 1\na');
  expect(await text(output)).toMatch(/^Enter python code:\n[^]*CTRL-D[^]*Input received/);
});

test(
  'L-18 L-19 without streams it is the terminal that the program was started from',
  { timeout: 60_000 },
  async () => {
    const tools = JSON.stringify(import.meta.resolve('../../../src/tools.ts'));
    const program = `
    import { get_multiline_input, runConsole, code_interpreter } from ${tools};
    console.log('got', JSON.stringify(await get_multiline_input('Enter:')));
    await runConsole();
    console.log('kept', (await code_interpreter.run('answer')).formatResult());
    await code_interpreter.close();`;
    const terminal = new TestTerminal(['--input-type=module', '-e', program], {});
    await terminal.until('CTRL-D to end input.');
    terminal.type('a = 6\ra\r\x04');
    await terminal.until('got "a = 6\\na"');
    await terminal.until('Enter python code:');
    await terminal.until('CTRL-D to end input.');
    terminal.type('answer = 6 * 7\ranswer\r\x04');
    await terminal.until('Input received.\r\n42');
    await terminal.until('CTRL-D to end input.');
    terminal.type('\x04');
    await terminal.until('kept ');
    expect(await terminal.until('\n')).toBe('42\r\n');
    expect(await terminal.ended()).toBe(0);
  },
);

test('L-19 the console loop runs what is entered', async () => {
  expect(code_interpreter).toBeInstanceOf(IPythonInterpreter);
  const output = new PassThrough();
  await runConsole({ input: Readable.from(['import math\n', 'math.sqrt(100)\n']), output }, open());
  output.end();
  expect(await text(output)).toMatch(/Input received\.\n10\.0\n$/);
});

test('L-33 L-34 success is items, failure is a message with the text so far', async () => {
  expect(await shared.run('print("a")\n5')).toMatchObject({
    args: { text: 'print("a")\n5' },
    type: 'IPythonInterpreter',
    result: [{ type: 'text', content: 'a\n5' }],
    errmsg: null,
    state: ActionStatusCode.SUCCESS,
  });
  const failed = await shared.run('print("a")\n1/0');
  expect(failed).toMatchObject({ result: null, state: ActionStatusCode.API_ERROR });
  expect(failed.errmsg).toMatch(/^a\nTraceback[^]*ZeroDivisionError: division by zero\n$/);
});

test('L-35 a model is told the paths of images, beside what they show', async () => {
  const command = 'import matplotlib.pyplot as plt\nplt.plot([1])\nplt.title("T")\nplt.show()';
  const { text: seen, payload } = await shared.toTool().call({ command });
  const { result } = payload as { result: { content: string }[] };
  expect(seen).toContain('[figure "T"');
  expect(seen).toContain(`\n[image](${result[1]?.content})`);
});

test('L-36 X-10 text is in the order in which it came, both streams and values', async () => {
  const code = 'import sys\nprint("1")\nprint("2", file=sys.stderr)\ndisplay("3")\nprint("4")\n"5"';
  expect(await run(code)).toBe("1\n2\n'3'\n4\n'5'");
});

test('L-43 U-22 the four forms of input give the same', async () => {
  const code = 'import math;math.sqrt(100)';
  const tuples = open({ parser: TupleParser });
  const results = [
    await shared.call(`{"command": "${code}"}`),
    await shared.call({ command: code }),
    await tuples.call(`("${code}",)`),
    await tuples.call([code]),
  ];
  for (const { result, state } of results) {
    expect({ result, state }).toEqual({ result: [{ type: 'text', content: '10.0' }], state: 0 });
  }
});

test('L-50 LB-07 a batch runs each index in a session of its own', async () => {
  await using batch = new BatchIPythonInterpreter({ host, workDir });
  await batch.call(['x = 1', 'x = 2', 'y = 3'], [0, 1, 7]);
  const seen = await batch.call(['x', '"x" in globals()', 'x'], [1, 7, 0]);
  expect(seen.map(textOf)).toEqual(['2', 'False', '1']);
  expect(textOf(await batch.call('x', 1))).toBe('2');
  await expect(batch.call(['1', '2'], [0])).rejects.toThrow(/must equal that of `commands`/);
  await batch.reset();
  expect(textOf(await batch.call('"x" in globals()'))).toBe('False');
});

test('L-50 X-04 an index that finds no room is one answer among the others', async () => {
  await using small = await createHost({ maxSessions: 2, poolSize: 0, preload: [] });
  await using batch = new BatchIPythonInterpreter({ host: small, workDir });
  const answers = await batch.call(['1', '2', '3']);
  expect(answers.map(({ state }) => state)).toEqual([0, 0, ActionStatusCode.API_ERROR]);
  expect(answers[2]?.errmsg).toContain('maxSessions');
  expect((await open().run('1', -1)).errmsg).toContain('timeout of -1 seconds');
});
