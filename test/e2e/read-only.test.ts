/** Sessions that may look at their files and not change them. */
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createInterpreter } from '../../src/index.ts';

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

describe.for(['namespaces', 'landlock'] as const)('with isolation %s', (isolation) => {
  test('nothing changes the workspace, and the rest works', async () => {
    await using interpreter = await createInterpreter({ isolation, poolSize: 0 });
    await using session = await interpreter.createSession({ readOnly: true });
    await session.files.upload('data.csv', 'a,b\n1,2\n');
    for (const [name, code] of Object.entries(ATTEMPTS)) {
      if (isolation === 'landlock' && name === 'a mode') continue; // Landlock has no right for it
      const { outcome, files } = await session.runCode(code);
      expect([name, outcome.status, files]).toEqual([name, 'raised', []]);
    }
    const { logs, figures } = await session.runCode(`
import pandas as pd, matplotlib.pyplot as plt, tempfile
plt.plot(pd.read_csv('data.csv')['a']); plt.show()
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
print(open('data.csv').read())`);
    expect([logs.stdout, figures.length]).toEqual(['a,b\n1,2\n\n', 1]);
    // At the weaker level the processes of all of a user's sessions count together, and there may be no room for a twin.
    if (isolation === 'landlock') return;
    await session.runCode('x = 1; import os; os._exit(1)');
    expect((await session.runCode('pd is not None')).results[0]?.data['text/plain']).toBe('True');
  });
});

test('a mount of a read-only session is read-only as well', async () => {
  const source = mkdtempSync(path.join(tmpdir(), 'mount-'));
  chmodSync(source, 0o777);
  writeFileSync(path.join(source, 'data.txt'), 'x');
  await using interpreter = await createInterpreter({ poolSize: 0 });
  const mounts = [{ source, target: '/data', writable: false }];
  await using session = await interpreter.createSession({ readOnly: true, mounts });
  const { outcome, logs } = await session.runCode(`print(open('/data/data.txt').read()); open('/data/new.txt', 'w')`);
  expect([outcome.status, logs.stdout, readdirSync(source)]).toEqual(['raised', 'x\n', ['data.txt']]);
  rmSync(source, { recursive: true });
});

test('without walls it is refused', async () => {
  await using interpreter = await createInterpreter({ isolation: 'none', poolSize: 0 });
  await expect(interpreter.createSession({ readOnly: true })).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
});
