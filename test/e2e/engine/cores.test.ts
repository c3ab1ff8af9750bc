/** Sessions use the processors that they may use: libraries that were loaded before them, and those that they load. */
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, type Host, type SessionOptions } from '../../../src/index.ts';

/** Of processors, as each way to ask for it tells. */
const COUNTS = `
import os, subprocess, sys
from joblib import cpu_count
child = subprocess.run([sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"], capture_output=True)
sorted({os.cpu_count(), getattr(os, "process_cpu_count", os.cpu_count)(), len(os.sched_getaffinity(0)),
    cpu_count(), int(child.stdout)})`;

/** Of the threads that each library will use, and the threads that are there after numpy has used its own. */
const THREADS = `
import os, numpy, scipy.linalg, sklearn.ensemble, threadpoolctl
square = numpy.random.rand(800, 800)
square @ square
sorted({pool["num_threads"] for pool in threadpoolctl.threadpool_info()})`;

const WORK = `
import numpy
from sklearn.ensemble import HistGradientBoostingRegressor
square = numpy.random.rand(2000, 2000)
product = square @ square
singular = numpy.linalg.svd(square[:300, :300], compute_uv=False)
model = HistGradientBoostingRegressor(max_iter=3).fit(square[:, :5], square[:, 0])
len(model.predict(square[:, :5])), len(singular), bool(numpy.isclose(product[0, 0], square[0] @ square[:, 0]))`;

const processors = availableParallelism();
let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: ['numpy', 'scipy.linalg', 'sklearn'], poolSize: 1 });
});
afterAll(() => host.close());

async function evaluate(options: SessionOptions, code: string, from = host): Promise<unknown> {
  await using session = await from.createSession(options);
  const { outcome, error, value } = await session.runCode(`answer = None\n${withAnswer(code)}`, {
    resultVariable: 'answer',
  });
  expect(outcome, error?.value).toEqual({ status: 'succeeded' });
  return value;
}

/** Assigns the last statement. */
function withAnswer(code: string): string {
  const start = code.search(/\n(?=\S[^\n]*(?:\n\s[^\n]*)*$)/u) + 1;
  return `${code.slice(0, start)}answer = ${code.slice(start)}`;
}

test('the zygote is single-threaded, and libraries that it has loaded use all processors in a session', async () => {
  expect(host.isolation.missing.filter((text) => text.includes('zygote'))).toEqual([]);
  expect(await evaluate({}, 'import os\nlen(os.listdir("/proc/self/task"))')).toBe(1);
  expect(await evaluate({}, COUNTS)).toEqual([processors]);
  expect(await evaluate({}, THREADS)).toEqual([Math.min(processors, 16)]);
  const left = `${THREADS.trimEnd()}\nlen(os.listdir("/proc/self/task")) > 1`;
  expect(await evaluate({}, left)).toBe(processors > 1);
});

test('a session that is held to one processor sees one', async () => {
  const options = { limits: { cpus: 1 } };
  expect(await evaluate(options, COUNTS)).toEqual([1]);
  expect(await evaluate(options, THREADS)).toEqual([1]);
});

test('the environment of a session says how many threads libraries use, loaded or not', async () => {
  const env = { OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' };
  expect(await evaluate({ env }, THREADS)).toEqual([1]);
  const { OMP_NUM_THREADS } = env;
  expect(await evaluate({ env: { OMP_NUM_THREADS } }, THREADS)).toEqual([1]);
});

test('a session with little memory starts fewer threads, each of which needs some', async () => {
  const options = { limits: { memoryMb: 100, processes: 200 } };
  expect(
    await evaluate(
      options,
      'import threadpoolctl\n[pool["num_threads"] for pool in threadpoolctl.threadpool_info()][0]',
    ),
  ).toBe(1);
});

test('after a crash the state is there, and libraries go on with all their threads', async () => {
  await using session = await host.createSession();
  const used = await session.runCode(WORK);
  expect(used).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stderr: '' } });
  expect(used.state.unprotected).toBeUndefined();
  const lost = await session.runCode('import os; os.abort()');
  expect(lost.state.status).toBe('restored');
  const again = await session.runCode(`assert product.shape == (2000, 2000)\n${WORK}`);
  expect(again.results[0]?.data['text/plain']).toBe('(2000, 300, True)');
  const threads = await session.runCode(THREADS);
  expect(threads.results[0]?.data['text/plain']).toBe(`[${Math.min(processors, 16)}]`);
});

test('a control group holds a session to a part of a processor', async ({ skip }) => {
  skip(!host.isolation.cpus.includes('cgroup'), 'there is no control group with the cpu controller');
  const burn = `
import time
begun, used = time.monotonic(), time.process_time()
while time.monotonic() - begun < 1: pass
(time.process_time() - used) / (time.monotonic() - begun)`;
  expect(await evaluate({ limits: { cpus: 0.2 } }, burn)).toBeLessThan(0.35);
});

test.skipIf(processors < 2)('without control groups a session cannot leave the processors it is held to', async () => {
  await using bare = await createHost({ cgroups: false, preload: [], poolSize: 0 });
  expect(bare.isolation.cpus).toEqual(['affinity']);
  const widen = `
import os
def widen():
    try: os.sched_setaffinity(0, range(${processors}))
    except PermissionError: return "refused"
[widen(), len(os.sched_getaffinity(0))]`;
  expect(await evaluate({ limits: { cpus: 1 } }, widen, bare)).toEqual(['refused', 1]);
  const refused = bare.createSession({ limits: { cpus: 1.5 } });
  await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(refused).rejects.toThrow('Use 2');
});
