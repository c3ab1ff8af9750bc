/** The limits of a session: each one is enforced, reported and survived. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({
    preload: ['numpy', 'pandas', 'matplotlib.pyplot'],
    poolSize: 1,
    limits: { memoryMb: 256, graceMs: 200 },
  });
});
afterAll(() => laboratory?.close());

const ANALYSIS = `
import numpy as np, pandas as pd, matplotlib.pyplot as plt
frame = pd.DataFrame({"key": np.arange(100_000) % 7, "value": np.random.rand(100_000)})
table = frame.groupby("key").value.agg(["mean", "std"])
figure = table.plot(kind="bar").figure
figure.savefig("plot.png")
import os; print(len(table), os.path.getsize("plot.png") > 5000)`;

async function expectAlive(subject: Subject): Promise<void> {
  expect(await subject.evaluate('40 + 2')).toBe('42');
}

test('a process may call itself anything, and is watched all the same', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  const named = await subject.run(`
import ctypes, time
ctypes.CDLL(None).prctl(15, b"\\xff) R 1 (\\xfe", 0, 0, 0)
time.sleep(0.5)`);
  expect([named.outcome.status, named.state.status]).toEqual(['succeeded', 'preserved']);
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('pandas and a plot work under 256 MB, preloaded', async () => {
  await using subject = await laboratory.open();
  expect(await subject.run(ANALYSIS)).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '7 True\n' } });
});

test('pandas and a plot work under 256 MB, imported by the session itself', async () => {
  await using cold = await Laboratory.start({ limits: { memoryMb: 256 } });
  await using subject = await cold.open();
  expect(await subject.run(ANALYSIS)).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '7 True\n' } });
});

test.for([
  ['an array', 'import numpy as np; array = np.ones(300 << 17)'],
  ['bytes', 'held = b"x" * (300 << 20)'],
  ['a list that grows', 'held = []\nwhile True: held.append("x" * 1_000_000 + str(len(held)))'],
  ['a table', 'import pandas as pd, numpy as np; frame = pd.DataFrame(np.zeros((300, 1 << 17)))'],
] as const)('%s of 300 MB is out of memory, and nothing else', async ([, code]) => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  const execution = await subject.run(code);
  expect(execution).toMatchObject({
    outcome: { status: 'out-of-memory', limitMb: 256 },
    error: { name: expect.stringMatching(/MemoryError$/) as unknown },
    state: { status: 'preserved' },
  });
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('memory is limited for all processes of a session together', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  const code = `
import multiprocessing, time
def hold(_):
    held = bytearray(b"x") * (120 << 20)
    time.sleep(10)
with multiprocessing.get_context("fork").Pool(5) as pool: pool.map(hold, range(5))`;
  expect((await subject.run(code)).outcome).toEqual({ status: 'out-of-memory', limitMb: 256 });
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('a run ends at its wall time with what it printed so far, and keeps what it did so far', async () => {
  await using subject = await laboratory.open();
  const startedAt = performance.now();
  const execution = await subject.run('import time\nx = 1\nprint("before")\nwhile True: time.sleep(0.01)', {
    timeoutMs: 500,
  });
  expect(performance.now() - startedAt).toSatisfy((elapsed: number) => elapsed >= 500 && elapsed < 1500);
  expect(execution).toMatchObject({
    outcome: { status: 'timed-out', limit: 'wall', limitMs: 500 },
    logs: { stdout: 'before\n' },
    state: { status: 'preserved', variables: { added: ['x'] } },
  });
});

test('a program that swallows its interrupt ends at its wall time and the grace period', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  const startedAt = performance.now();
  const swallow =
    'import time\nwhile True:\n  try:\n    while True: time.sleep(0.01)\n  except KeyboardInterrupt: pass';
  const execution = await subject.run(swallow, { timeoutMs: 300 });
  expect(performance.now() - startedAt).toSatisfy((elapsed: number) => elapsed >= 500 && elapsed < 1500);
  expect(execution).toMatchObject({ outcome: { status: 'timed-out', limitMs: 300 }, state: { status: 'restored' } });
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('time of the processor is limited apart from time of the clock, children included', async () => {
  await using subject = await laboratory.open({ cpuMs: 400 });
  expect((await subject.run('import time; time.sleep(0.7)')).outcome.status).toBe('succeeded');
  const busy = await subject.run('print("before")\nwhile True: pass', { timeoutMs: 10_000 });
  expect(busy).toMatchObject({
    outcome: { status: 'timed-out', limit: 'cpu', limitMs: 400 },
    logs: { stdout: 'before\n' },
  });
  const child = await subject.run('import os; os.system("while :; do :; done")', { timeoutMs: 10_000 });
  expect(child.outcome).toEqual({ status: 'timed-out', limit: 'cpu', limitMs: 400 });
  await expectAlive(subject);
});

test.for([
  ['a fork bomb', 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'],
  [
    'a fork bomb in the background',
    'import subprocess, time; subprocess.Popen("f() { f | f & }; f", shell=True)\nwhile True: time.sleep(0.01)',
  ],
] as const)('%s is contained, and the next run works', async ([, code]) => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  expect((await subject.run(code, { timeoutMs: 700 })).outcome).toMatchObject({ status: 'timed-out', limit: 'wall' });
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('so many processes as the limit says can run, and no more', async () => {
  await using subject = await laboratory.open({ processes: 10 });
  const code = `
import subprocess
children = []
try:
    for _ in range(30): children.append(subprocess.Popen(["sleep", "20"]))
except OSError as error: print(type(error).__name__, 9 <= len(children) <= 14)
for child in children: child.kill(); child.wait()`;
  expect((await subject.run(code)).logs.stdout).toBe('BlockingIOError True\n');
  await expectAlive(subject);
});

test('a bomb of threads is contained, and the next run works', async () => {
  await using subject = await laboratory.open({ processes: 16 });
  const code = `
import threading
gate = threading.Event()
try:
    for started in range(100): threading.Thread(target=gate.wait).start()
except RuntimeError as error: print(error, 10 < started < 25)
finally: gate.set()`;
  expect((await subject.run(code)).logs.stdout).toBe("can't start new thread True\n");
  await expectAlive(subject);
});

test('open files are limited', async () => {
  await using subject = await laboratory.open({ openFiles: 64 });
  const code =
    'held = []\ntry:\n  while True: held.append(open("/dev/null"))\nexcept OSError as error: print(error.strerror, 50 < len(held) <= 64)\ndel held';
  expect((await subject.run(code)).logs.stdout).toBe('Too many open files True\n');
  await expectAlive(subject);
});

test('a file above its size is an OSError', async () => {
  await using subject = await laboratory.open({ fileMb: 2 });
  expect(await subject.run('open("large", "wb").write(bytes(3 << 20))')).toMatchObject({
    outcome: { status: 'raised' },
    error: { name: 'OSError', value: '[Errno 27] File too large' },
    state: { status: 'preserved' },
  });
  await expectAlive(subject);
});

test('a workspace above its size ends the run, in words', async () => {
  await using subject = await laboratory.open({ workspaceMb: 8 });
  await subject.run('x = 41');
  const execution = await subject.run('n = 0\nwhile True:\n  open(f"file-{n}", "wb").write(bytes(100_000)); n += 1', {
    timeoutMs: 20_000,
  });
  expect(execution).toMatchObject({
    outcome: {
      status: 'crashed',
      reason: 'it wrote more than the 8 MB that the workspace and /tmp may hold (limits.workspaceMb)',
    },
    state: { status: 'restored' },
  });
  expect(await subject.run('import os; [os.remove(name) for name in os.listdir()]; print(x + 1)')).toMatchObject({
    logs: { stdout: '42\n' },
  });
});

test('limits that the host keeps hold for a session from the pool, too', async () => {
  await using warm = await Laboratory.start({ poolSize: 1 });
  const claim = async (): Promise<Subject> => warm.open({ graceMs: 50, cpuMs: 300 });
  for (let session = 0; session < 3; session += 1) {
    await using subject = await claim();
    expect((await subject.run('while True: pass', { timeoutMs: 5000 })).outcome).toMatchObject({
      status: 'timed-out',
      limit: 'cpu',
    });
  }
});

test('a program that raises its own limits is refused', async () => {
  await using subject = await laboratory.open({ fileMb: 1 });
  const code = 'import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)';
  expect((await subject.run(code)).error?.name).toBe('ValueError');
});
