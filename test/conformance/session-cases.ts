/** What every session must do. */
import { describe, expect, test } from 'vitest';
import { foldExecution } from '../../src/execution/transcript.ts';
import type { Event, Execution, Session } from '../../src/index.ts';
import { LIBRARIES, OUTPUT, VALUES, VARIABLES } from './code-cases.ts';
import { ASLEEP, CAPS, download, evaluate, LIMITS, sha256, whileRunning, type Context } from './context.ts';

const FOREVER = 'while True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass';

export function testResults({ capabilities, shared }: Context): void {
  describe.each([
    ['values', VALUES],
    ['output', OUTPUT],
    ['variables', VARIABLES],
    ['libraries', LIBRARIES],
  ] as const)('%s', (_, cases) => {
    test.each(cases)('$title', async ({ before, code, options, expected }) => {
      if (before !== undefined) await shared().runCode(before);
      expect(await shared().runCode(code, options)).toMatchObject(expected);
    });
  });

  test('an exception is a result with name, message and traceback', async () => {
    const { outcome, error, logs } = await shared().runCode("print('before')\n\nint('x')");
    expect(outcome).toEqual({ status: 'raised' });
    expect(error).toMatchObject({
      name: 'ValueError',
      value: "invalid literal for int() with base 10: 'x'",
      traceback: expect.stringMatching(capabilities.tracebackOf(3)) as string,
    });
    expect(error?.traceback).not.toContain('\x1b');
    expect(logs.stdout).toBe('before\n');
  });

  test('a syntax error is a result too', async () => {
    const { outcome, error } = await shared().runCode('def (');
    expect(outcome.status).toBe('raised');
    expect(error?.name).toBe('SyntaxError');
  });

  test('output comes while the code runs', async () => {
    const events = shared().stream(ASLEEP);
    const first: IteratorResult<Event, void> = await events.next();
    expect(first.value).toMatchObject({
      type: 'output',
      stream: 'stdout',
      text: expect.stringContaining('begun') as string,
    });
    await events.return(); // leaving stops the program
    expect(await evaluate(shared(), '1 + 1')).toBe('2');
  });

  test('the events of a stream, put together, are the execution; the last one is the end', async () => {
    const events: Event[] = [];
    for await (const event of shared().stream("print('one')\nopen('streamed.txt', 'w').write('x')\n2"))
      events.push(event);
    expect(events.at(-1)?.type).toBe('done');
    expect(events.filter(({ type }) => type === 'done')).toHaveLength(1);
    expect(
      await foldExecution(
        (async function* () {
          yield* events;
        })(),
        1 << 20,
      ),
    ).toMatchObject({
      sessionId: shared().id,
      outcome: { status: 'succeeded' },
      logs: { stdout: 'one\n' },
      results: [{ data: { 'text/plain': '2' } }],
      files: [{ path: 'streamed.txt', change: 'created' }],
    });
  });

  test('isolation says what confines a session', async () => {
    const { isolation } = await shared().runCode('1');
    expect(isolation.level).toBe(capabilities.level);
    expect(isolation).toEqual(shared().isolation);
  });
}

export function testStopping({ capabilities, shared, open }: Context): void {
  test('an interrupt ends the run and keeps the state', async () => {
    await shared().runCode('kept = 7');
    const execution = await whileRunning(shared(), {}, () => shared().interrupt());
    expect(execution).toMatchObject({ outcome: { status: 'cancelled' }, state: { status: 'preserved' } });
    expect(await evaluate(shared(), 'kept')).toBe('7');
  });

  test('an abort cancels, also one that came before the run', async () => {
    const controller = new AbortController();
    const execution = await whileRunning(shared(), { signal: controller.signal }, () => controller.abort());
    expect(execution.outcome).toEqual({ status: 'cancelled' });
    const never = await shared().runCode(ASLEEP, { signal: AbortSignal.abort() });
    expect(never.outcome).toEqual({ status: 'cancelled' });
    expect(await evaluate(shared(), '1 + 1')).toBe('2');
  });

  test('at the time limit the code is interrupted, with its output and the state kept', async () => {
    const execution = await shared().runCode("late = 1\nprint('partial')\nimport time; time.sleep(60)", {
      timeoutMs: 500,
    });
    expect(execution).toMatchObject({
      outcome: { status: 'timed-out', limit: 'wall', limitMs: 500 },
      logs: { stdout: 'partial\n' },
      error: { name: 'KeyboardInterrupt' },
      state: { status: 'preserved' },
    });
    expect(await evaluate(shared(), 'late')).toBe('1');
  });

  test('code that ignores the interrupt is ended, and the receipt says what became of the state', async () => {
    await using session = await open();
    await session.runCode('before = 1\nimport time');
    const execution = await session.runCode(FOREVER, { timeoutMs: 300 });
    expect(execution.outcome.status).toBe('timed-out');
    expect(execution.durationMs).toBeLessThan(300 + (LIMITS.graceMs ?? 0) + 3000);
    await expectLoss(session, execution);
  });

  test('a crash ends the run at once, and nothing is run again', async () => {
    await using session = await open();
    await session.runCode('before = 1');
    const execution = await session.runCode("open('runs', 'a').write('x')\nimport os\nos.kill(os.getpid(), 9)");
    expect(execution.outcome.status).toBe('crashed');
    expect(execution.durationMs).toBeLessThan(capabilities.noticesDeathMs);
    await expectLoss(session, execution);
    expect(String(await download(session, 'runs'))).toBe('x');
  });

  async function expectLoss(session: Session, { state }: Execution): Promise<void> {
    expect(state.status).toBe(capabilities.restoresState ? 'restored' : 'lost');
    expect(state.reason).toBeTruthy();
    expect(state.generation).toBe(2);
    const next = await session.runCode("'before' in globals()");
    expect(next.results[0]?.data['text/plain']).toBe(capabilities.restoresState ? 'True' : 'False');
    expect(next.state).toMatchObject({ status: 'preserved', generation: 2 });
  }
}

export function testState({ capabilities, shared, open }: Context): void {
  test('a host that cannot restore the state says so with every result', async () => {
    const { state } = await shared().runCode('protected = 1');
    expect(state.unprotected === undefined).toBe(capabilities.restoresState);
  });

  test('a host that cannot restore the state says once what to do about that', async () => {
    await using session = await open();
    const [first, second] = [await session.runCode('a = 1'), await session.runCode('b = 2')];
    expect(first.state.remedy === undefined).toBe(capabilities.restoresState);
    expect(second.state.remedy).toBeUndefined();
  });

  test.runIf(capabilities.rollsBack)('rollback undoes the last run', async () => {
    await using session = await open();
    await session.runCode('value = 1');
    await session.runCode('value = 2');
    await session.rollback();
    expect(await evaluate(session, 'value')).toBe('1');
  });

  test.runIf(!capabilities.rollsBack)('rollback says that it cannot, and changes nothing', async () => {
    await shared().runCode('value = 1');
    await expect(shared().rollback()).rejects.toMatchObject({ code: 'NOTHING_TO_ROLL_BACK' });
    expect(await evaluate(shared(), 'value')).toBe('1');
  });

  test('reset gives a fresh interpreter on the same files, and runs the init code again', async () => {
    await using session = await open({ env: { GREETING: 'hello' }, initCode: "open('inits', 'a').write('x')" });
    await session.runCode("value = 1\nopen('kept.txt', 'w').write('kept')");
    await session.reset();
    expect(await evaluate(session, "'value' in globals(), open('kept.txt').read()")).toBe("(False, 'kept')");
    expect(await evaluate(session, "__import__('os').environ['GREETING']")).toBe("'hello'");
    expect(String(await download(session, 'inits'))).toBe('xx');
    expect((await session.runCode('1')).state).toMatchObject({ status: 'preserved', generation: 2 });
  });

  test('init code that fails is an error of the caller, and no session is left', async () => {
    await expect(open({ id: 'never', initCode: '1 / 0' })).rejects.toMatchObject({ code: 'INIT_FAILED' });
    await using session = await open({ id: 'never', initCode: 'ready = 1' });
    expect(await evaluate(session, 'ready')).toBe('1');
  });

  test('inspect lists the variables and no more', async () => {
    await using session = await open();
    await session.runCode("number = 42\nwords = ['a', 'b']\nimport json");
    expect(await session.inspect()).toMatchObject([
      { name: 'number', type: 'int', description: '42' },
      { name: 'words', type: 'list', description: 'list of 2' },
    ]);
  });

  test('code is completed with what the session holds, and nothing is changed by that', async () => {
    await using session = await open();
    await session.runCode("price = 1\nprices = {'north': 2}\nimport json, sys\nmodules = set(sys.modules)");
    expect(await session.complete('pri')).toEqual({ matches: ['price', 'prices', 'print'], start: 0, end: 3 });
    expect(await session.complete('🙂 = pric + 1', 9)).toEqual({ matches: ['price', 'prices'], start: 5, end: 9 });
    expect((await session.complete('x = json.dum')).matches).toEqual(['dump', 'dumps']);
    expect(await session.complete('prices["no')).toEqual({ matches: ['north"]'], start: 8, end: 10 });
    expect((await session.complete('import colors')).matches).toEqual(['colorsys']);
    expect(await session.complete('f().x')).toEqual({ matches: [], start: 5, end: 5 });
    expect(await session.complete('')).toMatchObject({ start: 0, end: 0 });
    expect((await session.runCode('set(sys.modules) - modules')).results[0]?.data['text/plain']).toBe('set()');
    for (const cursor of [-1, 1.5, 5]) {
      await expect(session.complete('four', cursor)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });

  test('a program has no arguments, and does not see those of its interpreter', async () => {
    expect(await evaluate(shared(), "__import__('sys').argv")).toBe("['']");
  });

  test('variables and context are set from outside', async () => {
    await shared().setVariables({ given: { list: [1, null, 'ä'] } });
    expect(await evaluate(shared(), 'given')).toBe("{'list': [1, None, 'ä']}");
    await shared().setContext({ WEATHER: { today: { degrees: 20 } } });
    expect(await evaluate(shared(), 'context.WEATHER.today.degrees')).toBe('20');
  });

  test('the history is a notebook', async () => {
    await using session = await open();
    await session.runCode("print('shown')\n6 * 7");
    const { nbformat, cells } = await session.exportNotebook({ title: 'A history' });
    expect(nbformat).toBe(4);
    expect(cells[0]?.source.join('')).toBe('# A history');
    expect(cells.at(-1)).toMatchObject({
      source: ["print('shown')\n", '6 * 7'],
      outputs: [{ output_type: 'stream' }, { output_type: 'execute_result', data: { 'text/plain': ['42'] } }],
    });
  });
}

export function testFiles({ open }: Context): void {
  test('what a run writes is found, and files go in and out', async () => {
    await using session = await open({ limits: { ...LIMITS, fileMb: 1 } });
    const { files } = session;
    const uploaded = await files.upload('data/in put ä.csv', 'a,b\n1,2\n');
    expect(uploaded).toEqual({ path: 'data/in put ä.csv', sizeBytes: 8, mime: 'text/csv' });
    const code = "text = open('data/in put ä.csv').read()\nopen('out.csv', 'w').write(text * 2)";
    const execution = await session.runCode(code);
    expect(execution.files).toMatchObject([{ path: 'out.csv', sizeBytes: 16, change: 'created' }]);
    expect((await files.list()).files.map((file) => file.path)).toEqual(['data/in put ä.csv', 'out.csv']);
    expect(String(await download(session, 'out.csv'))).toBe('a,b\n1,2\na,b\n1,2\n');
    await files.remove('out.csv');
    await expect(files.download('out.csv')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(files.remove('out.csv')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(files.download('../secret')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
    await expect(files.upload('../secret', 'x')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
    const large = Buffer.alloc((1 << 20) + 1);
    await expect(files.upload('large', large)).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
  });

  test('20 megabytes go in and out unharmed', async () => {
    await using session = await open();
    const bytes = Buffer.alloc(20 << 20, 'vivarium ');
    await session.files.upload('large.bin', 'to be replaced');
    await session.files.upload('large.bin', bytes);
    const hash = "__import__('hashlib').sha256(open('large.bin', 'rb').read()).hexdigest()";
    expect(await evaluate(session, hash)).toBe(`'${sha256(bytes)}'`);
    expect((await download(session, 'large.bin')).equals(bytes)).toBe(true);
    expect((await session.files.list()).files).toHaveLength(1);
  });

  test('sessions share neither variables nor files', async () => {
    await using one = await open();
    await using other = await open();
    await one.runCode("secret = 1\nopen('secret.txt', 'w').close()");
    expect(await evaluate(other, "'secret' in globals(), __import__('os').listdir()")).toBe('(False, [])');
  });
}

export function testTurns({ shared, open }: Context): void {
  test('runs of one session take turns, in the order of the calls', async () => {
    await shared().runCode('order = []');
    const runs = [1, 2].map((n) => shared().runCode(`import time; time.sleep(0.05); order.append(${n})`));
    await Promise.all(runs);
    expect(await evaluate(shared(), 'order')).toBe('[1, 2]');
  });

  test('a run has the id that it is given, and its listener gets every event in turn', async () => {
    const events: Event[] = [];
    let isBusy = false;
    const onEvent = async (event: Event): Promise<void> => {
      expect(isBusy).toBe(false);
      isBusy = true;
      await new Promise((resolve) => setImmediate(resolve));
      events.push(event);
      isBusy = false;
    };
    const executionId = `chosen-${Date.now()}`;
    const execution = await shared().runCode('print("a", flush=True)\n1 + 1', { executionId, onEvent });
    expect(execution.id).toBe(executionId);
    expect(events.map(({ type }) => type)).toEqual(['output', 'result', 'done']);
    expect(events.at(-1)).toMatchObject({ summary: { id: executionId, outcome: { status: 'succeeded' } } });
  });

  test('a listener that throws stops the program', async () => {
    const onEvent = (): never => {
      throw new RangeError('that is enough');
    };
    const endless = 'while True: print("x", flush=True)';
    await expect(shared().runCode(endless, { onEvent })).rejects.toThrow('that is enough');
    expect(await evaluate(shared(), '1 + 1')).toBe('2');
  });

  test('a full queue refuses, and so does a busy session where the caller does not want to wait', async () => {
    await using session = await open();
    const events = session.stream(ASLEEP);
    await events.next();
    const waiting = [session.runCode('1'), session.inspect()];
    await expect.poll(async () => session.info()).toMatchObject({ status: 'running', queued: CAPS.maxQueue });
    await expect(session.runCode('3')).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    await expect(session.runCode('3', { whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
    await events.return();
    await Promise.all(waiting);
    expect(await session.info()).toMatchObject({ status: 'idle', queued: 0 });
  });
}

export function testCommands({ capabilities, shared, open }: Context): void {
  test.runIf(capabilities.runsCommands)('a command reads, prints and ends, on the files of the session', async () => {
    await shared().runCode("open('for-command.txt', 'w').write('written by Python')");
    const result = await shared().exec(['sh', '-c', 'cat for-command.txt -; exit 3'], { input: ', and input' });
    expect(result).toMatchObject({ exitCode: 3, stdout: 'written by Python, and input', stderr: '', timedOut: false });
    expect(await shared().exec(['no-such-program'])).toMatchObject({ exitCode: 127 });
  });

  test.runIf(capabilities.runsCommands)('a command runs beside code, is written to, and is killed', async () => {
    await using session = await open();
    const running = whileRunning(session, {}, async () => {
      const { promise: answered, resolve } = Promise.withResolvers<string>();
      const command = await session.spawn(['cat'], { onOutput: ({ text }) => resolve(text) });
      await command.write('hello');
      expect(await answered).toBe('hello');
      expect(await command.kill()).toBe(true);
      expect(await command.result).toMatchObject({ exitCode: null, signal: 'SIGKILL', stdout: 'hello' });
      await session.interrupt();
    });
    expect((await running).outcome.status).toBe('cancelled');
  });

  test.runIf(!capabilities.runsCommands)('a command is refused with the reason', async () => {
    await expect(shared().exec(['true'])).rejects.toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
      message: expect.stringContaining('Jupyter kernel') as string,
    });
  });
}
