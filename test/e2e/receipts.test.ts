/** Receipts at the surface of a host: what happened to the state is told until a caller has been told. */
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Execution } from '../../src/execution/execution.ts';
import type { Host } from '../../src/host/host.ts';
import { createHost } from '../../src/host/local/local-host.ts';
import type { SessionOptions } from '../../src/host/options.ts';
import type { Session } from '../../src/host/session.ts';
import { forModel } from '../../src/text/for-model.ts';
import { processesIn, workerIn } from './engine/processes.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0, limits: { graceMs: 200 } });
});
afterAll(() => host?.close());

async function open(options: SessionOptions = {}): Promise<Session> {
  const session = await host.createSession(options);
  onTestFinished(() => session.close());
  return session;
}

const TRIES = /its files are kept, and the next call tries again/;
const THREAD = 'import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()';

/** The process dies between runs, and a twin takes over before anything else is asked. */
async function loseProcess(session: Session): Promise<void> {
  const { workspace } = await session.info();
  const pids = (): string => Array.from(processesIn(workspace), ({ pid }) => pid).join(' ');
  let last = '';
  const isSettled = (): boolean => last === (last = pids()) && last.split(' ').length === 4;
  await expect.poll(isSettled, { interval: 60 }).toBe(true); // pid 1, the worker, and a twin of both states
  const before = new Set(processesIn(workspace).map(({ pid }) => pid));
  process.kill(workerIn(workspace).pid, 'SIGKILL');
  await expect.poll(() => processesIn(workspace).some(({ pid }) => !before.has(pid))).toBe(true);
}

/** The process dies between runs, and all variables with it. */
async function loseState(session: Session): Promise<void> {
  const { workspace } = await session.info();
  await session.runCode(THREAD);
  process.kill(workerIn(workspace).pid, 'SIGKILL');
  await expect.poll(() => processesIn(workspace)).toEqual([]);
}

/** No enclosure can be built on this directory. */
async function obstruct(home: string): Promise<void> {
  await rename(home, `${home}-away`);
  await writeFile(home, 'not a directory');
}

async function clear(home: string): Promise<void> {
  await rm(home);
  await rename(`${home}-away`, home);
}

const printedBy = ({ logs }: Execution): string => logs.stdout.trim();

/** What the host does in a session without handing a receipt to anybody. */
const QUIET_CALLS: readonly (readonly [name: string, call: (session: Session) => Promise<unknown>])[] = [
  ['nothing', async () => undefined],
  ['setVariables', (session) => session.setVariables({ other: 1 })],
  ['setContext', (session) => session.setContext({ other: 1 })],
  ['inspect', (session) => session.inspect()],
  ['exportTable', (session) => session.exportTable('missing').catch(() => undefined)],
  ['rollback', (session) => session.rollback().catch(() => undefined)],
  [
    'a stream that is left early',
    async (session) => {
      for await (const _ of session.stream('print("begun", flush=True)\nwhile True: pass')) break;
    },
  ],
  ['a run that is given up in the queue', (session) => session.runCode('n', { signal: AbortSignal.abort() })],
];

for (const [name, call] of QUIET_CALLS) {
  for (const initCode of [undefined, 'base = 1']) {
    const options = initCode === undefined ? {} : { initCode };
    const addition = initCode === undefined ? '' : ' in a session with init code';

    test(`a loss of all variables is told by the next receipt, although ${name} came first${addition}`, async () => {
      const session = await open(options);
      await session.runCode('n = 41');
      await loseState(session);
      await call(session);
      const next = await session.runCode('n = globals().get("n", 0) + 1; print(n)');
      expect(printedBy(next)).toBe('1');
      expect(next.state).toMatchObject({ status: 'lost', earlier: { status: 'lost' } });
      expect(forModel(next)).toMatch(/all variables from before this run are lost \(.*what it did is kept/);
      const after = await session.runCode('print(n)');
      expect([printedBy(after), after.state.status, after.state.earlier]).toEqual(['1', 'preserved', undefined]);
    });

    test(`a restore is told by the next receipt, which keeps its run, although ${name} came first${addition}`, async () => {
      const session = await open(options);
      for (const code of ['n = 40', 'n = 41']) await session.runCode(code);
      await loseProcess(session);
      await call(session);
      const next = await session.runCode('n += 1; print(n)');
      expect(printedBy(next)).toBe('42'); // nothing can be rolled back after a restore
      expect(next.state).toMatchObject({ status: 'preserved', earlier: { status: 'restored' } });
      expect(forModel(next)).toMatch(/what this run did is kept/);
      expect(forModel(next)).not.toMatch(/as it was before this run/);
      expect((await session.runCode('n')).state).not.toHaveProperty('earlier');
    });
  }
}

test('a session whose process cannot be replaced keeps its files, and the next call tries again', async () => {
  const session = await open();
  await session.runCode('n = 41; open("kept", "w").write("file")');
  const { workspace } = await session.info();
  const home = path.dirname(workspace);
  await loseState(session);
  await obstruct(home);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const call = attempt === 0 ? session.runCode('n') : session.inspect();
    await expect(call).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringMatching(TRIES) as unknown,
    });
  }
  await clear(home);
  const next = await session.runCode('print(globals().get("n"), open("kept").read())');
  expect(printedBy(next)).toBe('None file');
  expect(next.state).toMatchObject({ status: 'lost', earlier: { status: 'lost' } });
});

test('a reset that cannot be finished is an error, and the next receipt says that the variables are gone', async () => {
  const session = await open();
  await session.runCode('n = 41');
  const home = path.dirname((await session.info()).workspace);
  await obstruct(home);
  await expect(session.reset()).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
  await clear(home);
  const next = await session.runCode('print(globals().get("n"))');
  expect(printedBy(next)).toBe('None');
  expect(next.state).toMatchObject({ status: 'lost', earlier: { status: 'lost' } });
});

test('init code runs once after a loss, however often the loss is told', async () => {
  const session = await open({ initCode: 'starts = globals().get("starts", 0) + 1' });
  await session.runCode('starts = 10');
  await loseState(session);
  await session.setVariables({ other: 1 });
  expect(printedBy(await session.runCode('print(starts, other)'))).toBe('1 1');
  expect(printedBy(await session.runCode('starts = 5; print(starts)'))).toBe('5');
  expect(printedBy(await session.runCode('print(starts, other)'))).toBe('5 1');
});

test('init code that fails after a loss does not hide the loss', async () => {
  const session = await open({ initCode: 'import os\nif os.path.exists("broken"): raise ValueError("not now")' });
  await session.runCode('n = 41; open("broken", "w").close()');
  await loseState(session);
  await expect(session.runCode('n')).rejects.toMatchObject({ code: 'INIT_FAILED' });
  await session.files.remove('broken');
  const next = await session.runCode('print(globals().get("n"))');
  expect(printedBy(next)).toBe('None');
  expect(next.state).toMatchObject({ status: 'lost', earlier: { status: 'lost' } });
});

test('a run that crashes after its stream was left is told by the next receipt', async () => {
  const session = await open({ limits: { graceMs: 100 } });
  for (const code of ['n = 40', 'n = 41']) await session.runCode(code);
  const deaf = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)';
  for await (const _ of session.stream(`${deaf}\nn = 0\nprint("begun", flush=True)\nwhile True: pass`)) break;
  const next = await session.runCode('print(n)');
  expect(printedBy(next)).toBe('41');
  expect(next.state).toMatchObject({ status: 'preserved', generation: 2, earlier: { status: 'restored' } });
  expect(next.state.earlier?.reason).toMatch(/not received.*undone/);
});

test('what a run did before its stream was left is told by the next receipt, once', async () => {
  const session = await open();
  await session.runCode('n = 41');
  for await (const _ of session.stream('n = 42\nprint("begun", flush=True)\nwhile True: pass')) break;
  const next = await session.runCode('print(n)');
  expect(printedBy(next)).toBe('42');
  expect(next.state).toMatchObject({
    status: 'preserved',
    reason: expect.stringMatching(/not received.*is kept/) as unknown,
  });
  expect(forModel(next)).toMatch(/not received.*is kept/);
  expect((await session.runCode('n')).state).not.toHaveProperty('reason');
});

test('a cancelled run says whether what it did is kept, or that it did not run', async () => {
  const session = await open();
  const controller = new AbortController();
  const events = session.stream('n = 1\nprint("begun", flush=True)\nwhile True: pass', { signal: controller.signal });
  await events.next();
  controller.abort();
  const last = (await Array.fromAsync(events)).at(-1);
  expect(last).toMatchObject({
    summary: { outcome: { status: 'cancelled' }, state: { reason: expect.stringMatching(/is kept/) as unknown } },
  });
  const timedOut = await session.runCode('n = 2\nwhile True: pass', { timeoutMs: 100 });
  expect(timedOut.state).toMatchObject({ status: 'preserved', reason: expect.stringMatching(/is kept/) as unknown });
  expect(forModel(timedOut)).toMatch(/what the run had done before it was stopped is kept/);
  const never = await session.runCode('n = 3', { signal: AbortSignal.abort() });
  expect(forModel(never)).toMatch(/cancelled before any of its code ran/);
  expect(printedBy(await session.runCode('print(n)'))).toBe('2');
});
