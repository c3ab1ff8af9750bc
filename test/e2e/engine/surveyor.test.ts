/** The surveyor, which measures sessions: limits hold whatever becomes of it. */
import { expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';
import { descendants, isRunning, roleOf, type Process } from './processes.ts';

function surveyor(): Process | undefined {
  return descendants().find((one) => roleOf(one) === 'surveyor');
}

/** Ends it, and waits for the next one. */
async function replaceSurveyor(): Promise<void> {
  const last = surveyor();
  if (last === undefined) throw new Error('there is no surveyor');
  process.kill(last.pid, 'SIGKILL');
  await expect.poll(() => isRunning(last)).toBe(false);
  await expect.poll(surveyor).toBeDefined();
}

test.for(['namespaces', 'none'] as const)(
  'a session whose surveyor is killed during a run is still held to its limits, at the level %s',
  async (isolation) => {
    await using laboratory = await Laboratory.start({ isolation });
    await using subject = await laboratory.open({ cpuMs: 1500, timeoutMs: 60_000 });
    await subject.run('x = 41');
    const running = subject.run('while True: pass');
    await new Promise((resolve) => setTimeout(resolve, 200)); // it is a long run by then, and watched
    await replaceSurveyor();
    const { outcome } = await running;
    expect(outcome).toMatchObject({ status: 'timed-out', limit: 'cpu' });
    expect(await subject.evaluate('x + 1')).toBe('42');
  },
);

test('a session whose surveyor is killed between runs is still held to its limits', async () => {
  await using laboratory = await Laboratory.start();
  await using subject = await laboratory.open({ workspaceMb: 5, rollbackMb: 0 });
  await subject.run('import subprocess, sys');
  for (let times = 0; times < 3; times += 1) await replaceSurveyor();
  await startFilling(subject, 0.5);
  await expect
    .poll(() => subject.evaluate('process.poll() is not None'), { timeout: 10_000, interval: 300 })
    .toBe('True');
});

test.for([0, 0.05, 0.1, 0.2])(
  'what a run left running is ended for its files whenever it writes them: after %s s',
  async (afterS) => {
    await using laboratory = await Laboratory.start();
    await using subject = await laboratory.open({ workspaceMb: 5, rollbackMb: 0 });
    await subject.run('import subprocess, sys; kept = 42');
    await startFilling(subject, afterS);
    await expect
      .poll(() => subject.evaluate('process.poll() is not None'), { timeout: 10_000, interval: 300 })
      .toBe('True');
    expect(await subject.evaluate('kept')).toBe('42');
  },
);

/** Leaves a process that writes far more than the session may, and then does nothing. */
async function startFilling(subject: Subject, afterS: number): Promise<void> {
  const fill = `import time; time.sleep(${afterS}); open("large", "wb").write(bytes(40 << 20)); time.sleep(60)`;
  await subject.run(`process = subprocess.Popen([sys.executable, "-c", ${JSON.stringify(fill)}])`);
}

test('a session is measured by its control group: a process that left its parents is not forgotten', async () => {
  await using laboratory = await Laboratory.start();
  await using subject = await laboratory.open({ cpuMs: 1000, timeoutMs: 60_000 });
  const { outcome } = await subject.run(`
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        while True: pass
    os._exit(0)
os.wait()
time.sleep(30)
`);
  expect(outcome).toMatchObject({ status: 'timed-out', limit: 'cpu' });
});

test.for(['namespaces', 'none'] as const)(
  'a program does not go on while the host stands still, at the level %s',
  { timeout: 30_000 },
  async (isolation) => {
    await using laboratory = await Laboratory.start({ isolation });
    await using subject = await laboratory.open({ timeoutMs: 300 });
    await subject.run('import os, time; kept = 42; beat = os.open("beat", os.O_CREAT | os.O_WRONLY)');
    const startedAt = Date.now();
    const running = subject.run(`
while True:
    try:
        time.sleep(0.02)
    finally:
        os.pwrite(beat, f"{time.time() * 1000:20.3f}".encode(), 0)  # never empty, whenever it is killed
`);
    await new Promise((resolve) => setTimeout(resolve, 150)); // it is a long run by then, and watched
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 9000);
    const { outcome, state } = await running;
    expect([outcome.status, state.status]).toEqual(['timed-out', 'restored']);
    const beat = Number(await subject.evaluate('float(open("beat").read())'));
    expect(beat - startedAt).toBeLessThan(7500); // five seconds after its time
    expect(await subject.evaluate('kept')).toBe('42');
  },
);
