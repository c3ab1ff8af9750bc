/** Twins: what is left of a session after its process was lost, and how a run is undone. */
import { access, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';
import { processesOf, workerOf, type Process } from './processes.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ limits: { memoryMb: 256, graceMs: 100, rollbackMb: 1 } });
});
afterAll(() => laboratory?.close());

const SPREAD = `
import os, time
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(b"x") * (150 << 20)
        time.sleep(20)
        os._exit(0)
time.sleep(20)`;
const SHARED = 'import mmap; held = mmap.mmap(-1, 1 << 30)\nfor _ in range(20): held.write(b"x" * (50 << 20))';
const DEAF = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';

const ENDINGS: readonly (readonly [name: string, code: string, outcome: object])[] = [
  ['a wild pointer', 'import ctypes; ctypes.string_at(0)', { status: 'crashed', signal: 'SIGSEGV', exitCode: null }],
  ['os._exit(0)', 'import os; os._exit(0)', { status: 'crashed', signal: null, exitCode: 0 }],
  ['os._exit(7)', 'import os; os._exit(7)', { status: 'crashed', signal: null, exitCode: 7 }],
  ['kill -9', 'import os; os.kill(os.getpid(), 9)', { status: 'crashed', signal: 'SIGKILL', exitCode: null }],
  ['abort', 'import os; os.abort()', { status: 'crashed', signal: 'SIGABRT', exitCode: null }],
  ['a loop that ignores SIGINT', DEAF, { status: 'timed-out', limit: 'wall', limitMs: 500 }],
  ['shared memory above the limit', SHARED, { status: 'out-of-memory', limitMb: 256 }],
  ['children above the limit', SPREAD, { status: 'out-of-memory', limitMb: 256 }],
];

for (const [name, code, outcome] of ENDINGS) {
  test(`${name} costs the run, not the state`, async ({ skip }) => {
    // Without a control group shared memory cannot be counted, so none is given.
    const isPossible = code !== SHARED || laboratory.engine.isolation.memory.includes('cgroup');
    skip(!isPossible, 'this machine gives us no control groups');
    await using subject = await laboratory.open();
    await subject.run('x = 41');
    const preamble = 'import sys; print("before"); print("error", file=sys.stderr)';
    const lost = await subject.run(`${preamble}\n${code}`, { timeoutMs: code === DEAF ? 500 : 20_000 });
    expect(lost).toMatchObject({ outcome, logs: { stdout: 'before\n', stderr: 'error\n' }, results: [] });
    const untouched = { generation: 2, variables: { added: [], changed: [], removed: [] } };
    expect(lost.state).toEqual({ ...untouched, status: 'restored', reason: expect.any(String) as unknown });
    const next = await subject.run('print(x + 1)');
    expect(next).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '42\n' } });
    expect(next.state).toEqual({ ...untouched, status: 'preserved' });
  });
}

test('a MemoryError is out of memory, and the state simply goes on', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  const execution = await subject.run('y = 1\nheld = bytearray(300 << 20)');
  expect(execution).toMatchObject({
    outcome: { status: 'out-of-memory', limitMb: 256 },
    error: { name: 'MemoryError' },
    state: { status: 'preserved', generation: 1, variables: { added: ['y'] } },
  });
  expect(await subject.evaluate('x + y')).toBe('42');
});

test('a restore brings back the state of right before the run, also without a pause between runs', async () => {
  await using subject = await laboratory.open();
  await subject.run('log = []');
  for (let round = 1; round <= 5; round += 1) {
    for (let entry = 0; entry < 3; entry += 1) await subject.run(`log.append((${round}, ${entry}))`);
    const lost = await subject.run('log.append("never"); import os; os._exit(1)');
    expect(lost.state).toMatchObject({ status: 'restored', generation: round + 1 });
    expect(await subject.evaluate('len(log), log[-1]')).toBe(`(${round * 3}, (${round}, 2))`);
  }
});

test('crash after crash restores the same state', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  for (let generation = 2; generation <= 6; generation += 1) {
    const lost = await subject.run('x += 1; import os; os.abort()');
    expect(lost.state).toMatchObject({ status: 'restored', generation });
  }
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('random numbers go on as if nothing had happened', async () => {
  await using twin = await laboratory.open();
  await using other = await laboratory.open();
  for (const subject of [twin, other]) await subject.run('import random; random.seed(1); first = random.random()');
  await twin.run('random.random(); import os; os._exit(0)');
  const draw = '[random.random() for _ in range(5)], random.getrandbits(64), random.gauss(0, 1)';
  expect(await twin.evaluate(draw)).toBe(await other.evaluate(draw));
});

test('open files, the working directory and modules survive a restore', async () => {
  await using subject = await laboratory.open();
  await subject.run(
    'import os, json; os.mkdir("d"); os.chdir("d"); f = open("notes", "w"); print("[1,", file=f, flush=True)',
  );
  expect((await subject.run('os._exit(0)')).state.status).toBe('restored');
  await subject.run('print("2]", file=f, flush=True)');
  expect(await subject.evaluate('os.getcwd(), json.load(open("notes"))')).toBe("('/workspace/d', [1, 2])");
});

test('live threads keep a twin from being made: that is said, and a crash then starts afresh', async () => {
  await using subject = await laboratory.open();
  const warned = await subject.run(
    'import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); x = 41',
  );
  expect(warned.state.unprotected).toMatch(/a live thread/);
  const lost = await subject.run('import os; os._exit(0)');
  expect(lost).toMatchObject({ outcome: { status: 'crashed', exitCode: 0 }, state: { status: 'lost', generation: 2 } });
  const fresh = await subject.run('x');
  expect(fresh).toMatchObject({ error: { name: 'NameError' }, state: { status: 'preserved', generation: 2 } });
  await subject.run('x = 41');
  expect((await subject.run('os._exit(0)')).state).toMatchObject({ status: 'preserved' });
  expect((await subject.run('import os; os._exit(0)')).state).toMatchObject({ status: 'restored', generation: 3 });
  expect(await subject.evaluate('x + 1')).toBe('42');
});

test('a state of 70 % of the memory survives a crash, also one that has rewritten all of it', async () => {
  await using subject = await laboratory.open();
  const large = await subject.run('held = bytearray(b"x") * (180 << 20); x = 1');
  expect(large.state).not.toHaveProperty('unprotected');
  for (const change of ['x += 1', 'for i in range(0, len(held), 4096): held[i] = x', 'x += 1']) {
    expect((await subject.run(change)).state).not.toHaveProperty('unprotected');
    const crash = 'for i in range(0, len(held), 4096): held[i] = 0\nimport os; os.abort()';
    const crashed = await subject.run(crash);
    expect(crashed).toMatchObject({ outcome: { status: 'crashed' }, state: { status: 'restored' } });
  }
  expect(await subject.evaluate('x, len(held), held[0], held[1]')).toBe(`(3, ${180 << 20}, 2, 120)`);
});

test('a change of so much memory that both states do not fit cannot be rolled back, which is said', async () => {
  await using subject = await laboratory.open();
  await subject.run('held = bytearray(b"x") * (180 << 20); x = 1');
  const changed = await subject.run('for i in range(0, len(held), 4096): held[i] = 1');
  expect(changed.state).not.toHaveProperty('unprotected');
  await subject.run('x');
  await expect(subject.session.rollback()).rejects.toMatchObject({
    code: 'NOTHING_TO_ROLL_BACK',
    message: expect.stringMatching(/1\d\d MB\) and of what the last run changed \(1\d\d MB\) do not fit/) as unknown,
  });
  await subject.run('x = 2');
  await subject.session.rollback(); // this run has changed little
  expect(await subject.evaluate('x, held[0]')).toBe('(1, 1)');
});

const CHILDREN = `
import os, time
children = []
try:
    while True:
        child = os.fork()
        if child == 0: time.sleep(30); os._exit(0)
        children.append(child)
except OSError: pass
x = 41`;

test('a program that uses up its processes is protected all the same', async () => {
  await using subject = await laboratory.open({ processes: 20 });
  await subject.run('x = 1');
  expect((await subject.run(CHILDREN)).state).not.toHaveProperty('unprotected');
  expect(await subject.evaluate('15 < len(children) < 25')).toBe('True');
  expect((await subject.run('os._exit(1)')).state).toMatchObject({ status: 'restored' });
  expect(await subject.evaluate('x')).toBe('41');
});

test('a twin that cannot be forked is told, tried again, and named when the state is lost', async () => {
  await using subject = await laboratory.open();
  await subject.run('import resource; usual = resource.getrlimit(resource.RLIMIT_NPROC)');
  await subject.run('resource.setrlimit(resource.RLIMIT_NPROC, (0, usual[1])); x = 41');
  expect((await subject.run('x')).state).not.toHaveProperty('unprotected'); // its own limit is the program's business
  await subject.run('resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))');
  const told = await subject.run('x');
  expect(told.state).toMatchObject({
    unprotected: expect.stringMatching(/could not be forked/) as unknown,
    remedy: expect.any(String) as unknown,
  });
  const again = await subject.run('x = 42');
  expect(again.state.unprotected).toMatch(/could not be forked/);
  expect(again.state).not.toHaveProperty('remedy');
  await expect(subject.session.rollback()).rejects.toThrow(
    /no copy of the state before it: a twin could not be forked/,
  );
  const lost = await subject.run('import os; os._exit(1)');
  expect(lost.state).toMatchObject({ status: 'lost' });
  expect(lost.state.reason).toMatch(/exit code 1; there was no twin: a twin could not be forked/);
});

test('a program that kills every process it can see loses its insurance, and no more', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  expect(await subject.run('import os; os.kill(-1, 9); x += 1')).toMatchObject({
    outcome: { status: 'succeeded' },
    state: { status: 'preserved' },
  });
  expect((await subject.run('os._exit(0)')).state).toMatchObject({ status: 'restored' });
  expect(await subject.evaluate('x')).toBe('42');
  expect((await subject.run('os.kill(-1, 9); os._exit(0)')).state).toMatchObject({ status: 'lost' });
  expect(await subject.evaluate('1 + 1')).toBe('2');
});

test('the receipt names the variables that a run added, changed and removed', async () => {
  await using subject = await laboratory.open();
  const receipts = [];
  for (const code of ['a = 1; b = [1]; c = {}', 'a = 2; b.append(2)', 'del c; d = a', 'print(a)', 'e = 1; 1/0']) {
    receipts.push((await subject.run(code)).state.variables);
  }
  expect(receipts).toEqual([
    { added: ['a', 'b', 'c'], changed: [], removed: [] },
    { added: [], changed: ['a', 'b'], removed: [] },
    { added: ['d'], changed: [], removed: ['c'] },
    { added: [], changed: [], removed: [] },
    { added: ['e'], changed: [], removed: [] },
  ]);
});

test('a process lost between runs is restored, and the next result says so', async () => {
  await using subject = await laboratory.open();
  for (const code of ['x = 40', 'x += 1']) await subject.run(code);
  const worker = await guardedWorker(subject);
  const before = new Set(processesOf(subject).map(({ pid }) => pid));
  process.kill(worker.pid, 'SIGKILL');
  await expect.poll(() => processesOf(subject).some(({ pid }) => !before.has(pid))).toBe(true); // the successor's own twin
  const next = await subject.run('print(x + 1)');
  expect(next).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '42\n' } });
  expect(next.state).toMatchObject({
    status: 'preserved',
    generation: 2,
    earlier: { status: 'restored', reason: 'between runs, the process was killed by SIGKILL' },
  });
  const after = await subject.run('x');
  expect(after.state).toMatchObject({ status: 'preserved', generation: 2 });
  expect(after.state).not.toHaveProperty('earlier');
});

test('inspect answers with the variables although the process is lost at that moment', async () => {
  await using subject = await laboratory.open();
  for (const code of ['x = 40', 'x += 1']) await subject.run(code);
  process.kill((await guardedWorker(subject)).pid, 'SIGKILL');
  expect(await subject.session.inspect()).toMatchObject([{ name: 'x', description: '41' }]);
  const { state } = await subject.run('x');
  expect(state).toMatchObject({ status: 'preserved', generation: 2, earlier: { status: 'restored' } });
});

test('a rollback undoes the last change of the variables, whatever was only looked at since', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41; log = [1]');
  await subject.run('x = 0; log.append(2); y = 1');
  await subject.run('x');
  expect(await subject.session.rollback()).toEqual({ generation: 2, files: 'restored' });
  const next = await subject.run('x, log, "y" in globals()');
  expect(next).toMatchObject({
    results: [{ data: { 'text/plain': '(41, [1], False)' } }],
    state: { status: 'preserved', generation: 2 },
  });
});

test('a run that raised, was interrupted or timed out is rolled back like any other', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  await subject.run('x = 0; 1/0');
  await subject.session.rollback();
  expect(await subject.evaluate('x')).toBe('41');
  await subject.run('x = 0\nwhile True: pass', { timeoutMs: 100 });
  await subject.session.rollback();
  expect(await subject.evaluate('x')).toBe('41');
});

test('without pauses between runs a rollback still finds the state of right before the last one', async () => {
  await using subject = await laboratory.open();
  for (let x = 1; x <= 10; x += 1) await subject.run(`x = ${x}`);
  await subject.session.rollback();
  expect(await subject.evaluate('x')).toBe('9');
});

test('a rollback brings files back that were changed or deleted, and removes new ones', async () => {
  await using subject = await laboratory.open();
  const file = (name: string): string => path.join(subject.session.workspace.path, name);
  await subject.run(
    'import os\nfor name in ("changed", "deleted", "kept"): open(name, "w").write("before")\nos.mkdir("folder")',
  );
  await subject.run(
    'open("changed", "w").write("after"); os.remove("deleted"); os.makedirs("new/deep"); open("new/deep/file", "w"); os.rmdir("folder")',
  );
  expect((await subject.session.rollback()).files).toBe('restored');
  for (const name of ['changed', 'deleted', 'kept']) expect(await readFile(file(name), 'utf8')).toBe('before');
  await access(file('folder'));
  await expect(access(file('new'))).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await subject.evaluate('open("deleted").read()')).toBe("'before'");
});

test('files above the size that a rollback covers are kept, which is said; the variables go back all the same', async () => {
  await using subject = await laboratory.open();
  await writeFile(path.join(subject.session.workspace.path, 'large'), Buffer.alloc(2 << 20), { mode: 0o666 });
  await subject.run('x = 41');
  await subject.run('x = 0; open("new", "w").write("stays")');
  expect((await subject.session.rollback()).files).toMatch(/^kept: the workspace holds more than 1048576 bytes/);
  expect(await subject.evaluate('x, open("new").read()')).toBe("(41, 'stays')");
});

test('a rollback that cannot bring every file back says so', async () => {
  await using subject = await laboratory.open();
  await subject.run('import os; open("a.txt", "w").write("one")');
  const lost = 'for name in os.listdir("/.rollback"): os.remove("/.rollback/" + name)';
  await subject.run(`open("a.txt", "w").write("two")\n${lost}`);
  expect((await subject.session.rollback()).files).toBe('restored in part: not a.txt: No such file or directory');
});

test('there is nothing to roll back at the start, after a rollback, a restore or a reset', async () => {
  await using subject = await laboratory.open();
  const nothing = { code: 'NOTHING_TO_ROLL_BACK' };
  await expect(subject.session.rollback()).rejects.toMatchObject(nothing);
  await subject.run('x = 1');
  await subject.run('x = 2');
  await subject.session.rollback();
  await expect(subject.session.rollback()).rejects.toMatchObject(nothing);
  await subject.run('x = 3');
  await subject.run('import os; os._exit(0)');
  await expect(subject.session.rollback()).rejects.toMatchObject(nothing);
  await subject.run('x = 4');
  await subject.session.reset();
  await expect(subject.session.rollback()).rejects.toMatchObject(nothing);
});

test('a reset is a fresh interpreter on the same files, one generation later', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 1; open("kept", "w").write("file")');
  await subject.session.reset();
  const next = await subject.run('"x" in globals(), open("kept").read()');
  expect(next).toMatchObject({
    results: [{ data: { 'text/plain': "(False, 'file')" } }],
    state: { status: 'preserved', generation: 2 },
  });
});

test('a session without twins says that a crash has lost its state', async () => {
  await using subject = await laboratory.open({}, { twins: false });
  await subject.run('x = 41');
  expect((await subject.run('import os; os._exit(0)')).state).toMatchObject({ status: 'lost', generation: 2 });
  await expect(subject.session.rollback()).rejects.toMatchObject({ code: 'NOTHING_TO_ROLL_BACK' });
  expect(await subject.evaluate('"x" in globals()')).toBe('False');
});

/** The worker, once it has a twin of the present state and one of the previous state. */
async function guardedWorker(subject: Subject): Promise<Process> {
  const worker = workerOf(subject);
  await expect.poll(() => processesOf(subject).filter(({ parent }) => parent === worker.pid).length).toBe(2);
  return worker;
}
