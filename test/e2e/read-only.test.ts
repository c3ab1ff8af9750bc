/** Sessions that may read their files but not change them. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHost, type Host, type Session } from '../../src/index.ts';

/** The only Python that every user surely can reach. */
const SYSTEM_PYTHON = '/usr/bin/python3';
const isRequired = process.env['CI'] === 'true';

const ATTEMPTS: Readonly<Record<string, string>> = {
  'a new file': `open('new.txt', 'w')`,
  'an old file': `open('data.csv', 'a')`,
  'an old file by its other path': `open('/mnt/data/data.csv', 'a')`,
  'a removal': `import os; os.remove('data.csv')`,
  'a new name': `import os; os.rename('data.csv', 'other.csv')`,
  'a directory': `import os; os.mkdir('d')`,
  'a link': `import os; os.symlink('data.csv', 'link')`,
  'a truncation': `import os; os.truncate('data.csv', 0)`,
  'a mode': `import os; os.chmod('data.csv', 0o777)`,
  'a child process': `import subprocess; subprocess.run(['sh', '-c', 'echo x > data.csv'], check=True)`,
  'a remount': `import ctypes; libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b'none', b'/workspace', None, 32, None) != 0: raise OSError(ctypes.get_errno(), 'mount')
open('data.csv', 'a')`,
};

async function expectUnchangeable(session: Session, attempts: readonly string[]): Promise<void> {
  await session.files.upload('data.csv', 'a,b\n1,2\n');
  for (const name of attempts) {
    const { outcome, files } = await session.runCode(ATTEMPTS[name] ?? '');
    expect([name, outcome.status, files]).toEqual([name, 'raised', []]);
  }
}

test('nothing changes the workspace, and the rest works', async () => {
  await using host = await createHost({ poolSize: 0 });
  await using session = await host.createSession({ readOnly: true });
  await expectUnchangeable(session, Object.keys(ATTEMPTS));
  const { logs, figures } = await session.runCode(`
import pandas as pd, matplotlib.pyplot as plt, tempfile
plt.plot(pd.read_csv('data.csv')['a']); plt.show()
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
print(open('data.csv').read())`);
  expect([logs.stdout, figures.length]).toEqual(['a,b\n1,2\n\n', 1]);
  await session.runCode('x = 1; import os; os._exit(1)');
  expect((await session.runCode('pd is not None')).results[0]?.data['text/plain']).toBe('True');
});

describe('at the level landlock', () => {
  test('nothing changes the workspace, and the rest works', async (context) => {
    if (!existsSync(SYSTEM_PYTHON) && !isRequired) context.skip(`NOT RUN: there is no ${SYSTEM_PYTHON}`);
    using directory = new DataDirectory(0o755);
    await using host = await openAt(directory);
    await using session = await host.createSession({ readOnly: true });
    // A change of mode has no effect, and says nothing.
    await expectUnchangeable(
      session,
      Object.keys(ATTEMPTS).filter((name) => name !== 'a mode'),
    );
    const mode = 'print(oct(os.stat("data.csv").st_mode))';
    const changed = await session.runCode(`import os\n${mode}\nos.chmod("data.csv", 0o777)\n${mode}`);
    expect(new Set(changed.logs.stdout.trim().split('\n')).size).toBe(1);
    const { logs } = await session.runCode(`
import tempfile, wave
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
print(open('data.csv').read())`);
    expect(logs.stdout).toBe('a,b\n1,2\n\n');
  });

  test('as root, a data directory that the sessions cannot enter is refused, with what to do', async (context) => {
    if (process.getuid?.() !== 0) context.skip('only root gives sessions user ids of their own');
    using directory = new DataDirectory(0o700);
    await expect(openAt(directory)).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
    await expect(openAt(directory)).rejects.toThrow(/cannot enter .*\/sessions\/.*VIVARIUM_HOME/);
  });
});

/** A data directory with a mode of its own. */
class DataDirectory implements Disposable {
  readonly path = mkdtempSync(path.join(tmpdir(), 'read-only-'));

  constructor(mode: number) {
    chmodSync(this.path, mode);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

function openAt({ path: dataDir }: DataDirectory): Promise<Host> {
  return createHost({ isolation: 'landlock', poolSize: 0, dataDir, python: SYSTEM_PYTHON });
}

test('a mount of a read-only session is read-only as well', async () => {
  const source = mkdtempSync(path.join(tmpdir(), 'mount-'));
  chmodSync(source, 0o777);
  writeFileSync(path.join(source, 'data.txt'), 'x');
  await using host = await createHost({ poolSize: 0 });
  const mounts = [{ source, target: '/data', writable: false }];
  await using session = await host.createSession({ readOnly: true, mounts });
  const { outcome, logs } = await session.runCode(`print(open('/data/data.txt').read()); open('/data/new.txt', 'w')`);
  expect([outcome.status, logs.stdout, readdirSync(source)]).toEqual(['raised', 'x\n', ['data.txt']]);
  rmSync(source, { recursive: true });
});

test('without walls it is refused', async () => {
  await using host = await createHost({ isolation: 'none', poolSize: 0 });
  await expect(host.createSession({ readOnly: true })).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
});
