/** Which libraries leave a session protected, and that each works after a crash: the table of docs/twins.md. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import type { Execution, Host, Session } from '../../src/index.ts';
import { PROGRAMS, startThreadedHost, type ThreadedProgram } from '../support/twin-programs.ts';

const PAGE = path.resolve(import.meta.dirname, '../../docs/twins.md');
const INSTALL_TIMEOUT_MS = 360_000;
const USE_TIMEOUT_MS = 60_000;
const COUNT = '\nimport os; print(len(os.listdir("/proc/self/task")))';
const NUMBERS = `
import cv2, numba, numexpr, polars, pyarrow
numbers = {
    "polars": polars.thread_pool_size(),
    "opencv": cv2.getNumThreads(),
    "numba": numba.config.NUMBA_NUM_THREADS,
    "pyarrow": pyarrow.cpu_count(),
    "numexpr": numexpr.get_num_threads(),
}`;
const isRequired = process.env['CI'] === 'true';

let started: Host | { readonly problem: string };
let hasOpenMp = false;
beforeAll(async () => {
  started = await startThreadedHost();
  if ('problem' in started) return;
  const { outcome } = await started.runOnce('import ctypes; ctypes.CDLL("libgomp.so.1")');
  hasOpenMp = outcome.status === 'succeeded';
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  if (!('problem' in started)) await started.close();
});

for (const program of PROGRAMS) {
  test(`after a crash, ${program.name} works again, and the receipts are those of the table`, async (context) => {
    const host = hostFor(program, context);
    await using session = await host.createSession();
    const { unprotected, remedy = '' } = await use(session, program);
    const isProtected = unprotected === undefined;
    const lost = await session.runCode('os.abort()');
    expect(lost.outcome).toMatchObject({ status: 'crashed', signal: 'SIGABRT' });
    expect(lost.state.status).toBe(isProtected ? 'restored' : 'lost');
    const kept = await session.runCode('globals().get("kept", "lost")', { resultVariable: '_' });
    expect(kept.value).toBe(isProtected ? 41 : 'lost');
    await use(session, program);
    expect(tableRows()).toContainEqual([program.name, isProtected ? 'yes' : 'no', remedy]);
  }, 180_000);
}

test('the table has no other rows', () => {
  expect(tableRows().map(([name]) => name)).toEqual(PROGRAMS.map(({ name }) => name));
});

test('all these libraries but DuckDB go by the processors of the session', async (context) => {
  const host = hostFor(PROGRAMS[0]!, context);
  await using session = await host.createSession({ limits: { cpus: 1 } });
  const { value, error } = await session.runCode(NUMBERS, { resultVariable: 'numbers', timeoutMs: USE_TIMEOUT_MS });
  expect(value, error?.value).toEqual({ polars: 1, opencv: 1, numba: 1, pyarrow: 1, numexpr: 1 });
}, 60_000);

/** Runs the program, which must work. */
async function use(session: Session, program: ThreadedProgram): Promise<Execution['state']> {
  const used = await session.runCode(`kept = 41\n${program.code}${COUNT}`, { timeoutMs: USE_TIMEOUT_MS });
  expect(used).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stderr: '' } });
  expect(Number(used.logs.stdout)).toBeGreaterThan(program.leavesThreads ? 1 : 0);
  return used.state;
}

function hostFor(program: ThreadedProgram, { skip }: TestContext): Host {
  if ('problem' in started) {
    if (isRequired) throw new Error(started.problem);
    return skip(`the libraries could not be installed: ${started.problem}`);
  }
  skip(program.needsOpenMp === true && !hasOpenMp && !isRequired, 'this machine has no GNU OpenMP (libgomp.so.1)');
  return started;
}

/** The cells of the table whose first column is a program. */
function tableRows(): string[][] {
  const lines = readFileSync(PAGE, 'utf8').split('\n');
  const start = lines.findIndex((line) => line.startsWith('| the program used'));
  const rows = lines.slice(start + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
