/** Sessions without namespaces: a subreaper ends what they start, and the zygote does if that was killed. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';

/** Sessions of root have user ids of their own, and this is the only Python that every user surely may run. */
const SYSTEM_PYTHON = '/usr/bin/python3';
/** Generations of processes that nothing but a signal ends, not even the end of their parent. */
const FORK_TREE = `import os, time
if os.fork() == 0:
    os.setsid()
    for _ in range(6):
        if os.fork():
            break
    time.sleep(1000)
time.sleep(0.3)
print(os.getppid())`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync('/var/tmp/viv-subreaper-');
  chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The processes of engines that use the directory, whatever their parents are by now. */
function countProcesses(): number {
  return readdirSync('/proc').filter((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(directory);
    } catch {
      return false; // not a process, or it has ended
    }
  }).length;
}

describe.skipIf(!existsSync(SYSTEM_PYTHON)).for(['landlock', 'none'] as const)('at the level %s', (isolation) => {
  const open = (): Promise<Host> => createHost({ isolation, poolSize: 0, dataDir: directory, python: SYSTEM_PYTHON });

  test('nothing is left of a session whose subreaper was killed', async () => {
    await using host = await open();
    const before = countProcesses();
    await using session = await host.createSession();
    const { logs } = await session.runCode(FORK_TREE);
    expect(countProcesses()).toBeGreaterThan(before + 5);
    process.kill(Number(logs.stdout), 'SIGKILL');
    await expect.poll(countProcesses, { timeout: 5000 }).toBe(before);
  });

  test('nothing is left of a host that was closed right after a run', async () => {
    for (let count = 0; count < 3; count += 1) {
      await using host = await open();
      const session = await host.createSession();
      await session.runCode(FORK_TREE.replaceAll('time.sleep(0.3)', 'time.sleep(0.02)'));
    }
    await expect.poll(countProcesses, { timeout: 5000 }).toBe(0);
  });
});
