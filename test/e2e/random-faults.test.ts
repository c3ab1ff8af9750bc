/** Faults of the machine at random moments, while several sessions work: every call has its answer. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createHost, type Execution, type Session } from '../../src/index.ts';
import { exhaustDescriptors } from '../support/faults/descriptors.ts';
import { lockDatabase } from '../support/faults/locked-database.ts';
import { noSmallDisk, SmallDisk } from '../support/faults/small-disk.ts';

const ROUNDS = 12;
const SESSIONS = 3;

/** A file that is copied at once, one that is copied later, and a long output. */
const CODE = `
n = globals().get("n", 0) + 1
open("small", "w").write(str(n))
open("large", "wb").write(bytes([n % 256]) * 6_000_000)
print(str(n) * 100_000)
n`;

function expectTrue({ outcome, results, files, spills, state }: Execution, n: number): void {
  expect(outcome.status).toBe('succeeded');
  expect(state.status).toBe('preserved');
  expect(results[0]?.data['text/plain']).toBe(String(n));
  const isListed = files.length === 2;
  expect(isListed || state.reason?.includes('could not be listed')).toBe(true);
  for (const produced of [...files, spills?.stdout]) {
    expect(produced?.id === undefined, 'there is a copy, or a reason').toBe(produced?.notKept !== undefined);
  }
}

test.skipIf(noSmallDisk !== null)('every run has a true answer, whatever the machine lacks', async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'random-faults-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  using disk = new SmallDisk(64, path.join(dataDir, 'artifacts'));
  await using host = await createHost({ preload: [], poolSize: 0, dataDir, artifactMb: 32, limits: { rollbackMb: 0 } });
  const sessions: Session[] = [];
  for (let count = 0; count < SESSIONS; count += 1) sessions.push(await host.createSession());
  const faults: (() => Disposable | AsyncDisposable | Promise<AsyncDisposable>)[] = [
    () => exhaustDescriptors(),
    () => lockDatabase(path.join(disk.path, 'artifacts.sqlite')),
    () => (disk.fill(), { [Symbol.dispose]: () => disk.free() }),
  ];
  for (let n = 1; n <= ROUNDS; n += 1) {
    const running = Promise.all(sessions.map((session) => session.runCode(CODE)));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30)); // a moment of any run
    {
      await using stack = new AsyncDisposableStack();
      const fault = faults[n % faults.length];
      if (fault !== undefined) stack.use(await fault());
      for (const execution of await running) expectTrue(execution, n);
    }
  }
  for (const { id } of sessions) expect((await host.artifacts.list({ sessionId: id })).length).toBeGreaterThan(0);
});
