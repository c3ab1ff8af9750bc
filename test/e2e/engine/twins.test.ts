/** Twins: what a session is worth after its process was lost, and how a run is undone. */
import { access, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory } from './laboratory.ts';
import { workerOf } from './processes.ts';

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
const SHARED = 'import mmap; held = mmap.mmap(-1, 1 << 30); held.write(b"x" * (50 << 20)); [held.write(b"x" * (50 << 20)) for _ in range(19)]';
const DEAF = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';

const ENDINGS: readonly (readonly [name: string, code: string, outcome: object])[] = [
  ['a wild pointer', 'import ctypes; ctypes.string_at(0)', { status: 'crashed', signal: 'SIGSEGV', exitCode: null }],
  ['os._exit(0)', 'import os; os._exit(0)', { status: 'crashed', signal: null, exitCode: 0 }],
  ['os._exit(7)', 'import os; os._exit(7)', { status: 'crashed', signal: null, exitCode: 7 }],
  ['kill -9', 'import os; os.kill(os.getpid(), 9)', { status: 'crashed', signal: 'SIGKILL', exitCode: null }],
  ['abort', 'import os; os.abort()', { status: 'crashed', signal: 'SIGABRT', exitCode: null }],
  ['a kill of every process', 'import os; os.kill(-1, 9)', { status: 'crashed', signal: 'SIGKILL', exitCode: null }],
  ['a loop that ignores SIGINT', DEAF, { status: 'timed-out', limit: 'wall', limitMs: 1500 }],
  ['children above the limit', SPREAD, { status: 'out-of-memory', limitMb: 256 }],
  ['shared memory above the limit', SHARED, { status: 'out-of-memory', limitMb: 256 }],
];

for (const [name, code, outcome] of ENDINGS) {
  test(`${name} costs the run, not the state`, async () => {
    await using subject = await laboratory.open();
    await subject.run('x = 41');
    const lost = await subject.run(`print("before"); import sys; print("error", file=sys.stderr)\n${code}`, { timeoutMs: 1500 });
    expect(lost).toMatchObject({ outcome, logs: { stdout: 'before\n', stderr: 'error\n' }, results: [] });
    expect(lost.state).toEqual({
      status: 'restored',
      generation: 2,
      variables: { added: [], changed: [], removed: [] },
      reason: expect.any(String) as unknown,
    });
    const next = await subject.run('print(x + 1)');
    expect(next).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '42\n' }, state: { status: 'preserved', generation: 2 } });
    expect(next.state).not.toHaveProperty('reason');
  });
}
