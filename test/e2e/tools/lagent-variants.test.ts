/** The classes that lagent has beside its interpreter, over the same sessions. */
import { existsSync } from 'node:fs';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import {
  ActionExecutor,
  ActionStatusCode,
  AsyncIPythonInterpreter,
  InternLMActionProcessor,
  IPythonInteractive,
  IPythonInteractiveManager,
  PythonInterpreter,
  type ActionCall,
  type ActionReturn,
  type AsyncIPythonOptions,
  type PythonInterpreterOptions,
} from '../../../src/tools.ts';
import { host, open, textOf, workDir } from './lagent-laboratory.ts';

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of closing.splice(0)) await one[Symbol.asyncDispose]();
});

function openAsync(options: AsyncIPythonOptions = {}): AsyncIPythonInterpreter {
  const interpreter = new AsyncIPythonInterpreter({ host, workDir, ...options });
  closing.push(interpreter);
  return interpreter;
}

function answering(options: PythonInterpreterOptions = {}): PythonInterpreter {
  const interpreter = new PythonInterpreter({ host, ...options });
  closing.push(interpreter);
  return interpreter;
}

test('L-51 the asynchronous interpreter has a session for each id, which it resets, closes and opens again', async () => {
  const interpreter = openAsync({
    timeout: 20,
    max_kernels: 8,
    reuse_kernel: true,
    startup_rate: 32,
    connection_dir: '/tmp',
  });
  expect([interpreter.name, interpreter.timeout]).toEqual(['AsyncIPythonInterpreter', 20]);
  await Promise.all(['a', 'b', 'c'].map((id) => interpreter.run(`x = "${id}"`, null, id)));
  const seen = await Promise.all(['a', 'b', 'c'].map((id) => interpreter.run('x', null, id)));
  expect(seen.map(textOf)).toEqual(["'a'", "'b'", "'c'"]);
  await interpreter.reset('a');
  await interpreter.run('open("left", "w").close()', null, 'b');
  const before = (await host.listSessions()).length;
  await interpreter.close_session('b');
  await interpreter.shutdown('c');
  expect(await host.listSessions()).toHaveLength(before - 2);
  const after = await Promise.all(
    ['a', 'b', 'c'].map((id) => interpreter.run('import os; ("x" in globals(), os.listdir())', null, id)),
  );
  expect(after.map(textOf)).toEqual(['(False, [])', '(False, [])', '(False, [])']);
});

test('L-51 one kernel more than max_kernels is refused, until another is closed', async () => {
  const interpreter = openAsync({ maxKernels: 2 });
  await Promise.all([interpreter.initialize('a'), interpreter.initialize('b')]);
  const refused = await interpreter.run('1', null, 'c');
  expect(refused).toMatchObject({ state: ActionStatusCode.API_ERROR, result: null });
  expect(refused.errmsg).toMatch(/All 2 kernels are in use.*close_session/);
  expect(textOf(await interpreter.run('1', null, 'a'))).toBe('1');
  await interpreter.close_session('a');
  expect(textOf(await interpreter.run('1', null, 'c'))).toBe('1');
  // @ts-expect-error - a misspelt option of a caller from JavaScript
  expect(() => openAsync({ max_kernel: 2 })).toThrow(/max_kernel/);
});

test('LB-13 the asynchronous interpreter shows figures, and a value beside what was printed', async () => {
  const interpreter = openAsync();
  const drawn = await interpreter.run(
    'import matplotlib.pyplot as plt\nprint("printed")\nplt.plot([1])\nplt.show()\ndisplay("shown")\n5',
    null,
    'a',
  );
  expect(drawn).toMatchObject({ state: ActionStatusCode.SUCCESS, errmsg: null });
  expect(drawn.result?.map(({ type }) => type)).toEqual(['text', 'image']);
  expect(drawn.result?.[0]?.content).toBe("printed\n'shown'\n5");
  expect(existsSync(drawn.result?.[1]?.content ?? '')).toBe(true);
});

test('LB-13 a limit of 40 seconds and more is one, and code is never run again', async () => {
  const interpreter = openAsync({ timeout: 45 });
  const count = 'open("runs", "a").write("x")\n';
  expect(textOf(await interpreter.run(`${count}raise KeyboardInterrupt`))).toContain('KeyboardInterrupt');
  expect(textOf(await interpreter.run('print("KeyboardInterrupt", end="")', 90))).toBe('KeyboardInterrupt');
  const late = await interpreter.run(`${count}while True: pass`, 0.3);
  expect(late.errmsg).toBe('The code interpreter encountered a timeout error.');
  expect(textOf(await interpreter.run('open("runs").read()'))).toBe("'xx'");
});

test('L-52 LB-14 the interactive shell keeps its state, and cuts output at its documented length', async () => {
  await using shell = new IPythonInteractive({ host, workDir });
  expect([shell.name, shell.timeout, shell.max_out_len]).toEqual(['IPythonInteractive', 30, 8192]);
  await shell.run('print("Error: only a word")\nx = 1');
  expect(textOf(await shell.run('print("first")\nx + 1'))).toBe('first\n2');
  const long = (await shell.run('print("HEAD" + "x" * 20_000 + "TAIL")')).result?.[0]?.content ?? '';
  expect(long).toMatch(/^HEADx+\n… 11817 characters omitted …\nx+TAIL\n$/);
  const failed = await shell.run('print("y" * 20_000)\n1/0');
  expect(failed.errmsg).toMatch(/^y+\n… \d+ characters omitted …\ny+\nTraceback[^]*ZeroDivisionError/);
  await shell.reset();
  expect((await shell.run('x')).errmsg).toContain('NameError');
  await using whole = new IPythonInteractive({ host, workDir, timeout: 20, max_out_len: -1, use_signals: false });
  expect((await whole.run('print("z" * 20_000)')).result?.[0]?.content).toHaveLength(20_001);
});

test('L-52 the manager runs lists of commands by session, no more at once than it has workers', async () => {
  await using shells = new IPythonInteractiveManager({ host, workDir, max_workers: 2, timeout: 20, ci_lock: null });
  expect(shells.name).toBe('IPythonInteractiveManager');
  await shells.call(['x = 0', 'x = 10', 'x = 20', 'x = 30'], [0, 1, 2, 3]);
  const seen = await shells.call(['x + 1', 'x + 2', '1/0', 'x + 4'], [3, 2, 1, 0]);
  expect(seen.map(({ state }) => state)).toEqual([0, 0, ActionStatusCode.API_ERROR, 0]);
  expect([seen[0], seen[1], seen[3]].map((one) => textOf(one as ActionReturn))).toEqual(['31', '22', '4']);
  const clock = 'import time; begin = time.time(); time.sleep(0.4); print(begin, time.time())';
  const spans = (await shells.call([clock, clock, clock, clock])).map(
    (one) => textOf(one)?.split(' ').map(Number) ?? [],
  );
  const together = spans.map(([begin = 0]) => spans.filter(([from = 0, to = 0]) => from <= begin && begin < to).length);
  expect(Math.max(...together)).toBe(2);
  await shells.reset();
  expect(textOf(await shells.call('"x" in globals()', 0))).toBe('False');
});

test('L-52 a program is asked for its answer: an expression, a variable, or the last line', async () => {
  const program = 'def solution():\n    return sum(range(5))\nother = [1, 2]\nprint("first")\nprint("last")';
  const content = async (options: PythonInterpreterOptions, code = program): Promise<unknown> =>
    (await answering(options).run(code)).result;
  expect(await content({})).toEqual([{ type: 'text', content: '10' }]);
  expect(await content({ answer_expr: 'solution() + 1  # more' })).toEqual([{ type: 'text', content: '11' }]);
  expect(await content({ answer_symbol: 'other' })).toEqual([{ type: 'text', content: '[1, 2]' }]);
  expect(await content({ answer_from_stdout: true })).toEqual([{ type: 'text', content: 'last' }]);
  expect(await content({ answer_expr: null }, 'x = 20\nx + 1')).toEqual([{ type: 'text', content: '21' }]);
  expect(await content({}, 'Here:\n```python\ndef solution(): return 7\n```')).toEqual([
    { type: 'text', content: '7' },
  ]);
  expect((await answering().call('{"command": "def solution(): return 3"}')).result?.[0]?.content).toBe('3');
});

test('L-52 a program without an answer is an error in words, and each run is fresh', async () => {
  const interpreter = answering({ timeout: 0.5 });
  expect(interpreter.name).toBe('PythonInterpreter');
  expect((await interpreter.run('print("so far")\n1/0')).errmsg).toMatch(/^so far\nTraceback[^]*ZeroDivisionError/);
  expect(await interpreter.run('left = 1')).toMatchObject({
    state: ActionStatusCode.API_ERROR,
    errmsg: expect.stringContaining("NameError: name 'solution' is not defined") as unknown,
  });
  expect((await interpreter.run('def solution(): return left')).errmsg).toContain("name 'left' is not defined");
  expect((await interpreter.run('def solution():\n    while True: pass')).errmsg).toBe(
    'Timeout. No response after 0.5 seconds.',
  );
  expect((await answering({ answerFromStdout: true }).run('x = 1')).errmsg).toBe('The program printed nothing.');
  expect(() => answering({ timeout: 0 })).toThrow(/timeout of 0 seconds/);
});

test('L-53 hooks see each call before and after it, may replace both, and can be removed', async () => {
  const seen: string[] = [];
  const executor = new ActionExecutor(open(), { hooks: [new InternLMActionProcessor()] });
  const handle = executor.register_hook({
    before_action: (_, { name, parameters, context }: ActionCall) => {
      seen.push(`before ${name} ${JSON.stringify(parameters)} ${context?.session_id}`);
    },
    after_action: async (by, returned) => {
      seen.push(`after ${textOf(returned)} ${by === executor}`);
      returned.thought = 'seen by a hook';
      return Promise.resolve(returned);
    },
  });
  const context = { session_id: 'one' };
  const returned = await executor.call('IPythonInterpreter', 'x = 6\nx * 7', { context });
  expect([textOf(returned), returned.thought]).toEqual(['42', 'seen by a hook']);
  expect(seen).toEqual(['before IPythonInterpreter {"command":"x = 6\\nx * 7"} one', 'after 42 true']);
  handle.remove();
  expect(textOf(await executor.call('IPythonInterpreter', { command: 'x' }, { context }))).toBe('6');
  const other = await executor.call('IPythonInterpreter', 'x', { context: { session_id: 'two' } });
  expect(other.errmsg).toContain('NameError');
  expect(seen).toHaveLength(2);
});

test('L-53 a hook may send a call elsewhere, and one that throws stops it', async () => {
  const executor = new ActionExecutor(open());
  const redirect = executor.registerHook({ beforeAction: (_, call) => ({ ...call, name: 'IPythonInterpreter' }) });
  onTestFinished(() => redirect.remove());
  expect(textOf(await executor.call('python', { command: '1' }))).toBe('1');
  executor.registerHook({
    beforeAction: () => {
      throw new Error('not today');
    },
  });
  await expect(executor.call('python', { command: '1' })).rejects.toThrow('not today');
});
