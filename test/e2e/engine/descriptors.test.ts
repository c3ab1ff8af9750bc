import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { MountTable } from '../../../src/engine/local/mount/table.ts';
import { exhaustDescriptors } from '../../support/faults/descriptors.ts';
import { Laboratory } from './laboratory.ts';

const run = promisify(execFile);

test('nothing that the zygote left behind closes the descriptors of a session', async () => {
  await using laboratory = await Laboratory.start();
  await using other = await laboratory.open(); // one more lifeline in the zygote when the next session is forked
  await using subject = await laboratory.open();
  const { outcome, logs } = await subject.run(`
import gc, os
pipes = [os.pipe() for _ in range(20)]
before = [os.fstat(fd).st_ino for pair in pipes for fd in pair]
cycles = []
for _ in range(3000):
    ring = []; ring.append(ring); cycles.append(ring)
del cycles
gc.collect()
print(before == [os.fstat(fd).st_ino for pair in pipes for fd in pair])`);
  expect(outcome.status).toBe('succeeded');
  expect(logs.stdout).toBe('True\n');
  expect(await other.evaluate('6 * 7')).toBe('42');
});

test('a mount that cannot be opened for want of descriptors is not called wrong', async () => {
  const table = new MountTable([import.meta.dirname]);
  const mount = { source: import.meta.dirname, target: '/data', writable: false };
  table.hold([mount])[Symbol.dispose](); // what has to be loaded is loaded now
  using taken = exhaustDescriptors(1);
  expect(() => table.hold([mount])).toThrow(expect.objectContaining({ code: 'ENGINE_FAILED' }));
  taken[Symbol.dispose]();
  table.hold([mount])[Symbol.dispose]();
});

test.for([1026, 512, 100])('sessions open where a process may have only %i open files', async (limit) => {
  const main = path.resolve(import.meta.dirname, '../../../src/cli/main.ts');
  const command = `ulimit -Sn ${limit}; ulimit -Hn ${limit}; exec "$0" "$@"`;
  const { stdout } = await run('bash', ['-c', command, process.execPath, main, 'run', '-c', 'print(6 * 7)']);
  expect(stdout).toBe('42\n');
});
