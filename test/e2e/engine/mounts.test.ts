/** Mounts: what a session sees is what was configured. Below the level `namespaces` it must be at its own path. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHost, type Host, type HostOptions } from '../../../src/index.ts';

/** Sessions of root have user ids of their own, and this is the only Python that every user surely may run. */
const SYSTEM_PYTHON = '/usr/bin/python3';

let directory: string;
let source: string;
beforeEach(() => {
  directory = mkdtempSync('/var/tmp/viv-mount-');
  source = mkdtempSync('/var/tmp/viv-mount-');
  for (const each of [directory, source]) chmodSync(each, 0o755);
  writeFileSync(path.join(source, 'file'), 'of the host');
});
afterEach(() => {
  for (const each of [directory, source]) rmSync(each, { recursive: true, force: true });
});

describe.skipIf(!existsSync(SYSTEM_PYTHON)).for(['landlock', 'none'] as const)('at the level %s', (isolation) => {
  const open = (): Promise<Host> => createHost({ isolation, poolSize: 0, dataDir: directory, python: SYSTEM_PYTHON });

  test('a mount at another path is refused', async () => {
    await using host = await open();
    const mounts = [{ source, target: '/etc', writable: false }];
    await expect(host.createSession({ mounts })).rejects.toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
      message: expect.stringMatching(/cannot be shown at \/etc/) as unknown,
    });
  });

  test('a mount at its own path can be read', async () => {
    await using host = await open();
    const mounts = [{ source: `${source}/`, target: source, writable: false }];
    await using session = await host.createSession({ mounts });
    const { logs, error } = await session.runCode(`print(open("${source}/file").read())`);
    expect([logs.stdout, error?.value]).toEqual(['of the host\n', undefined]);
  });
});

test('at the level landlock, a mount that has become a link opens nothing', async () => {
  if (!existsSync(SYSTEM_PYTHON)) return;
  const inner = path.join(source, 'inner');
  mkdirSync(inner);
  await using host = await createHost({
    isolation: 'landlock',
    poolSize: 0,
    dataDir: directory,
    python: SYSTEM_PYTHON,
  });
  await using session = await host.createSession({ mounts: [{ source: inner, target: inner }] });
  renameSync(inner, `${inner}-away`);
  symlinkSync('/etc', inner);
  await expect(session.reset()).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
  rmSync(inner);
  renameSync(`${inner}-away`, inner);
  await session.reset();
  expect((await session.runCode('print(open("/etc/passwd").read())')).outcome.status).toBe('raised');
});

test('at the level landlock, a session cannot open anything by what it puts in the place of its temporary directory', async () => {
  if (!existsSync(SYSTEM_PYTHON)) return;
  await using host = await createHost({
    isolation: 'landlock',
    poolSize: 0,
    dataDir: directory,
    python: SYSTEM_PYTHON,
  });
  for (const readOnly of [false, true]) {
    await using session = await host.createSession({ readOnly });
    const swap = `import os, shutil; os.chdir("/"); tmp = os.environ["TMPDIR"]
shutil.rmtree(tmp, ignore_errors=True); os.symlink("${source}", tmp)`;
    expect((await session.runCode(swap)).outcome.status).toBe(readOnly ? 'raised' : 'succeeded');
    await session.reset();
    const { logs } = await session.runCode(`
import tempfile
try: print(open("${source}/file").read())
except OSError: print("closed")
print(bool(tempfile.mkdtemp()))`);
    expect(logs.stdout).toBe('closed\nTrue\n');
  }
});

describe('at the level namespaces', () => {
  const open = (mounts: HostOptions['mounts'] = []): Promise<Host> =>
    createHost({ poolSize: 0, preload: [], dataDir: directory, mounts });

  test('mounts of the host are those of when it was created', async () => {
    await using host = await open([{ source, target: '/data' }]);
    const read = 'print(open("/data/file").read())';
    expect((await host.runCode(read, { sessionId: 'one' })).logs.stdout).toBe('of the host\n');
    renameSync(source, `${source}-away`);
    symlinkSync('/etc', source);
    await expect(host.runCode(read, { sessionId: 'two' })).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
    rmSync(source);
    renameSync(`${source}-away`, source);
    expect((await host.runCode(read, { sessionId: 'two' })).logs.stdout).toBe('of the host\n');
  });

  test('a file can be mounted, a mount in a mount too, and a session without its mounts is not opened', async () => {
    await using host = await open();
    mkdirSync(path.join(source, 'out'));
    chmodSync(path.join(source, 'out'), 0o777);
    const mounts = [
      { source, target: '/data' },
      { source: path.join(source, 'out'), target: '/data/out', writable: true },
      { source: path.join(source, 'file'), target: '/one/file' },
    ];
    await using session = await host.createSession({ mounts });
    const { logs } = await session.runCode(
      'open("/data/out/new", "w").write("x")\nprint(open("/one/file").read(), open("/data/out/new").read())',
    );
    expect(logs.stdout).toBe('of the host x\n');
    const missing = [{ source: path.join(source, 'none'), target: '/data' }];
    await expect(host.createSession({ mounts: missing })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test.runIf(process.getuid?.() === 0)('a bind mount of a directory in a writable mount is refused', async () => {
    const [inner, bound] = [path.join(source, 'inner'), path.join(source, '..', `${path.basename(source)}-bound`)];
    for (const each of [inner, bound]) mkdirSync(each);
    try {
      execFileSync('mount', ['--bind', inner, bound]);
    } catch {
      rmSync(bound, { recursive: true });
      return; // a container that may not mount
    }
    try {
      await using host = await open();
      const mounts = [
        { source: bound, target: '/inner' },
        { source, target: '/outer', writable: true },
      ];
      await expect(host.createSession({ mounts })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    } finally {
      execFileSync('umount', [bound]);
      rmSync(bound, { recursive: true });
    }
  });
});
