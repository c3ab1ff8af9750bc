/** What the action gets right where the original does not, and what its users rely on without being told. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createInterpreter, type Interpreter } from '../../../src/index.ts';
import { ActionStatusCode, IPythonInterpreter, type ActionReturn, type IPythonOptions } from '../../../src/tools.ts';

let engine: Interpreter;
let workDir: string;
let shared: IPythonInterpreter;
beforeAll(async () => {
  engine = await createInterpreter();
  workDir = await mkdtemp(path.join(os.tmpdir(), 'ipython-'));
  shared = new IPythonInterpreter({ engine, workDir });
});
afterAll(async () => {
  await engine?.close();
  await rm(workDir, { recursive: true, force: true });
});

function open(options: IPythonOptions = {}): IPythonInterpreter {
  const interpreter = new IPythonInterpreter({ engine, workDir, ...options });
  onTestFinished(() => interpreter.close());
  return interpreter;
}

const textOf = ({ result, errmsg }: ActionReturn): string | undefined => errmsg ?? result?.[0]?.content;
const run = async (command: string): Promise<string | undefined> => textOf(await shared.run(command));

test('U-36 X-02 a plotly figure is a file with its JSON, and its path is in the result', async () => {
  const code = 'import plotly.graph_objects as go\nfig = go.Figure(go.Scatter(y=[1, 3, 2]))\nfig.show()';
  const { result } = await shared.run(code);
  expect(result?.map(({ type }) => type)).toEqual(['text', 'file']);
  const { data } = JSON.parse(await readFile(result?.[1]?.content ?? '', 'utf8')) as { data: unknown };
  expect(data).toMatchObject([{ type: 'scatter' }]);
});

test('LB-04 a call takes no longer than its code', async () => {
  await run('1');
  const started = performance.now();
  await run('2');
  expect(performance.now() - started).toBeLessThan(2000);
});

test('LB-05 a cell that timed out leaves nothing to the next result', async () => {
  const interpreter = open();
  const late = 'import threading, time\nprint("early", flush=True)\nwhile True: time.sleep(0.05)';
  expect((await interpreter.run(late, 0.3)).errmsg).toMatch(/^early\nTimeout/);
  expect(textOf(await interpreter.run('"next"'))).toBe("'next'");
});

test('LB-07 two instances, and two conversations of one, see nothing of each other', async () => {
  const [a, b] = [open(), open()];
  await a.run('x = 1');
  expect(textOf(await b.run('"x" in globals()'))).toBe('False');
  const tool = a.toTool();
  const { text: seen } = await tool.call({ command: '"x" in globals()' }, { context: { chatId: 'other' } });
  expect(seen).toBe('False');
  expect((await tool.call({ command: 'x' })).text).toBe('1');
});

test('LB-10 a display backend that the host asks for changes nothing', async () => {
  process.env['MPLBACKEND'] = 'TkAgg';
  onTestFinished(() => void delete process.env['MPLBACKEND']);
  await using own = await createInterpreter({ poolSize: 0, preload: [] });
  const { result } = await open({ engine: own }).run('import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()');
  expect(result?.[1]).toMatchObject({ type: 'image' });
});

test('LB-13 LB-14 a value and output come together, and the word Error is no failure', async () => {
  expect(await shared.run('print("Error: only a word")\n5')).toMatchObject({
    state: ActionStatusCode.SUCCESS,
    result: [{ type: 'text', content: 'Error: only a word\n5' }],
  });
});

test('a conversation whose session was evicted goes on in a fresh one, and is told so once', async () => {
  await using own = await createInterpreter({ poolSize: 0, preload: [], idleMs: 40 });
  const interpreter = open({ engine: own });
  await interpreter.run('x = 1');
  await expect.poll(() => own.listSessions().length).toBe(0);
  expect(textOf(await interpreter.run('"x" in globals()'))).toMatch(/^\[Session .* evicted .*\]\nFalse$/);
});

test('LB-16 a crash is an answer, and the variables are there', async () => {
  const interpreter = open();
  await interpreter.run('x = 1');
  const crash = await interpreter.run('import os\nos.kill(os.getpid(), 11)');
  expect(crash.errmsg).toMatch(/crashed: .*SIGSEGV[^]*every variable is as it was/);
  expect(textOf(await interpreter.run('x'))).toBe('1');
});
