/** Temporary files and shared memory: as large as the limits of the session, and errors that name the limit. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { choosePython } from '../../../src/host/local/python.ts';
import type { Limits } from '../../../src/config.ts';
import { Laboratory, type Subject } from './laboratory.ts';

/** Without control groups, nothing counts the pages of a memory file system. */
describe.for([true, false])('with cgroups: %s', (cgroups) => {
  let laboratory: Laboratory;
  beforeAll(async () => {
    laboratory = await Laboratory.start({ cgroups, poolSize: 1, preload: ['numpy'], limits: { memoryMb: 512 } });
  });
  afterAll(() => laboratory?.close());

  const open = (limits: Partial<Limits> = {}): Promise<Subject> => laboratory.open(limits);

  test('a temporary file of 300 MB is written and read', async () => {
    await using subject = await open();
    const code = `
import tempfile
with tempfile.NamedTemporaryFile() as file:
    for _ in range(300): file.write(b"x" * (1 << 20))
    file.flush(); file.seek(0)
    print(file.name.startswith("/tmp/"), len(file.read()) >> 20)`;
    expect(await subject.run(code)).toMatchObject({ logs: { stdout: 'True 300\n' }, files: [] });
  });

  test('joblib works on an array of 200 MB', { timeout: 120_000 }, async () => {
    await using subject = await open({ memoryMb: 1024, timeoutMs: 100_000 });
    const code = `
import numpy as np
from joblib import Parallel, delayed
array = np.ones(25_000_000)
print(sum(Parallel(n_jobs=2)(delayed(lambda part: float(array[part::2].sum()))(part) for part in range(2))))
def total(values, part): return float(values[part::2].sum())
print(sum(Parallel(n_jobs=2)(delayed(total)(array, part) for part in range(2))))`;
    expect(await subject.run(code)).toMatchObject({ logs: { stdout: '25000000.0\n25000000.0\n' } });
  });

  test('shared memory may be as large as the memory of the session', { timeout: 60_000 }, async () => {
    for (const memoryMb of [512, 700]) {
      await using subject = await open({ memoryMb, fileMb: 1024 });
      const code = `
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=${memoryMb - 100} << 20)
block.buf[-1] = 7
other = shared_memory.SharedMemory(block.name)
print(other.buf[-1])
other.close(); block.close(); block.unlink()`;
      expect(await subject.run(code)).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '7\n' } });
    }
  });

  test('memory that processes share counts once', { timeout: 60_000 }, async () => {
    await using subject = await open();
    const code = `
import multiprocessing, time
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=200 << 20)
def use(_):
    for start in range(0, block.size, 4096): block.buf[start] = 1
    time.sleep(1)
with multiprocessing.get_context("fork").Pool(5) as pool: pool.map(use, range(5), chunksize=1)
print(block.buf[0])
block.close(); block.unlink()`;
    expect(await subject.run(code)).toMatchObject({ outcome: { status: 'succeeded' }, logs: { stdout: '1\n' } });
  });

  test('what fills the temporary directory counts towards the disk, and is removed with the session', async () => {
    const subject = await open({ workspaceMb: 16, rollbackMb: 0 });
    await subject.run('x = 41');
    const code = 'n = 0\nwhile True:\n  open(f"/tmp/{n}", "wb").write(bytes(1 << 20)); n += 1';
    const { outcome } = await subject.run(code, { timeoutMs: 30_000 });
    expect(outcome).toMatchObject({
      status: 'crashed',
      reason: 'it wrote more than the 16 MB that the workspace and /tmp may hold (limits.workspaceMb)',
    });
    expect((await subject.run('import os; print(os.path.exists("/tmp/0"))')).logs.stdout).toBe('True\n');
    const home = path.dirname(subject.session.workspace.path);
    expect(existsSync(path.join(home, 'tmp', '0'))).toBe(true);
    await subject.session.close();
    expect(existsSync(home)).toBe(false);
  });

  test.for([
    ['fileMb', { fileMb: 2 }, 'open("large", "wb").write(bytes(3 << 20))', 'One file may have 2 MB (limits.fileMb).'],
    [
      'openFiles',
      { openFiles: 64 },
      'held = []\nwhile True: held.append(open("/dev/null"))',
      'A process may have 64 files open (limits.openFiles).',
    ],
    [
      'processes',
      { processes: 8 },
      'import subprocess\nheld = [subprocess.Popen(["sleep", "9"]) for _ in range(20)]',
      'The session may have 8 processes and threads (limits.processes).',
    ],
    [
      'processes, in a cause',
      { processes: 8 },
      'import os, time\ntry:\n  for _ in range(20):\n    if os.fork() == 0: time.sleep(9)\nexcept OSError as error: raise ValueError("no") from error',
      'The session may have 8 processes and threads (limits.processes).',
    ],
    [
      'threads',
      { processes: 8 },
      'import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1,)).start()',
      'The session may have 8 processes and threads (limits.processes).',
    ],
    [
      'memoryMb',
      {},
      'import mmap; mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)',
      'The session may use 512 MB of memory (limits.memoryMb).',
    ],
  ] as const)('an error at the limit %s names it', async ([, limits, code, note]) => {
    await using subject = await open(limits);
    const { error } = await subject.run(code);
    expect(error?.traceback.trimEnd().split('\n').at(-1)).toBe(note);
    expect(error?.value).not.toContain('limits.');
  });

  test.runIf(cgroups)('a full /dev/shm is an error that names the limit', async () => {
    await using subject = await open({ memoryMb: 64 });
    const { error } = await subject.run('for n in range(9): open(f"/dev/shm/{n}", "wb").write(bytes(16 << 20))');
    expect(error?.traceback).toMatch(
      /No space left on device\nThe session may use 64 MB of memory \(limits.memoryMb\)/u,
    );
  });

  test.for([
    'raise OSError(28, "No space left on device")',
    'import socket\na, b = socket.socketpair(); a.setblocking(False); a.recv(1)',
    'open("missing")',
  ])('an error that no limit of ours causes names none: %s', async (code) => {
    await using subject = await open();
    expect((await subject.run(code)).error?.traceback).not.toContain('limits.');
  });

  test('a new interpreter of a session begins with an empty /tmp, whatever was left in it', async () => {
    await using subject = await open();
    const look = 'import os; print(sorted({*os.listdir("/tmp")} - {".matplotlib"}), os.listdir("/dev/shm"))';
    const { stdout: before } = (await subject.run(look)).logs; // Python itself may lie there
    await subject.run(`
import os, shutil
shutil.rmtree("/tmp/.matplotlib", True)
os.symlink("/etc", "/tmp/.matplotlib")
os.makedirs("/tmp/a/b")
for path in ("/tmp/a/file", "/dev/shm/file"): open(path, "w").write("x")`);
    await subject.session.reset();
    expect((await subject.run(look)).logs.stdout).toBe(before);
    expect(await subject.evaluate('os.path.lexists("/tmp/.matplotlib")')).toBe('False');
  });
});

describe('a Python environment', () => {
  let directory: string;
  let environment: string;
  beforeAll(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'viv-environment-'));
    chmodSync(directory, 0o755); // sessions of root have a user of their own
    const { python } = await choosePython(parseConfig({}));
    environment = path.join(directory, 'environments', 'mine');
    execFileSync(python, ['-m', 'venv', '--without-pip', environment]);
    const [libraries = ''] = globSync(path.join(environment, 'lib', 'python3*', 'site-packages'));
    writeFileSync(path.join(libraries, 'installed_there.py'), 'answer = 42');
    symlinkSync('mine', path.join(directory, 'environments', 'linked'));
    symlinkSync('environments', path.join(directory, 'link'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test.for([
    ['that lies in /tmp', 'environments/mine'],
    ['that is a link', 'environments/linked'],
    ['behind a link', 'link/mine'],
  ])('%s is found, after a reset too', async ([, place = '']) => {
    await using laboratory = await Laboratory.start({}, path.join(directory, place, 'bin', 'python'));
    await using subject = await laboratory.open();
    const look = '__import__("installed_there").answer';
    expect(await subject.evaluate(look)).toBe('42');
    await subject.session.reset();
    expect(await subject.evaluate(look)).toBe('42');
  });
});
