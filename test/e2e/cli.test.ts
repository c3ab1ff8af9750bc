/** The command line as a shell sees it: real processes, real Python. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished, test } from 'vitest';
import { ENV, finish, MAIN, ROOT, scratch, start, vivarium } from '../support/command-line.ts';
import { Terminal } from '../support/terminal.ts';
import { descendants, roleOf } from './engine/processes.ts';

async function untilSaid(stream: Readable, words: string): Promise<string> {
  let said = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (said.includes(words)) return said;
  }
  return assert.fail(`ended without "${words}": ${said}`);
}

/** All that a stream says, read word by word: what comes with the awaited words in one piece is not lost. */
class Transcript {
  #text = '';
  #wake: () => void = () => {};

  constructor(stream: Readable) {
    stream.on('data', (chunk) => {
      this.#text += String(chunk);
      this.#wake();
    });
  }

  async until(words: string): Promise<void> {
    while (!this.#text.includes(words)) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#text = this.#text.slice(this.#text.indexOf(words) + words.length);
  }
}

/** A part of a JSON document, whatever it is. */
function part(json: string, ...keys: readonly string[]): unknown {
  let value: unknown = JSON.parse(json);
  for (const key of keys) value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return value;
}

test('a program that succeeds ends with 0 and prints what it prints, no more', async () => {
  const code = 'import sys; print(1); print("é", end=""); print("oops", file=sys.stderr); 2 + 2';
  assert.deepEqual(await vivarium(['run', '-c', code]), { code: 0, stdout: '1\né', stderr: 'oops\n' });
});

test('a program that raises ends with 1 and its traceback on stderr', async () => {
  const { code, stdout, stderr } = await vivarium(['run', '-c', 'print("before")\n1 / 0']);
  assert.equal(code, 1);
  assert.equal(stdout, 'before\n');
  assert.match(
    stderr,
    /^Traceback \(most recent call last\):\n {2}File "<string>", line 2[^]*ZeroDivisionError: division by zero\n$/,
  );
});

test('sys.exit speaks to the shell, not to people', async () => {
  assert.deepEqual(await vivarium(['run', '-c', 'import sys; sys.exit(0)']), { code: 0, stdout: '', stderr: '' });
  assert.deepEqual(await vivarium(['run', '-c', 'import sys; sys.exit(3)']), { code: 3, stdout: '', stderr: '' });
  assert.deepEqual(await vivarium(['run', '--json', '-c', 'exit(-1)']).then(({ code }) => code), 255);
  assert.deepEqual(await vivarium(['run', '-c', 'exit(256)']), { code: 1, stdout: '', stderr: '' });
  assert.deepEqual(await vivarium(['run', '-c', 'exit("bye")']), { code: 1, stdout: '', stderr: 'bye\n' });
});

test('a program that takes too long ends with 124', async () => {
  const { code, stderr } = await vivarium(['run', '--timeout-ms', '300', '-c', 'while True: pass']);
  assert.equal(code, 124);
  assert.match(stderr, /vivarium: timed out after 300 ms\n$/);
});

test('a program without enough memory ends with 137', async () => {
  const { code, stderr } = await vivarium(['run', '--memory-mb', '128', '-c', 'x = bytearray(10**9)']);
  assert.equal(code, 137);
  assert.match(stderr, /vivarium: out of memory: the limit is 128 MB\n$/);
});

test('a program that crashes ends with 137', async () => {
  const { code, stderr } = await vivarium(['run', '-c', 'import os; os.abort()']);
  assert.equal(code, 137);
  assert.match(stderr, /vivarium: crashed: .*SIGABRT/);
});

test.each([
  [['run']],
  [['run', '--nonsense']],
  [['run', '--timeout-ms', 'soon', '-c', '1']],
  [['run', '--memory-mb', '1', '-c', '1']],
  [['run', '--echo', 'loud', '-c', '1']],
  [['run', '--mount', 'nowhere', '-c', '1']],
  [['run', '--mount', '/no/such/place:/data', '-c', '1']],
  [['run', '/no/such/file.py']],
  [['dance']],
])('bad use ends with 2 and says what to do: %j', async (args) => {
  const { code, stdout, stderr } = await vivarium(args);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /^error: .+/);
  assert.match(stderr, /^hint: .+/m);
});

test('a bad environment variable is bad use, and a flag wins over it', async () => {
  const env = { VIVARIUM_ISOLATION: 'paper' };
  assert.equal((await vivarium(['run', '-c', '1'], { env })).code, 2);
  assert.equal((await vivarium(['run', '--isolation', 'namespaces', '-c', '1'], { env })).code, 0);
});

test('without a Python the code is 3', async () => {
  const { code, stderr } = await vivarium(['run', '--python', '/bin/false', '-c', '1']);
  assert.equal(code, 3);
  assert.match(stderr, /^error: .+\nhint: .*--python/);
});

test.for([
  ['ends at once', '#!/bin/sh\necho broken >&2\nexit 1\n', 'It said: broken'],
  ['cannot even be started', '#!/no/such/interpreter\n', 'ENOENT'],
] as const)('a Python of set-up that %s is told, not waited for', { timeout: 15_000 }, async ([, script, words]) => {
  await using directory = await scratch();
  const python = path.join(directory.path, 'python');
  await writeFile(python, script, { mode: 0o755 });
  const record = { python, version: '3.11.7', source: 'managed', libraries: {}, missing: [], cacheDir: directory.path };
  await writeFile(path.join(directory.path, 'environment.json'), JSON.stringify(record));
  const { code, stderr } = await vivarium(['run', '-c', '1'], { env: { VIVARIUM_HOME: directory.path } });
  assert.equal(code, 3);
  assert.ok(stderr.includes(words), stderr);
});

test('output comes while the program runs, and Ctrl-C ends it with 130', async () => {
  const child = start(['run', '-c', 'import time; print("first"); time.sleep(50)']);
  await untilSaid(child.stdout, 'first\n');
  child.kill('SIGINT');
  const { code, stderr } = await finish(child);
  assert.equal(code, 130);
  assert.match(stderr, /KeyboardInterrupt\n$/);
});

test('SIGUSR1 opens no debugger, and ends none of the processes that were started', async () => {
  const child = start(['repl']);
  child.stdin.write('print("first")\n');
  await untilSaid(child.stdout, 'first\n');
  const started = descendants(child.pid).filter((one) => !['worker', 'other'].includes(roleOf(one)));
  assert.deepEqual(new Set(started.map(roleOf)), new Set(['outside', 'zygote', 'builder', 'surveyor', 'pid 1']));
  for (const { pid } of [{ pid: child.pid ?? 0 }, ...started]) process.kill(pid, 'SIGUSR1');
  assert.deepEqual(await finish(child, 'print("second")\n'), { code: 0, stdout: 'second\n', stderr: '' });
});

test('a reader that goes away ends the program without a word', async () => {
  const child = start(['run', '-c', 'while True: print("y" * 1000)']);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.deepEqual([child.exitCode, stderr], [141, '']);
});

test('a lot of output comes through whole', async () => {
  const { code, stdout } = await vivarium(['run', '-c', 'import sys; sys.stdout.write("0123456789" * 500_000)']);
  assert.deepEqual([code, stdout.length, stdout.endsWith('789')], [0, 5_000_000, true]);
});

test('a program can come from standard input, and its last value be shown', async () => {
  assert.deepEqual(await vivarium(['run', '--echo', 'last', '-'], { input: '20 + 22\n' }), {
    code: 0,
    stdout: '42\n',
    stderr: '',
  });
});

test('a program from a file is called by its name in tracebacks', async () => {
  await using directory = await scratch();
  const file = path.join(directory.path, 'job.py');
  await writeFile(file, 'def f():\n    raise KeyError("k")\nf()\n');
  const { code, stderr } = await vivarium(['run', file]);
  assert.equal(code, 1);
  assert.ok(stderr.includes(`File "${file}", line 3, in <module>`), stderr);
  assert.ok(stderr.includes(`File "${file}", line 2, in f`), stderr);
  assert.doesNotMatch(stderr, /<cell/);
});

const MAKER = `
import os
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()
os.makedirs("deep"); open("deep/report.csv", "w").write("a,b\\n")
for n in range(2000): print(n)`;

test('--json has the files, the figures and the long outputs too, and --output-dir gets them', async () => {
  await using directory = await scratch();
  const out = path.join(directory.path, 'out');
  const { code, stdout, stderr } = await vivarium(['run', '--json', '--output-dir', out, '-c', MAKER]);
  assert.deepEqual([code, part(stdout, 'files', '0', 'path')], [0, 'deep/report.csv']);
  assert.deepEqual([part(stdout, 'figures', '0', 'mime'), part(stdout, 'figures', 'length')], ['image/png', 1]);
  assert.equal(part(stdout, 'spills', 'stdout', 'sizeBytes'), 8890);
  const made = ['figure-1.png', 'deep/report.csv', 'output/stdout.txt'].map((name) => path.join(out, name));
  const [picture = '', report = '', output = ''] = made;
  assert.equal(stderr, `vivarium: picture: ${picture}\nvivarium: file: ${report}\nvivarium: output: ${output}\n`);
  assert.equal((await readFile(picture)).subarray(1, 4).toString(), 'PNG');
  assert.equal(await readFile(report, 'utf8'), 'a,b\n');
  assert.equal((await readFile(output)).length, 8890);
});

test('with --output-dir output still streams through, and a traceback still names the program', async () => {
  await using directory = await scratch();
  const program = 'import sys\nopen("half.txt", "w").write("x")\nprint("é", end="")\nsys.exit(3 / 0)';
  const { code, stdout, stderr } = await vivarium(['run', '--output-dir', directory.path, '-c', program]);
  assert.deepEqual([code, stdout], [1, 'é']);
  assert.match(stderr, /File "<string>", line 4[^]*ZeroDivisionError/);
  assert.equal(await readFile(path.join(directory.path, 'half.txt'), 'utf8'), 'x');
});

test('--output-dir gives a program no way to change what is there, nor to add settings of other programs', async () => {
  await using directory = await scratch();
  const config = path.join(directory.path, '.git', 'config');
  await mkdir(path.dirname(config));
  await writeFile(config, 'honest');
  await writeFile(path.join(directory.path, 'Makefile'), 'honest');
  const program = `
import os
for name in (".git/config", ".envrc", "deep/.git/config", "Makefile"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "w").write("evil")`;
  const { code, stderr } = await vivarium(['run', '--output-dir', directory.path, '-c', program]);
  assert.equal(code, 0);
  assert.match(stderr, /"deep\/\.git\/config" is hidden/);
  assert.deepEqual(
    [await readFile(config, 'utf8'), await readFile(path.join(directory.path, 'Makefile'), 'utf8')],
    ['honest', 'honest'],
  );
  assert.deepEqual((await readdir(directory.path)).toSorted(), ['.git', 'Makefile', 'vivarium-1']);
  assert.deepEqual(await readdir(path.join(directory.path, 'vivarium-1')), ['Makefile']);
});

test('a program may colour the terminal and give it no orders; a pipe gets what it printed', async () => {
  const code = String.raw`print("\x1b[31mred\x1b[2J\x1b]0;title\x07"); open("lost.txt", "w"); raise ValueError("\x1b[5n")`;
  const piped = await vivarium(['run', '-c', code]);
  assert.equal(piped.stdout, '\u001B[31mred\u001B[2J\u001B]0;title\u0007\n');
  const terminal = new Terminal([MAIN, 'run', '-c', code], ENV);
  const said = await terminal.until('keeps files');
  assert.ok(said.startsWith('\u001B[31mred\\u{1b}[2J\\u{1b}]0;title\\u{7}\r\n\u001B[0m'), said);
  assert.ok(said.includes('ValueError: \\u{1b}[5n'), said);
  assert.match(said, /vivarium: lost\.txt: gone with the session/);
  assert.equal(await terminal.ended(), 1);
});

test('--json prints the execution and nothing else', async () => {
  const { code, stdout, stderr } = await vivarium(['run', '--json', '-c', 'print("hi")\nx = 1\nx / 0']);
  assert.deepEqual([code, stderr], [1, '']);
  assert.deepEqual(part(stdout, 'outcome'), { status: 'raised' });
  assert.deepEqual(part(stdout, 'logs'), { stdout: 'hi\n', stderr: '' });
  assert.equal(part(stdout, 'error', 'name'), 'ZeroDivisionError');
});

test('a mount is read-only unless it says rw', async () => {
  await using directory = await scratch();
  await chmod(directory.path, 0o777); // a session may have a user id of its own
  await writeFile(path.join(directory.path, 'in.txt'), 'given');
  const read = 'print(open("/data/in.txt").read())';
  const write = 'open("/data/out.txt", "w").write("made")';
  const readOnly = await vivarium(['run', '--mount', `${directory.path}:/data`, '-c', `${read}\n${write}`]);
  assert.deepEqual([readOnly.code, readOnly.stdout], [1, 'given\n']);
  assert.match(readOnly.stderr, /Read-only file system|Permission denied/);
  const writable = await vivarium(['run', '--mount', `${directory.path}:/data:rw`, '-c', write]);
  assert.equal(writable.code, 0, writable.stderr);
  assert.equal(await readFile(path.join(directory.path, 'out.txt'), 'utf8'), 'made');
});

test('a piped repl runs cell after cell, keeps the state over a crash and says so', async () => {
  const input = [
    'x = 41',
    'import ctypes; ctypes.string_at(0)',
    'def f(a):',
    '',
    '    return a + 1',
    'f(x)',
    '1 / 0',
    'x = 0',
    '%rollback',
    'x',
    '%vars',
    '%reset',
    '"x" in globals()',
  ].join('\n');
  const { code, stdout, stderr } = await vivarium(['repl'], { input });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^42\n41\nf +function.*\nx +int +41\nFalse\n$/);
  assert.match(stderr, /the process was lost .*every variable is as it was before this run/);
  assert.match(stderr, /ZeroDivisionError/);
});

test('at a terminal Ctrl-C interrupts the cell and keeps the state, Ctrl-D leaves', async () => {
  await using directory = await scratch();
  const python = String(part((await vivarium(['doctor', '--json'])).stdout, 'python', 'python'));
  const pty = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
  const command = [process.execPath, MAIN, 'repl', '--data-dir', directory.path, '--python', python];
  const terminal = spawn(python, ['-c', pty, ...command], { env: { ...ENV, TERM: 'xterm' } });
  onTestFinished(() => void terminal.kill('SIGKILL')); // closes the terminal, which ends what hangs in it
  const said = new Transcript(terminal.stdout);
  const answers = async (typed: string, ...words: string[]): Promise<void> => {
    terminal.stdin.write(typed);
    for (const word of words) await said.until(word);
  };
  const prompt = '>>> \u001b[5G'; // only then is what is typed, or Ctrl-C, for the line
  await answers('', prompt);
  await answers('x = 41\r', prompt);
  await answers('import time; print("be" + "gun"); time.sleep(50)\r', 'begun');
  await answers('\u0003', 'KeyboardInterrupt', prompt);
  await answers('for i in range(2):\r', '... ');
  await answers('    print(x + i + 1)\r\r', '42\r\n43\r\n', prompt);
  await answers('unwanted\u0003', '\n>>> ');
  terminal.stdin.write('\u0004');
  await once(terminal, 'exit');
  terminal.stdin.destroy();
  assert.equal(terminal.exitCode, 0);
  const history = await readFile(path.join(directory.path, 'repl-history'), 'utf8');
  assert.match(history, /^x = 41\n/);
  assert.doesNotMatch(history, /unwanted/);
});

test('at a terminal nothing follows the output of the cell after a crash', async () => {
  const terminal = new Terminal([MAIN, 'repl'], { ...ENV, TERM: 'xterm', FORCE_COLOR: '1' });
  const prompt = '>>> \u001b[5G';
  await terminal.until(prompt);
  terminal.type('import os; os.abort()\r');
  const crash = await terminal.until(prompt);
  assert.ok(crash.includes('every variable is as it was before this run'), crash);
  terminal.type('print(6 * 7)\r');
  const said = await terminal.until(prompt);
  const after = said.slice(said.indexOf('42\r\n') + '42\r\n'.length);
  assert.ok(!after.includes('\n') && !after.includes('\u001b[0m'), JSON.stringify(said));
  terminal.type('\u0004');
  assert.equal(await terminal.ended(), 0);
});

test('doctor finds that sessions can be opened, and what they are made of', async () => {
  const { code, stdout, stderr } = await vivarium(['doctor', '--json']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(part(stdout, 'canOpenSessions'), true);
  assert.equal(part(stdout, 'isolation', 'level'), 'namespaces');
  const findings = part(stdout, 'findings');
  assert.ok(Array.isArray(findings));
  const groups = findings.map((finding: unknown) => part(JSON.stringify(finding), 'group'));
  assert.deepEqual([...new Set(groups)], ['Python', 'Walls', 'Limits', 'Machine']);
  for (const finding of findings.map((each: unknown) => JSON.stringify(each))) {
    assert.ok(part(finding, 'status') === 'ok' || part(finding, 'advice'), finding);
  }
});

test('doctor ends with 3 when no session can be opened', async () => {
  const { code, stdout } = await vivarium(['doctor', '--python', '/bin/false']);
  assert.equal(code, 3);
  assert.match(stdout, /✗ interpreter .* → .*--python[^]*No session can be opened\.\n$/);
});

test('the version and the help are printed on stdout', async () => {
  const version = String(part(await readFile(path.join(ROOT, 'package.json'), 'utf8'), 'version'));
  assert.deepEqual(await vivarium(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
  const help = await vivarium(['run', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /--mount[^]*Examples:[^]*Exit code:/);
});

test('the tour runs to its end', async () => {
  const child = spawn(process.execPath, [path.join(ROOT, 'examples/tour.ts')], { env: ENV });
  const { code, stdout, stderr } = await finish(child);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /x \+ 1 is 42[^]*What to try next/);
});
