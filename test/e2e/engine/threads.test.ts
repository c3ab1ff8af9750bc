/** Threads of libraries and twins: what a session pays for being protected, and what it finds after a restore. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ limits: { memoryMb: 1024, timeoutMs: 60_000 } });
});
afterAll(() => laboratory?.close());

const WORKERS = `
import os
from joblib import Parallel, delayed
from joblib.externals.loky import reusable_executor
Parallel(n_jobs=2)(delayed(abs)(i) for i in range(4))
pids = set(reusable_executor._executor._processes)`;
const OPENMP = `
import ctypes, glob, os, sklearn
openmp = ctypes.CDLL(glob.glob(f"{os.path.dirname(os.path.dirname(sklearn.__file__))}/scikit_learn.libs/libgomp*")[0])
calls = []
def region():
    "Runs a function of the C library on three threads."
    openmp.GOMP_parallel(ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p), None, 3, 0)
    return len(os.listdir("/proc/self/task"))
region()`;

const POLARS = `
import os, polars
frame = polars.DataFrame({"key": [i % 100 for i in range(50_000)], "value": range(50_000)})
def work():
    "Uses both engines of polars, each with threads of its own."
    sums = frame.group_by("key").agg(polars.col("value").sum()).sort("key")
    large = frame.lazy().filter(polars.col("value") > 100).group_by("key").agg(polars.len()).collect(engine="streaming")
    return sums["value"].sum(), large["len"].sum()
first, rounds = work(), 0`;

test('polars works in a twin, and in the twin of that, again and again', async () => {
  await using subject = await laboratory.open();
  expect((await subject.run(POLARS)).state).not.toHaveProperty('unprotected');
  for (let round = 1; round <= 10; round += 1) {
    expect((await subject.run('work(); os.abort()')).state.status).toBe('restored');
    const again = await subject.run('assert work() == first; rounds += 1', { timeoutMs: 20_000 });
    expect(again.outcome.status, again.error?.value).toBe('succeeded');
    expect(again.state).not.toHaveProperty('unprotected');
  }
  expect(await subject.evaluate('rounds')).toBe('10');
});

test('a rollback brings back a state in which polars works', async () => {
  await using subject = await laboratory.open();
  await subject.run(POLARS);
  await subject.run('rounds = 7');
  await subject.session.rollback();
  expect(await subject.evaluate('rounds, work() == first')).toBe('(0, True)');
});

test('joblib keeps its processes from run to run, although each run gets a twin', async () => {
  await using subject = await laboratory.open();
  expect((await subject.run(WORKERS)).state).not.toHaveProperty('unprotected');
  await subject.run('before = pids');
  await subject.run(WORKERS);
  expect(await subject.evaluate('pids == before, len(pids)')).toBe('(True, 2)');
  expect((await subject.run('os.abort()')).state.status).toBe('restored'); // the twins were real
});

test('a crash while joblib works leaves no noise behind, again and again', async () => {
  await using subject = await laboratory.open();
  await subject.run(`total = 0\n${WORKERS}`);
  for (let round = 1; round <= 2; round += 1) {
    const lost = await subject.run(`${WORKERS}\nos.abort()`);
    expect(lost).toMatchObject({ outcome: { status: 'crashed' }, state: { status: 'restored' } });
    const again = await subject.run(
      `${WORKERS}\nimport multiprocessing\ntotal += 1\nmultiprocessing.active_children()`,
    );
    expect(again).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '', stderr: '' } });
    expect(again.state).not.toHaveProperty('unprotected');
    expect(await subject.evaluate('total')).toBe(`${round}`);
  }
});

test('a crash while joblib works on large arrays leaves nothing of them behind', async () => {
  await using subject = await laboratory.open();
  await subject.run('import glob, os, numpy\nfrom joblib import Parallel, delayed\nbig = numpy.zeros(3_000_000)');
  const lost = await subject.run(`
def tasks():
    for i in range(20):
        if i == 15:
            print(len(glob.glob("/dev/shm/*joblib*") + glob.glob("/tmp/joblib*")), flush=True)
            os.abort()
        yield delayed(len)(big)
Parallel(n_jobs=2)(tasks())`);
  expect(lost).toMatchObject({ logs: { stdout: '1\n' }, state: { status: 'restored' } });
  expect(await subject.evaluate('os.listdir("/dev/shm"), glob.glob("/tmp/joblib*")')).toBe('([], [])');
});

test('an executor of joblib that a program kept refuses work after a restore, instead of waiting for ever', async () => {
  await using subject = await laboratory.open();
  await subject.run('from joblib.externals.loky import get_reusable_executor\nkept = get_reusable_executor(2)');
  await subject.run('first = kept.submit(abs, -1).result()');
  expect((await subject.run('import os; os.abort()')).state.status).toBe('restored');
  expect((await subject.run('kept.submit(abs, -1)', { timeoutMs: 10_000 })).error?.name).toBe('ShutdownExecutorError');
  expect(await subject.evaluate('get_reusable_executor(2).submit(abs, -1).result()')).toBe('1');
});

test('OpenMP regions run on all threads after a twin was made, a restore and a rollback', async () => {
  await using subject = await laboratory.open();
  expect((await subject.run(OPENMP)).state).not.toHaveProperty('unprotected');
  await subject.run('calls.append(region())');
  expect((await subject.run('calls.append(region()); os.abort()')).state.status).toBe('restored');
  await subject.run('calls.append(region())');
  await subject.run('calls.append("undone")');
  await subject.session.rollback();
  expect(await subject.evaluate('calls, region()')).toBe('([3, 3], 3)');
});

test('threads that wake up for a moment do not cost the twin', async () => {
  await using subject = await laboratory.open();
  await subject.run('from concurrent.futures import ThreadPoolExecutor; executor = ThreadPoolExecutor(8); seen = []');
  for (let round = 0; round < 10; round += 1) {
    const used = await subject.run('seen.append(sum(executor.map(abs, range(-20, 0))))');
    expect(used.state).not.toHaveProperty('unprotected');
  }
  expect((await subject.run('import os; os.abort()')).state.status).toBe('restored');
  expect(await subject.evaluate('len(seen), set(seen), sum(executor.map(abs, range(-20, 0)))')).toBe(
    '(10, {210}, 210)',
  );
});

test('work of Arrow in the background keeps a twin from being made', async () => {
  await using subject = await laboratory.open();
  const reading = await subject.run(`
import io, threading, pyarrow.csv
class Slow(io.RawIOBase):
    reads = 0
    def readable(self):
        return True
    def read(self, size=-1):
        Slow.reads += 1
        return b"1\\n" * 1000 if Slow.reads < 4 else threading.Event().wait()
reader = pyarrow.csv.open_csv(Slow())
reader.read_next_batch().num_rows > 0`);
  expect(reading.results[0]?.data['text/plain']).toBe('True');
  expect(reading.state.unprotected).toMatch(/a twin would not have a live thread/);
});

test('a program that shows all warnings sees none about a twin', async () => {
  await using subject = await laboratory.open();
  await subject.run(`
import warnings, pandas as pd
warnings.simplefilter("always")
pd.DataFrame({"a": range(100_000)}).to_parquet("data.parquet")
table = pd.read_parquet("data.parquet")`);
  await twinMade(subject);
  const next = await subject.run('x = 1');
  expect(next.logs).toEqual({ stdout: '', stderr: '' });
});

/** Waits until the present state has a twin: only then can it be rolled back to. */
async function twinMade(subject: Subject): Promise<void> {
  await subject.run('_made = True');
  await subject.run('del _made');
  await subject.session.rollback();
}
