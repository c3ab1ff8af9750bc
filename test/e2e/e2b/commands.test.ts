/** Commands in sandboxes, with E2B's own SDK for JavaScript. */
import { Sandbox } from '@e2b/code-interpreter';
import { CommandExitError, NotFoundError } from 'e2b';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

let server: E2bTestbed;
let sandbox: Sandbox;
beforeAll(async () => {
  server = await startE2bServer({ hostOptions: { limits: { graceMs: 200 } } });
  sandbox = await Sandbox.create({ ...server.connection, timeoutMs: 120_000, envs: { WHO: 'me' } });
});
afterAll(() => server[Symbol.asyncDispose]());

test('a command begins in /home/user and returns what it printed', async () => {
  const done = await sandbox.commands.run('pwd; echo $WHO $HOME; echo oh >&2');
  expect(done).toEqual({ exitCode: 0, stdout: '/home/user\nme /home/user\n', stderr: 'oh\n', error: undefined });
});

test('it runs in another directory, with other variables', async () => {
  await sandbox.files.makeDir('inner');
  const { stdout } = await sandbox.commands.run('pwd; echo $WHO $A', { cwd: 'inner', envs: { A: 'b', WHO: 'you' } });
  expect(stdout).toBe('/home/user/inner\nyou b\n');
  expect((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout).toBe('/tmp\n');
});

test('it works on the files of code, with the same Python', async () => {
  await sandbox.runCode('open("script.py", "w").write("import sys; print(sys.version_info[:2])")');
  const { text } = await sandbox.runCode('import sys\nsys.version_info[:2]');
  expect((await sandbox.commands.run('python script.py')).stdout).toBe(`${text}\n`);
});

test('output comes while it runs, whole, whatever its size', async () => {
  const seen: string[] = [];
  const { stdout } = await sandbox.commands.run('echo first; head -c 3000000 /dev/zero | tr "\\0" "ä"; echo last', {
    onStdout: (text) => void seen.push(text),
  });
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.join('')).toBe(stdout);
  expect(stdout.length).toBe(3_000_011);
});

test('a command that fails throws with its exit code and its output', async () => {
  const failed = sandbox.commands.run('echo out; echo err >&2; exit 3');
  await expect(failed).rejects.toThrow(CommandExitError);
  await expect(failed).rejects.toMatchObject({ exitCode: 3, stdout: 'out\n', stderr: 'err\n', error: 'exit status 3' });
});

test('a command in the background is listed, written to and waited for', async () => {
  const cat = await sandbox.commands.run('cat; echo end', { background: true, stdin: true });
  expect(await sandbox.commands.list()).toMatchObject([
    { pid: cat.pid, cmd: '/bin/bash', args: ['-l', '-c', 'cat; echo end'] },
  ]);
  await sandbox.commands.sendStdin(cat.pid, 'typed\n');
  await sandbox.commands.closeStdin(cat.pid);
  expect(await cat.wait()).toMatchObject({ exitCode: 0, stdout: 'typed\nend\n' });
  await expect.poll(() => sandbox.commands.list()).toEqual([]);
});

test('without stdin a command reads nothing, and cannot be written to', async () => {
  expect((await sandbox.commands.run('cat; echo end')).stdout).toBe('end\n');
  const sleeper = await sandbox.commands.run('sleep 60', { background: true });
  await expect(sandbox.commands.sendStdin(sleeper.pid, 'x')).rejects.toThrow('stdin is closed');
  expect(await sleeper.kill()).toBe(true);
});

test('a command is killed, once', async () => {
  const sleeper = await sandbox.commands.run('sleep 60 & sleep 60', { background: true });
  expect(await sandbox.commands.kill(sleeper.pid)).toBe(true);
  await expect(sleeper.wait()).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' });
  await expect.poll(() => sandbox.commands.kill(sleeper.pid)).toBe(false);
});

test('another client connects to a command and gets what it prints from then on', async () => {
  const first = await sandbox.commands.run('read a; echo got $a; read b; echo got $b', {
    background: true,
    stdin: true,
  });
  const other = await Sandbox.connect(sandbox.sandboxId, server.connection);
  await first.sendStdin('one\n');
  await expect.poll(() => first.stdout).toBe('got one\n');
  const again = await other.commands.connect(first.pid);
  await again.sendStdin('two\n');
  expect((await again.wait()).stdout).toBe('got two\n');
  expect((await first.wait()).stdout).toBe('got one\ngot two\n');
  await expect(other.commands.connect(4242)).rejects.toThrow(NotFoundError);
});

test('a reader that leaves does not end the command', async () => {
  const handle = await sandbox.commands.run('sleep 0.5; echo alive > alive.txt', { background: true });
  await handle.disconnect();
  await expect.poll(() => sandbox.files.exists('alive.txt')).toBe(true);
});

test('a command ends at its time', async () => {
  const late = sandbox.commands.run('sleep 60', { timeoutMs: 300 });
  await expect(late).rejects.toThrow("exceeding 'timeoutMs'");
  await expect.poll(() => sandbox.commands.list()).toEqual([]);
});

test('a server that a command starts is reached by code', async () => {
  const web = await sandbox.commands.run('python -um http.server 8123', { background: true, timeoutMs: 0 });
  const code = `import time, urllib.request
while True:
    try:
        status = urllib.request.urlopen("http://localhost:8123/").status
        break
    except OSError:
        time.sleep(0.05)
status`;
  expect((await sandbox.runCode(code)).text).toBe('200');
  await web.kill();
});

test('what is not there is refused with the reason', async () => {
  await expect(sandbox.commands.run('id', { user: 'root' })).rejects.toThrow('one user, "user"');
  await expect(sandbox.pty.create({ cols: 80, rows: 24, onData: () => undefined })).rejects.toThrow(
    'Terminals (PTY) are not supported',
  );
});
