/** Harmful files and values: the machine is not touched, the session lives on, and everything is reported. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHost, forModel, type Execution, type Host, type Session } from '../../src/index.ts';

const SECRET = 'the host keeps this to itself';
let host: Host;
let outside: string;
beforeAll(async () => {
  outside = mkdtempSync(path.join(tmpdir(), 'host-'));
  writeFileSync(path.join(outside, 'secret.txt'), SECRET);
  host = await createHost({ limits: { timeoutMs: 3000, graceMs: 200, workspaceMb: 64 } });
});
afterAll(async () => {
  await host.close();
  rmSync(outside, { recursive: true, force: true });
});

/** Programs that leave files behind. `HOST` is a directory of this machine that a session must not reach. */
const FILES: Readonly<Record<string, string>> = {
  'a name with a newline': `open('a\\nb.txt', 'w').write('x')`,
  'a name with terminal codes': `open('\\x1b[2J\\x1b]0;title\\x07.txt', 'w').write('x')`,
  'a name of bytes that are no text': `open(b'\\xff\\xfe.bin', 'wb').write(b'x')`,
  'a name that turns text around': `open('gpj.\\u202eexe', 'w').write('x')`,
  'a name as long as names get': `open('n' * 255, 'w').write('x')`,
  'a name that looks like an option': `open('-rf', 'w').write('x'); open('--help', 'w').write('x')`,
  'names that look like other places': `open('..%2f..%2fetc%2fpasswd', 'w').write('x'); open('...', 'w').write('x')`,
  'a backslash that is a separator elsewhere': `open('..\\\\..\\\\secret.txt', 'w').write('x')`,
  'writing through ..': `open('../../' + 'HOST'.lstrip('/') + '/written.txt', 'w').write('x')`,
  'writing to the host by its full path': `import os; os.makedirs('HOST', exist_ok=True); open('HOST/written.txt', 'w').write('x')`,
  'a link to a file of the host': `import os; os.symlink('HOST/secret.txt', 'link.txt')`,
  'a link to the password file': `import os; os.symlink('/etc/shadow', 'shadow.txt')`,
  'a link with a relative way out': `import os; os.symlink('../' * 20 + 'HOST/secret.txt'.lstrip('/'), 'way-out.txt')`,
  'a link in place of a directory': `import os; os.symlink('HOST', 'folder')`,
  'a link to the root directory': `import os; os.symlink('/', 'root')`,
  'a link to memory': `import os; os.symlink('/proc/self/mem', 'mem.bin'); os.symlink('/proc/1/environ', 'environ.txt')`,
  'a link to endless zeros': `import os; os.symlink('/dev/zero', 'zeros.bin')`,
  'links in a circle': `import os; os.symlink('b', 'a'); os.symlink('a', 'b'); os.symlink('.', 'self')`,
  'a hard link to a system file': `import os\ntry: os.link('/etc/hostname', 'hard')\nexcept OSError as e: print(e)`,
  'a FIFO that nobody writes to': `import os; os.mkfifo('pipe.csv')`,
  'a socket': `import socket; s = socket.socket(socket.AF_UNIX); s.bind('plug.png')`,
  'a device': `import os\ntry: os.mknod('null', 0o20666, os.makedev(1, 3))\nexcept OSError as e: print(e)`,
  'a sparse file of a terabyte': `import os\nf = open('huge.bin', 'wb')\ntry: os.ftruncate(f.fileno(), 1 << 40)\nexcept OSError as e: print(e)`,
  'a sparse file below the limit': `f = open('sparse.bin', 'wb'); f.truncate(40 << 20)`,
  'a file that grows while it is read': `import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'f = open("growing.log", "ab", 0)\\nwhile True: f.write(b"x" * 4096)'])
import time; time.sleep(0.1)`,
  'a file that shrinks while it is read': `import subprocess, sys
open('shrinking.log', 'wb').write(b'x' * 2_000_000)
subprocess.Popen([sys.executable, '-c', 'import os\\nwhile True:\\n    os.truncate("shrinking.log", 0); os.truncate("shrinking.log", 2000000)'])`,
  'a file that becomes a link and back': `import subprocess, sys
code = '''
import os
while True:
    open("t", "w").write("x"); os.rename("t", "swap.txt")
    os.symlink("HOST/secret.txt", "t"); os.rename("t", "swap.txt")
'''
subprocess.Popen([sys.executable, '-c', code]); import time; time.sleep(0.1)`,
  'a directory that becomes a link and back': `import subprocess, sys, os
os.mkdir('d'); open('d/secret.txt', 'w').write('x')
code = '''
import os
while True:
    try: os.rename("d", "e"); os.symlink("HOST", "d"); os.unlink("d"); os.rename("e", "d")
    except OSError: pass  # an upload has made a directory of that name in between
'''
subprocess.Popen([sys.executable, '-c', code]); import time; time.sleep(0.1)`,
  'directories a thousand deep': `import os
for _ in range(1000):
    os.mkdir('d'); os.chdir('d')
open('bottom.txt', 'w').write('x')`,
  'ten thousand files': `for n in range(10_000): open(f'{n}.txt', 'w').close()`,
  'a file that nobody may read': `import os; open('locked.txt', 'w').write('x'); os.chmod('locked.txt', 0)`,
  'a directory that nobody may enter': `import os; os.mkdir('cell'); open('cell/x', 'w').write('x'); os.chmod('cell', 0)`,
  'a program that runs as its owner': `import os; open('tool', 'w').write('#!/bin/sh\\nid'); os.chmod('tool', 0o6755)`,
  'a page in place of a picture': `open('plot.png', 'w').write('<script>alert(1)</script>')`,
  'a workspace that is replaced': `import os, shutil
try: shutil.rmtree('/workspace')
except OSError as e: print(e)
try: os.rename('/workspace', '/tmp/w')
except OSError as e: print(e)`,
  'a saved figure that claims another place': `import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.savefig('fig.png'); import os; os.remove('fig.png'); os.symlink('HOST/secret.txt', 'fig.png')`,
  'our own place for outputs as a link': `import os; os.symlink('HOST', '.output'); print('x' * 3_000_000)`,
};

/** Programs that end with a harmful value in `evil`. */
const VALUES: Readonly<Record<string, string>> = {
  'a repr that hangs': `class E:\n    def __repr__(self):\n        while True: pass\nevil = E(); evil`,
  'a repr that exits': `class E:\n    def __repr__(self): import os; os._exit(0)\nevil = E(); evil`,
  'a repr that raises SystemExit': `class E:\n    def __repr__(self): raise SystemExit(3)\nevil = E(); evil`,
  'a repr that crashes': `import ctypes\nclass E:\n    def __repr__(self): return ctypes.string_at(0)\nevil = E(); evil`,
  'a repr without end': `class E:\n    def __repr__(self): return 'x' * (200 << 20)\nevil = E(); evil`,
  'a repr that is no text': `class E:\n    def __repr__(self): return 5\nevil = E(); evil`,
  'a repr that prints': `class E:\n    def __repr__(self): print('noise' * 1000); return 'E'\nevil = E(); evil`,
  'a repr that calls itself': `class E:\n    def __repr__(self): return repr(self)\nevil = E(); evil`,
  'attributes that all exist': `class E:\n    def __getattr__(self, name): return self\n    def __call__(self, *a, **k): return self\nevil = E(); display(evil); evil`,
  'a class that lies about itself': `class E:\n    @property\n    def __class__(self): return dict\nevil = E(); evil`,
  'a mapping without end': `class E(dict):\n    def items(self):\n        while True: yield 1, 2\n    __iter__ = items\nevil = E(); evil`,
  'a list that grows while it is read': `class E(list):\n    def __iter__(self):\n        n = 0\n        while True: n += 1; yield n\nevil = E([1]); evil`,
  'a list that holds itself': `evil = []; evil.append(evil); evil`,
  'a list a hundred thousand deep': `evil = []\nfor _ in range(100_000): evil = [evil]`,
  'a list of ten million': `evil = list(range(10_000_000)); evil`,
  'a number of a million digits': `evil = 10 ** 1_000_000; evil`,
  'text of lone surrogates': `evil = '\\ud800' * 1000; print(evil); evil`,
  'text of terminal codes': `evil = '\\x1b]0;pwned\\x07\\x1b[2J\\x9b31m'; print(evil); evil`,
  'keys that are equal as text': `evil = {1: 'a', '1': 'b', None: 'c', 'null': 'd', (1,): 'e', b'1': 'f'}; evil`,
  'keys of a prototype': `evil = {'__proto__': {'polluted': True}, 'constructor': {'prototype': {'polluted': True}}}; evil`,
  'a bundle that is no bundle': `class E:\n    def _repr_mimebundle_(self, **k): return {5: 6, 'x': 1, 'image/png': 'not base64!', 'text/html': object(), 'a/b' * 99: 'x'}\nevil = E(); evil`,
  'a page that would run': `class E:\n    def _repr_html_(self): return '<script>parent.location="http://evil"</script>'\nevil = E(); evil`,
  'a picture that is no picture': `class E:\n    def _repr_png_(self): return b'GIF89a' * 100\nevil = E(); evil`,
  'a figure that cannot be drawn': `import matplotlib.pyplot as plt, matplotlib.artist as a\nclass E(a.Artist):\n    def draw(self, r): raise RuntimeError('no')\nplt.figure().add_artist(E()); evil = 1`,
  'a figure as large as a city': `import matplotlib.pyplot as plt\nplt.figure(figsize=(3000, 3000)); plt.plot([1]); evil = 1`,
  'a thousand figures': `import matplotlib.pyplot as plt\nfor n in range(1000): plt.figure()\nevil = 1`,
  'a table whose repr hangs': `import pandas as pd\nclass E(pd.DataFrame):\n    def __repr__(self):\n        while True: pass\n    to_string = _repr_html_ = __repr__\nevil = E({'a': [1]}); evil`,
  'a table whose shape lies': `import pandas as pd\nclass E(pd.DataFrame):\n    @property\n    def shape(self): return 'many', -1\nevil = E({'a': [1]}); evil`,
  'a table with cells that exit': `import pandas as pd\nclass C:\n    def __repr__(self): raise SystemExit\nevil = pd.DataFrame({'a': [C()], 5: [C()]}); evil`,
  'a comparison that raises': `class E:\n    def __eq__(self, other): raise MemoryError\n    __hash__ = None\nevil = E()`,
  'a deletion that hangs at the next run': `class E:\n    def __del__(self):\n        while True: pass\nevil = E(); del evil; evil = 1`,
  'json and sys replaced': `import json, sys, builtins\njson.dumps = json.loads = None; sys.modules['json'] = None; builtins.repr = None; builtins.len = None; evil = {1}; evil`,
};

const cases = { ...FILES, ...VALUES };

test('there are at least fifty of them', () => {
  expect(Object.keys(cases).length).toBeGreaterThanOrEqual(50);
});

describe.for(Object.entries(cases))('%s', ([, code]) => {
  test('leaves the host alone and the session alive', { timeout: 30_000 }, async () => {
    await using session = await host.createSession();
    const program = code.replaceAll('HOST', outside);
    const execution = await session.runCode(program, { resultVariable: 'evil' });
    JSON.parse(JSON.stringify(execution));
    expect(forModel(execution).length).toBeLessThan(20_000);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    await expectNoSecret(session, execution);
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    expect(readFileSync(path.join(outside, 'secret.txt'), 'utf8')).toBe(SECRET);
    await expectLife(session);
  });
});

/** Nothing that was kept, listed or can be fetched is a file of this machine. */
async function expectNoSecret(session: Session, { files, figures }: Execution): Promise<void> {
  const ids = [...files, ...figures].flatMap(({ id }) => id ?? []).slice(0, 20);
  for (const id of ids) {
    expect((await buffer(await host.artifacts.open(id))).includes(SECRET)).toBe(false);
  }
  const { files: listed } = await session.files.list();
  for (const { path: name } of listed.slice(0, 20)) {
    const content = await session.files.download(name).then(buffer).catch(refusal);
    expect(content.includes(SECRET)).toBe(false);
  }
  for (const name of [
    'link.txt',
    'shadow.txt',
    'folder/secret.txt',
    'd/secret.txt',
    'swap.txt',
    'root/etc/passwd',
    '.output/secret.txt',
  ]) {
    const content = await session.files.download(name).then(buffer).catch(refusal);
    expect(content.includes(SECRET) || content.includes('root:')).toBe(false);
  }
  await session.files.upload('d/written.txt', 'x').catch(refusal);
  await session.files.upload('folder/written.txt', 'x').catch(refusal);
  expect(existsSync(path.join(outside, 'written.txt'))).toBe(false);
}

function refusal(error: unknown): string {
  expect(error).toMatchObject({ name: 'VivariumError' });
  return '';
}

async function expectLife(session: Session): Promise<void> {
  const { results, logs } = await session.runCode('40 + 2', { timeoutMs: 5000 });
  const again = results.length > 0 ? results : (await session.runCode('40 + 2')).results; // the first may fail because of what is broken
  expect([again[0]?.data['text/plain'], logs.stderr]).toEqual(['42', '']);
}
