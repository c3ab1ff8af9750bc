/** Interpreters that are lost at awkward moments: the loss is told, in time, and none is used before it was prepared. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Event } from '../../src/execution/event.ts';
import type { Host } from '../../src/host/host.ts';
import { createHost } from '../../src/host/local/local-host.ts';
import type { Session } from '../../src/host/session.ts';
import { processesIn, workerIn } from './engine/processes.ts';

const ROUNDS = 25;
/** Answers its interrupt, says so, and takes its time to end. */
const SLOW_END = `
y = 2
import time
try:
    print('begun', flush=True)
    while True: pass
except KeyboardInterrupt:
    print('interrupted', flush=True)
    time.sleep(0.5)
`;

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0, limits: { graceMs: 3000 } });
});
afterAll(() => host?.close());

async function open(): Promise<Session> {
  const session = await host.createSession({ initCode: 'base = 7' });
  onTestFinished(() => session.close());
  return session;
}

async function pid1Of(session: Session): Promise<number> {
  const { workspace } = await session.info();
  const found = processesIn(workspace).find(({ numbers }) => numbers.at(-1) === 1);
  if (found === undefined) throw new Error('the session has no pid 1');
  return found.pid;
}

/** Cancels a run that ends slowly, and stops pid 1 between the interrupt and that end. */
async function stopPid1AsRunEnds(session: Session): Promise<{ pid1: number; ending: Promise<Event> }> {
  const pid1 = await pid1Of(session);
  const cancel = new AbortController();
  const isInterrupted = Promise.withResolvers<void>();
  const ending = (async () => {
    let last: Event | undefined;
    for await (const event of session.stream(SLOW_END, { signal: cancel.signal })) {
      if (event.type === 'output' && event.text.includes('begun')) cancel.abort();
      if (event.type === 'output' && event.text.includes('interrupted')) isInterrupted.resolve();
      last = event;
    }
    if (last === undefined) throw new Error('the run said nothing');
    return last;
  })();
  await isInterrupted.promise;
  process.kill(pid1, 'SIGSTOP');
  return { pid1, ending };
}

test('a run whose processes are lost while what it left is ended says that the state is lost', async () => {
  const session = await open();
  await session.runCode('x = 1');
  const { pid1, ending } = await stopPid1AsRunEnds(session);
  await sleep(1500); // the run has reported its end by then
  process.kill(pid1, 'SIGKILL');
  expect(await ending).toMatchObject({ summary: { outcome: { status: 'cancelled' }, state: { status: 'lost' } } });
  const next = await session.runCode('print("x" in globals(), base)');
  expect([next.logs.stdout, next.state.status]).toEqual(['False 7\n', 'preserved']);
});

test('a session whose pid 1 was stopped answers all the same, and says what is lost', async () => {
  const session = await open();
  await session.runCode('x = 1');
  const { ending } = await stopPid1AsRunEnds(session);
  const reason = expect.stringMatching(/its pid 1 did not answer for 6 s/) as string;
  expect(await ending).toMatchObject({ summary: { state: { status: 'lost', reason } } });
  const next = await session.runCode('print("x" in globals(), base)');
  expect([next.logs.stdout, next.state.status]).toEqual(['False 7\n', 'preserved']);
});

test('a worker that was stopped when its run had ended is given up, and that is told', async () => {
  const session = await open();
  await session.runCode('x = 1');
  const { pid1, ending } = await stopPid1AsRunEnds(session);
  await sleep(1500); // the run has reported its end by then
  process.kill(workerIn((await session.info()).workspace).pid, 'SIGSTOP');
  process.kill(pid1, 'SIGCONT');
  expect(await ending).toMatchObject({ summary: { state: { status: 'preserved' } } });
  const next = await session.runCode('print("x" in globals(), base)', { timeoutMs: 5000 });
  // Its twin was made while processes were ended, and usually ended with them.
  const isKept = next.logs.stdout === 'True 7\n';
  expect(next.logs.stdout).toBe(isKept ? 'True 7\n' : 'False 7\n');
  expect(next.state).toMatchObject({ earlier: { status: isKept ? 'restored' : 'lost' } });
});

test('a twin that is lost right after it took over is told by the next receipt, not as something before the run', async () => {
  const session = await open();
  await session.runCode('x = 41');
  const { workspace } = await session.info();
  const reading = Promise.withResolvers<void>();
  let last: Event | undefined;
  const running = (async () => {
    for await (const event of session.stream('while True: print("x" * 100_000)')) {
      await reading.promise; // so that the host waits for this caller when the twin has taken over
      last = event;
    }
  })();
  await sleep(300);
  const first = workerIn(workspace).pid;
  process.kill(first, 'SIGKILL');
  await expect.poll(() => processesIn(workspace).some(({ pid }) => pid === first)).toBe(false);
  await sleep(500); // the twin answers, and what the program printed before is still to be read
  for (const { pid, numbers } of processesIn(workspace)) if (numbers.at(-1) !== 1) process.kill(pid, 'SIGKILL');
  await expect.poll(() => processesIn(workspace).length).toBeLessThan(2);
  reading.resolve();
  await running;
  if (last?.type !== 'done') throw new Error('the run has no end');
  const { state } = last.summary;
  expect({ status: state.status, earlier: state.earlier }).toEqual({ status: 'restored', earlier: undefined });
  const next = await session.runCode('base');
  expect(next.state).toMatchObject({ status: 'lost', earlier: { status: 'lost' } });
  expect(next.results[0]?.data['text/plain']).toBe('7');
});

test('init code that is given up and runs again changes nothing that a receipt would have to tell', async () => {
  const session = await host.createSession({ initCode: 'import time; time.sleep(0.5); base = 7' });
  onTestFinished(() => session.close());
  await session.runCode('x = 1');
  const { workspace } = await session.info();
  process.kill(await pid1Of(session), 'SIGKILL');
  await expect.poll(() => processesIn(workspace)).toEqual([]);
  await sleep(500); // the host hears of it
  await expect(session.setVariables({ y: 1 }, { signal: AbortSignal.timeout(200) })).rejects.toThrow('aborted');
  const next = await session.runCode('base');
  expect(next.results[0]?.data['text/plain']).toBe('7');
  expect(next.state).toMatchObject({ status: 'lost', earlier: { status: 'lost' }, generation: 2 });
});

test('no loss is silent, however closely it follows a run that was stopped', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await using session = await host.createSession({ initCode: 'base = 7' });
    await session.runCode('x = 1');
    const pid1 = await pid1Of(session);
    const running = session.runCode('y = 2\nwhile True: pass', { timeoutMs: 40 });
    await sleep(40 + Math.random() * 15);
    process.kill(pid1, 'SIGKILL');
    const receipts = [(await running).state];
    for (let value: unknown = 1; value !== undefined;) {
      const next = await session.runCode('', { resultVariable: 'x' }); // a few may still come before the kernel's end
      receipts.push(next.state);
      ({ value } = next);
    }
    expect(receipts.map(({ status }) => status)).toContain('lost');
  }
});

test('variables that are inspected while the interpreter is replaced are those that init code makes', async () => {
  const session = await open();
  await session.runCode('x = 1');
  const pid1 = await pid1Of(session);
  process.kill(workerIn((await session.info()).workspace).pid, 'SIGSTOP');
  const inspecting = session.inspect();
  await sleep(100); // it is being asked
  process.kill(pid1, 'SIGKILL');
  expect((await inspecting).map(({ name }) => name)).toEqual(['base']);
  expect((await session.runCode('base')).state).toMatchObject({ status: 'lost', earlier: { status: 'lost' } });
});

const CALLS: readonly (readonly [name: string, call: (session: Session) => Promise<unknown>])[] = [
  ['a run', async (session) => (await session.runCode('copy = base')).error],
  ['setVariables', (session) => session.setVariables({ other: 1 }).catch(() => undefined)],
  ['exportTable', (session) => session.exportTable('frame').catch(() => undefined)],
];

test.for(CALLS)('a fresh interpreter has run its init code before %s uses it', async ([, call]) => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await using session = await host.createSession({ initCode: 'base = 7' });
    await session.runCode('x = 1');
    const pid1 = await pid1Of(session);
    const calling = call(session);
    await sleep(Math.random() * 3);
    process.kill(pid1, 'SIGKILL');
    expect(await calling).toBeUndefined();
    const next = await session.runCode('print(base)');
    if (next.outcome.status === 'crashed') continue; // lost only now
    expect(next.logs.stdout).toBe('7\n');
  }
});

test.for([['/workspace'], ['/tmp'], ['/dev/shm']])(
  'a program that locks %s does not keep the next interpreter out',
  async ([directory]) => {
    const session = await open();
    await session.files.upload('kept.txt', 'x');
    await session.runCode(`import os; os.chmod('${directory}', 0)`);
    await session.reset();
    const { logs, outcome } = await session.runCode(
      "import os, tempfile; tempfile.TemporaryFile(); print(os.listdir('.'), base)",
    );
    expect(outcome.status).toBe('succeeded');
    expect(logs.stdout).toBe("['kept.txt'] 7\n");
  },
);
