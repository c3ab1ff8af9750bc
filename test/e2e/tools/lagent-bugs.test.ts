/** What the action gets right where the original does not, and what its users rely on without being told. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createHost } from '../../../src/index.ts';
import { ActionStatusCode } from '../../../src/tools.ts';
import { open, run, shared, textOf, workDir } from './lagent-laboratory.ts';

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
  const host = open();
  const late = `
import threading, time
def chatter():
    while True:
        print("late", flush=True)
        time.sleep(0.01)
threading.Thread(target=chatter, daemon=True).start()
while True: time.sleep(0.05)`;
  expect((await host.run(late, 0.3)).errmsg).toMatch(/^(late\n)+Timeout/);
  expect(textOf(await host.run('import time; time.sleep(0.2); "next"'))).toBe("'next'");
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
  await using own = await createHost({ poolSize: 0, preload: [] });
  const { result } = await open({ engine: own }).run('import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()');
  expect(result?.[1]).toMatchObject({ type: 'image' });
});

test('LB-13 LB-14 a value and output come together, and the word Error is no failure', async () => {
  expect(await shared.run('print("Error: only a word")\n5')).toMatchObject({
    state: ActionStatusCode.SUCCESS,
    result: [{ type: 'text', content: 'Error: only a word\n5' }],
  });
});

test('X-06 U-06 a conversation whose session was evicted goes on in a fresh one, and is told so once', async () => {
  await using own = await createHost({ poolSize: 0, preload: [], idleMs: 40 });
  const host = open({ engine: own });
  await host.run('x = 1');
  await expect.poll(async () => (await own.listSessions()).length).toBe(0);
  expect(textOf(await host.run('"x" in globals()'))).toMatch(/^\[Session .* evicted .*\]\nFalse$/);
  await expect.poll(async () => (await own.listSessions()).length).toBe(0);
  const { text } = await host.toTool().call({ command: '"x" in globals()' });
  expect(text).toMatch(/^\[Session .* evicted .*\]\nFalse$/);
});

test('LB-06 a limit holds in a thread that is not the main one, and for several at once', async () => {
  const program = `
    import { parentPort } from 'node:worker_threads';
    import { IPythonInterpreter } from ${JSON.stringify(import.meta.resolve('../../../src/tools.ts'))};
    const one = new IPythonInterpreter();
    const limited = (id) => one.run('while True: pass', 0.3, { context: { chat_id: id } });
    const answers = await Promise.all(['a', 'b'].map(limited));
    parentPort.postMessage(answers.map(({ errmsg }) => errmsg));
    await one.close();`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  onTestFinished(async () => void (await worker.terminate()));
  const [answers] = (await once(worker, 'message')) as [string[]];
  expect(answers).toEqual(['a', 'b'].map(() => 'Timeout. No response after 0.3 seconds.'));
});

test('LB-16 what a prompt injection would reach for is not there: files, network, credentials', async () => {
  process.env['IPYTHON_TEST_KEY'] = 'sk-secret';
  onTestFinished(() => void delete process.env['IPYTHON_TEST_KEY']);
  const secret = path.join(workDir, 'id_rsa');
  await writeFile(secret, 'secret');
  const attempt = `
import os, socket, subprocess
def tried(act):
    try:
        return act()
    except OSError as error:
        return type(error).__name__
print(tried(lambda: open(${JSON.stringify(secret)}).read()))
print(tried(lambda: socket.create_connection(("192.0.2.1", 80), 2)) in ("OSError", "TimeoutError", "PermissionError"))
print("sk-secret" in str(dict(os.environ)), "sk-secret" in subprocess.run("env; cat /proc/*/environ", shell=True, capture_output=True, text=True).stdout)`;
  expect(await run(attempt)).toBe('FileNotFoundError\nTrue\nFalse False\n');
});

test('a crash is an answer, and the variables are there', async () => {
  const host = open();
  await host.run('x = 1');
  const crash = await host.run('import os\nos.kill(os.getpid(), 11)');
  expect(crash.errmsg).toMatch(/crashed: .*SIGSEGV[^]*every variable is as it was/);
  expect(textOf(await host.run('x'))).toBe('1');
});
