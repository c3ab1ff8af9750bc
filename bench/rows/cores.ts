/** Work that numeric libraries spread over all processors, in a session and in a plain process of the same Python. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Session } from '../../src/host/session.ts';
import { openHost, resultOf, type Bench } from '../bench.ts';
import { interleave, summarise, summariseAll } from '../measure.ts';
import { showTiming, type Row } from '../report.ts';

const HOLD_RATIO = 0.9;
const MEMORY_MB = 4096;
const TIMEOUT_MS = 600_000;

interface Work {
  readonly what: string;
  /** What has to be installed, besides what every environment has. */
  readonly needs?: string;
  readonly setUp: string;
  readonly code: string;
}

const WORKS: readonly Work[] = [
  {
    what: 'matrix product, 2000 × 2000',
    setUp: 'import numpy\nsquare = numpy.random.rand(2000, 2000)',
    code: 'square @ square',
  },
  {
    what: 'singular values and vectors, 1000 × 1000',
    setUp: 'import numpy\nsquare = numpy.random.rand(1000, 1000)',
    code: 'numpy.linalg.svd(square)',
  },
  {
    what: 'fit of HistGradientBoosting, 20,000 rows',
    setUp: `import numpy
from sklearn.ensemble import HistGradientBoostingRegressor
rows = numpy.random.rand(20_000, 10)`,
    code: 'HistGradientBoostingRegressor(max_iter=30).fit(rows, rows[:, 0] * rows[:, 1])',
  },
  {
    what: 'polars group-by, 3,000,000 rows',
    needs: 'polars',
    setUp: `import numpy, polars
frame = polars.DataFrame({"key": numpy.random.randint(0, 1000, 3_000_000), "value": numpy.random.rand(3_000_000)})`,
    code: 'frame.group_by("key").agg(mean=polars.col("value").mean(), spread=polars.col("value").std())',
  },
];

export async function measureCores(bench: Bench): Promise<Row[]> {
  await using host = await openHost({ poolSize: 1, limits: { memoryMb: MEMORY_MB } });
  const rows: Row[] = [];
  for (const work of WORKS) {
    await using session = await host.createSession();
    rows.push(await measureWork(bench, session, work));
  }
  return rows;
}

async function measureWork({ python, isQuick }: Bench, session: Session, work: Work): Promise<Row> {
  const what = `${work.what}, on all processors`;
  if (work.needs !== undefined && !(await isThere(session, work.needs))) {
    return { what, ours: `not measured: ${work.needs} is not installed`, data: {} };
  }
  const program = timed(work, isQuick ? 2 : 4);
  const durations = await interleave(isQuick ? 2 : 5, {
    ours: async () => {
      const execution = await session.runCode(program, { timeoutMs: TIMEOUT_MS });
      resultOf(execution);
      return durationsOf(execution.logs.stdout);
    },
    python: async () => durationsOf(await runPlain(python, program)),
  });
  const [ours, plain] = [summariseAll(durations('ours')), summarise(durations('python'))];
  const speed = (plain?.p50Ms ?? Number.NaN) / ours.p50Ms;
  return {
    what,
    ours: showTiming(ours) ?? '',
    python: showTiming(plain),
    ratio: `${speed.toFixed(2)} × (python)`,
    hold: `≥ ${HOLD_RATIO} × the speed of python`,
    held: speed >= HOLD_RATIO,
    data: { ours, python: plain, speed },
  };
}

async function isThere(session: Session, name: string): Promise<boolean> {
  return (await session.runCode(`import ${name}`)).outcome.status === 'succeeded';
}

/** Does the work once unmeasured, which starts threads and touches memory, and then prints how long it takes. */
function timed({ setUp, code }: Work, times: number): string {
  return `${setUp}
import json, time
durations = []
for _ in range(${times + 1}):
    begun = time.perf_counter()
    ${code}
    durations.append(1000 * (time.perf_counter() - begun))
print(json.dumps(durations[1:]))`;
}

function durationsOf(output: string): number[] {
  return JSON.parse(output) as number[];
}

async function runPlain(python: string, program: string): Promise<string> {
  const { PATH, HOME } = process.env;
  const child = spawn(python, ['-c', program], { env: { PATH, HOME }, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return output;
}
