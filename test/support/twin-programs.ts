/** Programs whose libraries start threads, and an environment that has these libraries. */
import path from 'node:path';
import { parseConfig } from '../../src/config.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { createHost, type Host } from '../../src/index.ts';
import { installBeside } from '../../tools/side-environment.ts';

const REQUIREMENTS = path.join(import.meta.dirname, 'twin-requirements.txt');

export interface ThreadedProgram {
  /** As the documentation says it. */
  readonly name: string;
  /** Can run again where it has run before, and then has to work. */
  readonly code: string;
  /** Whether threads are left when it has ended. Without them, a row would show nothing. */
  readonly leavesThreads: boolean;
  /** Whether it needs the machine's own GNU OpenMP. */
  readonly needsOpenMp?: true;
}

const NUMBA = (layer: string): string => `
import numba, numpy
numba.config.THREADING_LAYER = "${layer}"
@numba.njit(parallel=True)
def add(values):
    total = 0.0
    for i in numba.prange(len(values)):
        total += values[i]
    return total
assert add(numpy.ones(10_000)) == 10_000`;

const JOBLIB = (options: string): string => `
from joblib import Parallel, delayed
assert Parallel(n_jobs=2${options})(delayed(abs)(-i) for i in range(4)) == [0, 1, 2, 3]`;

export const PROGRAMS: readonly ThreadedProgram[] = [
  {
    name: 'numpy and scipy on two BLAS threads',
    code: `
import numpy, scipy.linalg, threadpoolctl
threadpoolctl.threadpool_limits(2)
square = numpy.random.rand(600, 600)
assert numpy.allclose(scipy.linalg.inv(square) @ square, numpy.eye(600), atol=1e-5)`,
    leavesThreads: true,
  },
  {
    name: 'scikit-learn on two OpenMP threads (HistGradientBoosting)',
    code: `
import numpy, threadpoolctl
from sklearn.ensemble import HistGradientBoostingRegressor
threadpoolctl.threadpool_limits(2)
inputs = numpy.random.rand(3000, 5)
HistGradientBoostingRegressor(max_iter=3).fit(inputs, inputs[:, 0]).predict(inputs)`,
    leavesThreads: true,
  },
  {
    name: 'scikit-learn with `n_jobs=2` (GridSearchCV)',
    code: `
import numpy
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
inputs = numpy.random.rand(300, 4)
search = GridSearchCV(Ridge(), {"alpha": [1, 2]}, n_jobs=2, cv=2).fit(inputs, inputs[:, 0])
assert search.best_params_ == {"alpha": 1}`,
    leavesThreads: true,
  },
  { name: 'joblib, loky (the default backend)', code: JOBLIB(''), leavesThreads: true },
  { name: 'joblib, threading backend', code: JOBLIB(', backend="threading"'), leavesThreads: false },
  { name: 'joblib, multiprocessing backend', code: JOBLIB(', backend="multiprocessing"'), leavesThreads: false },
  {
    name: 'LightGBM on two threads',
    code: `
import lightgbm, numpy
inputs = numpy.random.rand(2000, 5)
lightgbm.LGBMRegressor(n_estimators=3, n_jobs=2, verbose=-1).fit(inputs, inputs[:, 0])`,
    leavesThreads: true,
    needsOpenMp: true,
  },
  {
    name: 'OpenCV',
    code: `
import cv2, numpy
cv2.setNumThreads(2)
picture = numpy.random.randint(0, 255, (2000, 2000, 3), numpy.uint8)
assert cv2.cvtColor(cv2.GaussianBlur(picture, (9, 9), 0), cv2.COLOR_BGR2GRAY).shape == (2000, 2000)`,
    leavesThreads: true,
  },
  {
    name: 'numexpr',
    code: `
import numexpr, numpy
numexpr.set_num_threads(2)
ones = numpy.ones(1_000_000)
assert numexpr.evaluate("ones * 2 + 1").sum() == 3_000_000`,
    leavesThreads: true,
  },
  {
    name: 'numba, `njit`',
    code: 'import numba\n@numba.njit\ndef increment(x):\n    return x + 1\nassert increment(1) == 2',
    leavesThreads: false,
  },
  { name: 'numba, parallel', code: NUMBA('default'), leavesThreads: true },
  { name: 'numba, parallel, `workqueue` layer', code: NUMBA('workqueue'), leavesThreads: true },
  { name: 'numba, parallel, `omp` layer', code: NUMBA('omp'), leavesThreads: true, needsOpenMp: true },
  {
    name: 'pyarrow, pandas with Parquet',
    code: `
import pandas
pandas.DataFrame({"a": range(100_000)}).to_parquet("data.parquet")
assert pandas.read_parquet("data.parquet").a.sum() == 4_999_950_000`,
    leavesThreads: true,
  },
  {
    name: 'polars',
    code: `
import polars
frame = polars.DataFrame({"a": range(100_000)})
assert frame.lazy().group_by("a").agg(polars.len()).collect().height == 100_000
assert frame.lazy().filter(polars.col("a") > 9).collect(engine="streaming").height == 99_990`,
    leavesThreads: true,
  },
  {
    name: 'DuckDB with an open connection to a database in memory',
    code: `
import duckdb
connection = duckdb.connect()
assert connection.execute("select count(*) from range(1000000)").fetchall() == [(1_000_000,)]`,
    leavesThreads: true,
  },
  {
    name: 'DuckDB without a connection of its own (`duckdb.sql`)',
    code: `
import duckdb
assert duckdb.sql("select count(*) from range(1000000)").fetchall() == [(1_000_000,)]`,
    leavesThreads: true,
  },
  {
    name: 'DuckDB with an open connection to a file',
    code: `
import duckdb
connection = duckdb.connect("data.duckdb")
assert connection.execute("select count(*) from range(1000000)").fetchall() == [(1_000_000,)]`,
    leavesThreads: true,
  },
  {
    name: 'DuckDB, connection closed',
    code: `
import duckdb
with duckdb.connect() as connection:
    assert connection.execute("select count(*) from range(1000000)").fetchall() == [(1_000_000,)]`,
    leavesThreads: false,
  },
  {
    name: 'tqdm',
    code: 'import io, tqdm\nassert sum(tqdm.tqdm(range(1000), file=io.StringIO())) == 499_500',
    leavesThreads: true,
  },
  {
    name: '`ThreadPoolExecutor`, idle',
    code: `
from concurrent.futures import ThreadPoolExecutor
executor = globals().get("executor") or ThreadPoolExecutor(2)
assert sum(executor.map(abs, range(-10, 0))) == 55`,
    leavesThreads: true,
  },
  {
    name: '`asyncio.to_thread`',
    code: 'import asyncio\nassert await asyncio.to_thread(abs, -1) == 1',
    leavesThreads: true,
  },
  {
    name: 'a thread that runs on',
    code: 'import threading, time\nthreading.Thread(target=time.sleep, args=(600,), name="poller", daemon=True).start()',
    leavesThreads: true,
  },
  {
    name: '`threading.Timer`',
    code: 'import threading\ntimer = threading.Timer(600, print)\ntimer.daemon = True\ntimer.start()',
    leavesThreads: true,
  },
  {
    name: '`multiprocessing.Pool`, open',
    code: 'from multiprocessing import Pool\npool = Pool(2)\nassert pool.map(abs, [-1, -2]) == [1, 2]',
    leavesThreads: true,
  },
  {
    name: '`multiprocessing.Pool` in a `with` block',
    code: 'from multiprocessing import Pool\nwith Pool(2) as pool:\n    assert pool.map(abs, [-1, -2]) == [1, 2]',
    leavesThreads: false,
  },
  {
    name: '`multiprocessing.Queue`, written to',
    code: 'from multiprocessing import Queue\nqueue = Queue()\nqueue.put(1)\nassert queue.get() == 1',
    leavesThreads: true,
  },
];

/** A host whose sessions have the libraries of all programs, or why there is none. */
export async function startThreadedHost(): Promise<Host | { readonly problem: string }> {
  const config = parseConfig({});
  const sessions = await choosePython(config);
  const installed = await installBeside({
    name: 'twin-libraries',
    requirementsFile: REQUIREMENTS,
    dataDir: config.dataDir,
    sessions,
    say: () => {},
  });
  if ('problem' in installed) return installed;
  const shared = path.dirname(path.dirname(sessions.python));
  const mounts = shared === '/usr' ? [] : [{ source: shared, target: shared }];
  return createHost({ python: installed.python, preload: [], poolSize: 0, mounts });
}
