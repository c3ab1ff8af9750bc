/** What goes on in a session between runs: it is allowed within the limits of the session. */
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';
import { isRunning, processesOf, processorMs, workerOf } from './processes.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ cgroups: false, limits: { memoryMb: 64, graceMs: 100, rollbackMb: 0 } });
});
afterAll(() => laboratory?.close());

/** Forges the worker's report that the run is over, and goes on. */
const FORGE_DONE = `
import sys
def forge():
    frame = sys._getframe()
    while "request" not in frame.f_locals or "self" not in frame.f_locals: frame = frame.f_back
    worker, request = frame.f_locals["self"], frame.f_locals["request"]
    done = {"type": "done", "id": request["id"], "error": None, "memory": False, "value": None, "dataframes": [], "saved": []}
    done |= {"variables": {"added": [], "changed": [], "removed": []}, "changed": False, "touched": False}
    worker._send({**done, "unprotected": None, "marked": False})
`;
const WRITER = `while True:
    open(f"file-{time.time()}", "wb").write(bytes(100_000)); time.sleep(0.002)`;

function child(body: string): string {
  return `import os, time, subprocess, sys\nchild = subprocess.Popen([sys.executable, "-c", ${JSON.stringify(`import time, os\n${body}`)}])\nx = 41`;
}

function sizeMb({ session }: Subject): number {
  const directory = session.workspace.path;
  const sizes = readdirSync(directory).map((name) => statSync(path.join(directory, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20;
}

test('a process that a run leaves behind lives on, until the session ends', async () => {
  await using subject = await laboratory.open();
  await subject.run(child('time.sleep(30)'));
  await sleep(1000);
  const { logs, state } = await subject.run('print(x, child.poll())');
  expect([logs.stdout, state.status]).toEqual(['41 None\n', 'preserved']);
  expect(state).not.toHaveProperty('reason');
});

test('one that writes too much is ended between runs, and the next run says so', async () => {
  await using subject = await laboratory.open({ workspaceMb: 4 });
  await subject.run(child(WRITER));
  await sleep(1500);
  const size = sizeMb(subject);
  await sleep(300);
  expect([size < 60, sizeMb(subject) === size]).toEqual([true, true]);
  expect((await subject.run('print(x)')).state).toMatchObject({
    status: 'preserved',
    reason: expect.stringMatching(
      /^between runs, what was left running was ended: it wrote more than the 4 MB/,
    ) as unknown,
  });
});

test('one that writes too much is ended while the listener of its run is slow', async () => {
  await using subject = await laboratory.open({ workspaceMb: 4 });
  const events = subject.stream(`${child(WRITER)}\nprint("a")`)[Symbol.asyncIterator]();
  await events.next(); // and then nothing is read for a while
  await sleep(1500);
  const size = sizeMb(subject);
  await sleep(500);
  expect(sizeMb(subject)).toBe(size);
  await events.return?.();
});

test('one that goes on by forking itself and ending is ended with the run that is stopped', async () => {
  await using subject = await laboratory.open();
  const hops = 'while True:\n    if os.fork(): os._exit(0)\n    open("hops", "ab").write(b"x")';
  const file = path.join(subject.session.workspace.path, 'hops');
  const hopped = (): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const controller = new AbortController();
  const running = subject.run(`${child(hops)}\ntime.sleep(30)`, { signal: controller.signal });
  while (hopped() < 10) await sleep(10);
  controller.abort();
  expect((await running).outcome.status).toBe('cancelled');
  const end = hopped();
  await sleep(200);
  expect(hopped()).toBe(end);
});

const THREAD = `
import threading, time
def chatter():
    while True: print("late", flush=True); time.sleep(0.01)
threading.Thread(target=chatter, daemon=True).start()`;

test('a run that is stopped does not cost the threads of earlier runs, and keeps what it did', async () => {
  await using subject = await laboratory.open();
  await subject.run(`x = 1\n${THREAD.replace('print("late", flush=True);', '')}`);
  const stopped = await subject.run('x = 2\nwhile True: pass', { timeoutMs: 100 });
  expect(stopped).toMatchObject({ outcome: { status: 'timed-out' }, state: { status: 'preserved', generation: 1 } });
  const next = await subject.run('print(x, threading.active_count())');
  expect(next).toMatchObject({ logs: { stdout: '2 2\n' }, state: { status: 'preserved', generation: 1 } });
  expect(next.state).not.toHaveProperty('earlier');
});

test('a run that is stopped takes the threads along that it started: its process is ended, and the state restored', async () => {
  await using subject = await laboratory.open();
  for (const before of ['1', 'x = 1']) {
    await subject.run(before);
    const stopped = await subject.run(`x = 2\n${THREAD}\nwhile True: time.sleep(0.01)`, { timeoutMs: 200 });
    expect(stopped).toMatchObject({ outcome: { status: 'timed-out' }, state: { status: 'restored' } });
    expect(stopped.state.reason).toMatch(/1 threads that it had started went on/);
    const next = await subject.run('import time; time.sleep(0.1); print(globals().get("x"))');
    expect(next).toMatchObject({ logs: { stdout: before === '1' ? 'None\n' : '1\n' }, state: { status: 'preserved' } });
    expect(next.state).not.toHaveProperty('earlier');
  }
});

test('where there is no earlier state to go back to, the threads of a stopped run go on, which is said', async () => {
  await using subject = await laboratory.open();
  const quiet = THREAD.replace('print("late", flush=True);', '');
  await subject.run(`x = 1\n${quiet}`); // so that there is no twin
  const stopped = await subject.run(`x = 2\n${quiet}\nwhile True: pass`, { timeoutMs: 100 });
  expect(stopped.state).toMatchObject({ status: 'preserved' });
  expect(stopped.state.reason).toMatch(/is kept, and 1 threads that it started go on/);
  expect((await subject.run('print(x)')).logs.stdout).toBe('2\n');
});

test('several that hold too much memory together are ended between runs', async () => {
  await using subject = await laboratory.open();
  await subject.run(`
import os, time
x = 41
for _ in range(5):
    if os.fork() == 0:
        held = bytearray(b"x") * (50 << 20)
        time.sleep(30)
        os._exit(0)`);
  await expect.poll(() => processesOf(subject).length, { timeout: 3000 }).toBeLessThan(6);
  const next = await subject.run('print(x)');
  expect(next).toMatchObject({ logs: { stdout: '41\n' }, state: { status: 'preserved' } });
  expect(next.state.reason).toMatch(/used more than the 64 MB/);
});

test('one that prints without end has to wait: the host reads little of it, and the next run has its own output', async () => {
  await using subject = await laboratory.open();
  await subject.run('import subprocess; child = subprocess.Popen(["yes"])');
  await sleep(200);
  const before = process.cpuUsage();
  await sleep(1000);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(200);
  const next = await subject.run('child.kill(); child.wait(); print("mine")');
  expect(next.outcome.status).toBe('succeeded');
  expect(next.background?.stdout).toBeLessThan(1 << 20);
  expect((await subject.run('print("mine")')).logs.stdout).toBe('mine\n');
});

test('what was printed before a run, and waits, is not that of the run', async () => {
  await using subject = await laboratory.open();
  await subject.run(
    'import subprocess; child = subprocess.Popen("head -c 150000 /dev/zero | tr \\\\\\\\0 y", shell=True)',
  );
  await sleep(500);
  expect((await subject.run('print("mine")')).logs.stdout).toBe('mine\n');
});

test('processor time between runs is limited as that of a run is', async () => {
  await using subject = await laboratory.open({ cpuMs: 400 });
  await subject.run(child('while True: pass'));
  await sleep(4000);
  const next = await subject.run('print(x)');
  expect(next).toMatchObject({ logs: { stdout: '41\n' }, state: { status: 'preserved' } });
  expect(next.state.reason).toMatch(/more than 400 ms of processor time/);
});

test.for([
  ['that computes', 'while True: pass', { timeoutMs: 400 }, /400 ms of processor time after it had said/],
  ['that writes', WRITER, { workspaceMb: 4 }, /wrote more than the 4 MB/],
] as const)('a program %s on after it has said that it is done is ended', async ([, body, limits, reason]) => {
  await using subject = await laboratory.open(limits);
  await subject.run('x = 41');
  await subject.run(FORGE_DONE);
  const worker = workerOf(subject);
  const forged = await subject.run(`import time\nforge()\n${body}`, { timeoutMs: 20_000 });
  expect(forged.outcome.status).toBe('succeeded'); // as the forged report says
  await expect.poll(() => isRunning(worker), { timeout: 30_000 }).toBe(false);
  const next = await subject.run('print(x)');
  expect(next).toMatchObject({
    outcome: { status: 'succeeded' },
    logs: { stdout: '41\n' },
    state: { status: 'preserved', earlier: { status: 'restored' } },
  });
  expect(next.state.earlier?.reason).toMatch(reason);
});

test('a run that is asked for while a program that went on is being ended has its answer soon', async () => {
  await using subject = await laboratory.open({ timeoutMs: 400 });
  await subject.run(`x = 41\n${FORGE_DONE}`);
  const worker = workerOf(subject);
  const pid1 = processesOf(subject).find(({ numbers }) => numbers.at(-1) === 1)?.pid ?? 0;
  await subject.run('forge()\nwhile True: pass', { timeoutMs: 20_000 });
  process.kill(pid1, 'SIGSTOP'); // it ends the program only when it may go on
  await expect.poll(() => processorMs(worker), { timeout: 30_000 }).toBeGreaterThan(1200);
  const next = subject.run('print(x)', { timeoutMs: 20_000 });
  process.kill(pid1, 'SIGCONT');
  expect(await next).toMatchObject({ logs: { stdout: '41\n' }, state: { earlier: { status: 'restored' } } });
});

test('a program that goes on into the next run spoils that one, which says so, and no other', async () => {
  await using subject = await laboratory.open();
  await subject.run(FORGE_DONE);
  await subject.run('forge(); import time; time.sleep(0.2); print("still here")');
  expect((await subject.run('print("between")')).outcome).toMatchObject({
    status: 'crashed',
    reason: expect.stringMatching(/broke the protocol: a frame out of turn/) as unknown,
  });
  expect((await subject.run('print("mine")')).logs.stdout).toBe('mine\n');
});
