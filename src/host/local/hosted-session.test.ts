/** Sessions with a real Python behind them. */
import { access, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Event } from '../../execution/event.ts';
import type { Host } from '../host.ts';
import { createHost } from './local-host.ts';
import type { SessionOptions } from '../options.ts';
import type { Session } from '../session.ts';

const FOREVER = 'import time\nprint("started", flush=True)\nwhile True: time.sleep(0.01)';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], maxQueue: 2 });
});
afterAll(() => host?.close());

async function open(options: SessionOptions = {}): Promise<Session> {
  const session = await host.createSession(options);
  onTestFinished(() => session.close());
  return session;
}

/** Begins an endless program and resolves when it runs. */
async function occupy(session: Session, signal?: AbortSignal) {
  const events = session.stream(FOREVER, signal ? { signal } : {});
  expect(await events.next()).toMatchObject({ value: { type: 'output', text: 'started\n' } });
  return events;
}

test('variables persist from run to run', async () => {
  const session = await open();
  await session.runCode('x = 10');
  const execution = await session.runCode('print(x * 2)');
  expect(execution).toMatchObject({
    sessionId: session.id,
    outcome: { status: 'succeeded' },
    logs: { stdout: '20\n', stderr: '' },
    state: { status: 'preserved' },
  });
  expect(await session.info()).toMatchObject({
    id: session.id,
    status: 'idle',
    executions: 2,
    queued: 0,
    clientId: null,
  });
});

test('a raising program is a result, not an exception', async () => {
  const session = await open();
  const execution = await session.runCode('1/0');
  expect(execution.outcome.status).toBe('raised');
  expect(execution.error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
});

test('the echo of expressions is set by the run, otherwise by the session', async () => {
  const session = await open({ echo: 'all' });
  expect((await session.runCode('1\n2')).logs.stdout).toBe('1\n2\n');
  const last = await session.runCode('1\n2', { echo: 'last' });
  expect(last).toMatchObject({ logs: { stdout: '' }, results: [{ data: { 'text/plain': '2' } }] });
  expect(await session.runCode('1\n2', { echo: 'none' })).toMatchObject({ logs: { stdout: '' }, results: [] });
});

test('__future__, await and indented code work as they are written', async () => {
  const session = await open();
  await session.runCode('from __future__ import annotations');
  const code = '    import asyncio\n    def f(a: Missing): pass\n    await asyncio.sleep(0, 42)';
  expect(await session.runCode(code)).toMatchObject({
    outcome: { status: 'succeeded' },
    results: [{ data: { 'text/plain': '42' } }],
  });
});

test('runs of one session take turns, in the order of the calls', async () => {
  const session = await open();
  const first = session.runCode('import time; time.sleep(0.05); order = [1]');
  const second = session.runCode('order.append(2)');
  expect(await session.info()).toMatchObject({ status: 'running', queued: 1 });
  await Promise.all([first, second]);
  expect((await session.runCode('order')).results).toMatchObject([{ data: { 'text/plain': '[1, 2]' } }]);
});

test('a full queue refuses with numbers, and so does a busy session if the caller does not want to wait', async () => {
  const session = await open();
  const events = await occupy(session);
  const waiting = [session.runCode('1'), session.inspect()];
  await expect(session.runCode('3')).rejects.toMatchObject({
    code: 'QUEUE_FULL',
    message: expect.stringMatching(/2 calls wait/) as unknown,
  });
  await expect(session.runCode('3', { whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  await events.return();
  await Promise.all(waiting);
});

test('an abort takes a waiting run out of the queue, and its code never runs', async () => {
  const session = await open();
  const events = await occupy(session);
  const controller = new AbortController();
  const cancelled = session.runCode('ran = True', { signal: controller.signal });
  const later = session.runCode('"ran" in globals()');
  controller.abort();
  expect(await cancelled).toMatchObject({
    outcome: { status: 'cancelled' },
    durationMs: 0,
    state: { status: 'preserved' },
  });
  await events.return();
  expect((await later).results).toMatchObject([{ data: { 'text/plain': 'False' } }]);
  const never = await session.runCode('1', { signal: controller.signal });
  expect(never.outcome).toEqual({ status: 'cancelled' });
});

test('an abort while running stops the program, keeps its output and the state', async () => {
  const session = await open();
  await session.runCode('kept = 1');
  const controller = new AbortController();
  const events: Event[] = [];
  for await (const event of session.stream(FOREVER, { signal: controller.signal })) {
    events.push(event);
    if (event.type === 'output') controller.abort();
  }
  expect(events.at(-1)).toMatchObject({ type: 'done', summary: { outcome: { status: 'cancelled' } } });
  expect((await session.runCode('kept')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
});

test('setting variables can be aborted while it waits, and then sets nothing', async () => {
  const session = await open();
  const events = await occupy(session);
  const controller = new AbortController();
  const waiting = [
    session.setVariables({ never: 1 }, { signal: controller.signal }),
    session.setContext({}, { signal: controller.signal }),
  ];
  controller.abort(new Error('changed my mind'));
  for (const given of waiting) await expect(given).rejects.toThrow('changed my mind');
  await events.return();
  const names = (await session.inspect()).map(({ name }) => name);
  expect(names).not.toContain('never');
  expect(names).not.toContain('context');
});

test('rollback, reset, inspect and export can be aborted while they wait, and then do nothing', async () => {
  const session = await open();
  await session.runCode('x = 1');
  await session.runCode('x = 2');
  const events = await occupy(session);
  const reason = new Error('changed my mind');
  const asked = [
    (signal: AbortSignal) => session.rollback({ signal }),
    (signal: AbortSignal) => session.reset({ signal }),
    (signal: AbortSignal) => session.inspect({ signal }),
    (signal: AbortSignal) => session.exportTable('x', { signal }),
  ];
  for (const ask of asked) {
    const controller = new AbortController();
    const waiting = ask(controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  }
  await events.return();
  expect((await session.runCode('x')).results[0]?.data['text/plain']).toBe('2');
});

test('moving and listing files can be aborted', async () => {
  const session = await open();
  await session.files.upload('data', Buffer.alloc(4 << 20));
  const controller = new AbortController();
  const stream = await session.files.download('data', { signal: controller.signal });
  controller.abort();
  await expect(buffer(stream)).rejects.toThrow('aborted');
  const { signal } = controller;
  await expect(session.files.download('data', { signal })).rejects.toThrow('aborted');
  await expect(session.files.list({ signal })).rejects.toThrow('aborted');
  await expect(session.files.upload('more', 'x', { signal })).rejects.toThrow('aborted');
});

test('without a root of its own, a session finds a long output by its path on the machine', async () => {
  await using plain = await createHost({ preload: [], poolSize: 0, isolation: 'none' });
  await using session = await plain.createSession();
  const { spills } = await session.runCode('import os\nprint("x" * 5000)\nos.chdir("/")');
  const path = `${(await session.info()).workspace}/.output/run-1.stdout.txt`;
  expect(spills).toMatchObject({ stdout: { path, sizeBytes: 5001 } });
  const { results } = await session.runCode(`len(open(${JSON.stringify(path)}).read())`);
  expect(results).toMatchObject([{ data: { 'text/plain': '5001' } }]);
});

test('interrupt stops what is running, and does nothing if nothing is', async () => {
  const session = await open();
  await session.interrupt();
  await session.runCode('kept = 1');
  const events = await occupy(session);
  await session.interrupt();
  const rest = await Array.fromAsync(events);
  expect(rest.at(-1)).toMatchObject({ type: 'done', summary: { outcome: { status: 'cancelled' } } });
  expect((await session.runCode('kept')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
});

test('the stream shows the first print before the end', async () => {
  const session = await open();
  const path = `${(await session.info()).workspace}/go`;
  const code =
    'import os, time\nprint("first", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.005)\nprint("second")';
  const seen: string[] = [];
  for await (const event of session.stream(code)) {
    if (event.type === 'output') seen.push(event.text);
    if (seen.length === 1) await writeFile(path, '');
  }
  expect(seen.join('')).toBe('first\nsecond\n');
});

test('the session can be used again inside the loop as soon as `done` has come', async () => {
  const session = await open();
  const results = [];
  for await (const event of session.stream('x = 5')) {
    if (event.type === 'done') results.push(...(await session.runCode('x')).results);
  }
  expect(results).toMatchObject([{ data: { 'text/plain': '5' } }]);
});

test('breaking out of a stream stops the program and frees the session', async () => {
  const session = await open();
  for await (const event of session.stream(FOREVER)) if (event.type === 'output') break;
  expect((await session.info()).status).toBe('idle');
  expect((await session.runCode('1')).outcome.status).toBe('succeeded');
});

test('a run may have a time limit of its own', async () => {
  const session = await open();
  const execution = await session.runCode(FOREVER, { timeoutMs: 100 });
  expect(execution).toMatchObject({
    outcome: { status: 'timed-out', limitMs: 100 },
    logs: { stdout: 'started\n' },
    state: { status: 'preserved' },
  });
});

test('rollback undoes the last run; reset starts afresh on the same files', async () => {
  const session = await open();
  await session.runCode('x = 1\nopen("kept", "w").close()');
  await session.runCode('x = 2');
  expect(await session.rollback()).toMatchObject({ generation: 2 });
  expect((await session.runCode('x')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
  await session.reset();
  const execution = await session.runCode('import os; ("x" in globals(), os.path.exists("kept"))');
  expect(execution.results).toMatchObject([{ data: { 'text/plain': '(False, True)' } }]);
  await expect((await open()).rollback()).rejects.toMatchObject({ code: 'NOTHING_TO_ROLL_BACK' });
});

test('inspect shows the variables', async () => {
  const session = await open();
  await session.runCode('answer = 42');
  expect(await session.inspect()).toEqual([expect.objectContaining({ name: 'answer', type: 'int' })]);
});

test('a crash is an outcome, and the state before it is restored', async () => {
  const session = await open();
  await session.runCode('kept = 1');
  const execution = await session.runCode('import os; os._exit(3)');
  expect(execution).toMatchObject({ outcome: { status: 'crashed', exitCode: 3 }, state: { status: 'restored' } });
  expect((await session.runCode('kept')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
});

test('init code runs once before everything, and again after a reset', async () => {
  const session = await open({ initCode: 'print("not shown")\nstarted = globals().get("started", 0) + 1' });
  expect((await session.info()).executions).toBe(0);
  expect(await session.runCode('started')).toMatchObject({
    logs: { stdout: '' },
    results: [{ data: { 'text/plain': '1' } }],
  });
  expect((await session.runCode('started')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
  await session.reset();
  expect((await session.inspect()).map(({ name }) => name)).toEqual(['started']);
});

test('init code runs again when the state was lost', async () => {
  const session = await open({ initCode: 'base = 1' });
  const thread = 'import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()';
  await session.runCode(thread);
  expect((await session.runCode('import os; os._exit(1)')).state.status).toBe('lost');
  expect((await session.runCode('base')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
});

test('a rollback does not undo init code', async () => {
  const session = await open({ initCode: 'base = 1' });
  await expect(session.rollback()).rejects.toMatchObject({ code: 'NOTHING_TO_ROLL_BACK' });
  expect((await session.runCode('base')).results).toMatchObject([{ data: { 'text/plain': '1' } }]);
});

test('init code that fails is an error with its traceback, and leaves no session behind', async () => {
  const before = (await host.listSessions()).length;
  await expect(host.createSession({ initCode: 'ok = 1\n1/0' })).rejects.toMatchObject({
    code: 'INIT_FAILED',
    message: expect.stringContaining('ZeroDivisionError') as unknown,
    cause: { name: 'ZeroDivisionError' },
  });
  expect(await host.listSessions()).toHaveLength(before);
});

test('a closed session refuses: what ran is cancelled, what waited fails, its files are gone', async () => {
  const session = await host.createSession({ limits: { graceMs: 50 } });
  const { workspace } = await session.info();
  const events = await occupy(session);
  const rest = Array.fromAsync(events);
  const waiting = session.runCode('1');
  await Promise.all([
    session.close(),
    session.close(),
    expect(waiting).rejects.toMatchObject({ code: 'SESSION_CLOSED' }),
    expect(session.runCode('1')).rejects.toMatchObject({ code: 'SESSION_CLOSED' }),
  ]);
  await session.close();
  expect((await rest).at(-1)).toMatchObject({
    summary: { outcome: { status: 'cancelled' }, state: { status: 'lost', reason: expect.any(String) as unknown } },
  });
  expect((await session.info()).status).toBe('closed');
  await expect(host.getSession(session.id)).rejects.toThrow(/was closed/);
  await expect(access(workspace)).rejects.toThrow('ENOENT');
});

test('a filename is what tracebacks call the code, in this run and in later ones', async () => {
  const session = await open();
  const defined = await session.runCode('def fail():\n    raise KeyError("k")', { filename: 'jobs/first.py' });
  expect(defined.outcome.status).toBe('succeeded');
  const { error } = await session.runCode('fail()', { filename: '<my cell>' });
  expect(error?.traceback).toContain('File "<my cell>", line 1, in <module>\n    fail()');
  expect(error?.traceback).toContain('File "jobs/first.py", line 2, in fail\n    raise KeyError("k")');
  const next = await session.runCode('1 / 0');
  expect(next.error?.traceback).toContain('File "<cell 3>", line 1');
});
