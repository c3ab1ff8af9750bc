/** Commands of the system in a session: beside its Python, on its files, behind its walls. */
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHost, type Command, type CommandOutput, type Host, type Session } from '../../src/index.ts';

/** Sessions of root have user ids of their own, and this is the only Python that every user surely may run. */
const SYSTEM_PYTHON = '/usr/bin/python3';
/** What a program does when it was told to end, and goes on. */
const STUBBORN = 'trap "" TERM; echo begun; while :; do sleep 0.05; done';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0, limits: { graceMs: 200 } });
});
afterAll(() => host.close());

const bash = (script: string): string[] => ['bash', '-c', script];

/** Starts a command and waits until it has printed something. */
async function begun(session: Session, script: string, timeoutMs: number | null = null): Promise<Command> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const command = await session.spawn(bash(script), { timeoutMs, onOutput: () => resolve() });
  await promise;
  return command;
}

/** A program that sleeps for as long as no other one does, so that it can be found. */
const newSleep = (): string => `sleep ${randomInt(2 ** 30, 2 ** 31)}`;

/** How many processes of this machine are such a program. */
function countProcesses(sleep: string): number {
  return readdirSync('/proc').filter((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8') === `${sleep.replace(' ', '\0')}\0`;
    } catch {
      return false; // not a process, or it has ended
    }
  }).length;
}

describe('the result', () => {
  test('has the exit code and what was printed', async () => {
    await using session = await host.createSession();
    expect(await session.exec(bash('echo out; echo err >&2; exit 3'))).toEqual({
      exitCode: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
      durationMs: expect.any(Number) as number,
    });
  });

  test('names the signal that ended the command', async () => {
    await using session = await host.createSession();
    expect(await session.exec(bash('kill -SEGV $$'))).toMatchObject({ exitCode: null, signal: 'SIGSEGV' });
  });

  test('of what cannot be executed is that of a shell', async () => {
    await using session = await host.createSession();
    await session.files.upload('not-executable', Buffer.from('text'));
    expect(await session.exec(['no-such-program'])).toMatchObject({
      exitCode: 127,
      stderr: 'vivarium: no-such-program: command not found\n',
    });
    expect(await session.exec(['./nowhere'])).toMatchObject({
      exitCode: 127,
      stderr: 'vivarium: ./nowhere: No such file or directory\n',
    });
    expect(await session.exec(['./not-executable'])).toMatchObject({
      exitCode: 126,
      stderr: 'vivarium: ./not-executable: Permission denied\n',
    });
    expect(await session.exec(['true'], { cwd: 'nowhere' })).toMatchObject({
      exitCode: 126,
      stderr: 'vivarium: nowhere: No such file or directory\n',
    });
  });

  test('keeps the beginning and the end of long output, and says so', async () => {
    await using session = await host.createSession({ limits: { outputBytes: 1024 } });
    const { stdout, truncated } = await session.exec(bash('seq 100000'));
    expect(stdout).toMatch(/^1\n2\n[^]*bytes of output omitted[^]*\n100000\n$/);
    expect(truncated?.stdout?.totalBytes).toBe(588_895);
    expect(truncated).not.toHaveProperty('stderr');
  });

  test('is complete although a process that was left running holds the output open', async () => {
    await using session = await host.createSession();
    expect(await session.exec(bash('sleep 60 & seq 20000 | tail -n 1'))).toMatchObject({
      stdout: '20000\n',
      exitCode: 0,
    });
  });

  test('does not wait for a process that was left running and prints for ever', async () => {
    await using session = await host.createSession();
    expect(await session.exec(bash('yes & echo $! > pid'))).toMatchObject({ exitCode: 0, timedOut: false });
  });
});

describe('what a command gets', () => {
  test('is its input, and then the end of it', async () => {
    await using session = await host.createSession();
    const input = 'é'.repeat(500_000);
    expect((await session.exec(['wc', '-c'], { input })).stdout).toBe('1000000\n');
    expect((await session.exec(['cat'])).stdout).toBe('');
    expect(await session.exec(['true'], { input })).toMatchObject({ exitCode: 0 }); // it does not read
  });

  test('are the variables of the session, its own, and none of the host', async () => {
    vi.stubEnv('SECRET_OF_THE_HOST', 'x');
    onTestFinished(() => vi.unstubAllEnvs() as unknown as void);
    await using session = await host.createSession({ env: { OF_SESSION: '1', BOTH: '1' } });
    const { stdout } = await session.exec(['env'], { env: { OWN: '2', BOTH: '2' } });
    expect(stdout).toContain('OF_SESSION=1\n');
    expect(stdout).toContain('OWN=2\n');
    expect(stdout).toContain('BOTH=2\n');
    expect(stdout).toContain('HOME=/tmp\n');
    expect(stdout).toMatch(/^PATH=.*\/usr\/bin/m);
    expect(stdout).not.toContain('SECRET_OF_THE_HOST');
  });

  test('is the workspace, or a directory in it', async () => {
    await using session = await host.createSession();
    await session.exec(['mkdir', 'inner']);
    expect((await session.exec(['pwd'])).stdout).toBe('/workspace\n');
    expect((await session.exec(['pwd'], { cwd: 'inner' })).stdout).toBe('/workspace/inner\n');
    expect((await session.exec(['pwd'], { cwd: '/tmp' })).stdout).toBe('/tmp\n');
  });

  test('are its three streams and no other descriptor, and signals as usual', async () => {
    await using session = await host.createSession();
    expect((await session.exec(['ls', '/proc/self/fd'])).stdout).toBe('0\n1\n2\n3\n'); // the last is the directory
    expect((await session.exec(['grep', '-E', 'Sig(Ign|Blk)', '/proc/self/status'])).stdout).toBe(
      'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n',
    );
  });

  test('are the limits and walls of a cell', async () => {
    await using session = await host.createSession();
    const look = `print(open("/proc/self/limits").read()); import os
for line in open("/proc/self/status"):
    if line.split(":")[0] in ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp"): print(line.strip())
print(os.nice(0), os.sched_getaffinity(0), [os.readlink(f"/proc/self/ns/{n}") for n in sorted(os.listdir("/proc/self/ns"))])
print(open("/proc/self/cgroup").read(), open("/proc/self/oom_score_adj").read(), os.umask(0))`;
    const cell = (await session.runCode(look)).logs.stdout;
    expect(cell).toContain('NoNewPrivs:\t1');
    expect((await session.exec(['python3', '-c', look])).stdout).toBe(cell);
  });

  test('is refused if it makes no sense', async () => {
    await using session = await host.createSession();
    const invalid = { code: 'CONFIG_INVALID' };
    await expect(session.exec([])).rejects.toMatchObject(invalid);
    await expect(session.exec(['a\0b'])).rejects.toMatchObject(invalid);
    await expect(session.exec(['true'], { env: { 'A=B': '' } })).rejects.toMatchObject(invalid);
    await expect(session.exec(['true'], { timeoutMs: 0 })).rejects.toMatchObject(invalid);
    await expect(session.exec(['true'], { shell: true } as object)).rejects.toMatchObject(invalid);
  });
});

describe('a command that runs', () => {
  test('is written to and answers, and ends with its input', async () => {
    await using session = await host.createSession();
    const outputs: CommandOutput[] = [];
    let heard = Promise.withResolvers<void>();
    const onOutput = (output: CommandOutput): void => {
      outputs.push(output);
      heard.resolve();
    };
    const command = await session.spawn(bash('while read -r line; do echo "got $line"; done; echo end'), { onOutput });
    for (const word of ['one', 'two']) {
      heard = Promise.withResolvers<void>();
      await command.write(`${word}\n`);
      await heard.promise;
    }
    expect(outputs).toEqual([
      { stream: 'stdout', text: 'got one\n' },
      { stream: 'stdout', text: 'got two\n' },
    ]);
    command.closeInput();
    expect(await command.result).toMatchObject({ exitCode: 0, stdout: 'got one\ngot two\nend\n' });
    await command.write('nobody reads this');
    expect(await command.kill()).toBe(false);
  });

  test('has the number that the session sees, and can be signalled', async () => {
    await using session = await host.createSession();
    const command = await begun(session, 'trap "echo caught; exit 5" USR1; echo $$; while :; do sleep 0.02; done');
    expect(await command.kill('SIGUSR1')).toBe(true);
    expect(await command.result).toMatchObject({ exitCode: 5, stdout: `${command.pid}\ncaught\n` });
  });

  test('is killed with everything that it has started', async () => {
    await using session = await host.createSession();
    const sleep = newSleep();
    const command = await begun(session, `(${sleep} & ${sleep}) & setsid ${sleep} & echo begun; wait`);
    await expect.poll(() => countProcesses(sleep)).toBe(3);
    expect(await command.kill()).toBe(true);
    expect(await command.result).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
    expect(countProcesses(sleep)).toBe(0);
  });

  test('waits for a slow listener', async () => {
    await using session = await host.createSession();
    const { promise, resolve } = Promise.withResolvers<void>();
    const command = await session.spawn(bash('yes | head -c 30000000; touch done'), {
      onOutput: () => promise,
      timeoutMs: null,
    });
    await session.exec(['sleep', '0.3']);
    expect(await session.exec(['ls'])).toMatchObject({ stdout: '' });
    resolve();
    expect(await command.result).toMatchObject({ exitCode: 0, truncated: { stdout: { totalBytes: 30_000_000 } } });
    expect(await session.exec(['ls'])).toMatchObject({ stdout: 'done\n' });
  });

  test('is ended if its listener throws, and the caller gets that error', async () => {
    await using session = await host.createSession();
    const onOutput = (): void => {
      throw new Error('not now');
    };
    await expect(session.exec(bash('echo x; sleep 60'), { onOutput })).rejects.toThrow('not now');
  });

  test('is one of several, which do not wait for each other', async () => {
    await using session = await host.createSession();
    const reader = await session.spawn(bash('mkfifo pipe; echo ready; cat pipe'), { onOutput: () => undefined });
    await expect.poll(async () => (await session.exec(['ls'])).stdout).toContain('pipe');
    const results = await Promise.all(Array.from({ length: 10 }, (_, index) => session.exec(['echo', String(index)])));
    expect(results.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}\n`));
    await session.exec(bash('echo through > pipe'));
    expect(await reader.result).toMatchObject({ stdout: 'ready\nthrough\n' });
  });
});

describe('the end of a command', () => {
  test('comes when its time is over', async () => {
    await using session = await host.createSession();
    const timedOut = { timedOut: true, reason: 'it took longer than 300 ms' };
    expect(await session.exec(['sleep', '60'], { timeoutMs: 300 })).toMatchObject({ signal: 'SIGTERM', ...timedOut });
    expect(await session.exec(bash(STUBBORN), { timeoutMs: 300 })).toMatchObject({ signal: 'SIGKILL', ...timedOut });
  });

  test('comes after the time limit of the session, unless it has another one', async () => {
    await using session = await host.createSession({ limits: { timeoutMs: 300 } });
    const patient = session.exec(bash('sleep 0.6; echo done'), { timeoutMs: null });
    expect(await session.exec(['sleep', '60'])).toMatchObject({ timedOut: true });
    expect(await patient).toMatchObject({ timedOut: false, stdout: 'done\n' });
  });

  test('comes when it is aborted', async () => {
    await using session = await host.createSession();
    const abort = new AbortController();
    const running = session.exec(bash('echo begun; sleep 60'), {
      signal: abort.signal,
      onOutput: () => abort.abort(),
    });
    expect(await running).toMatchObject({ signal: 'SIGTERM', timedOut: false, reason: 'it was cancelled' });
    await expect(session.exec(['true'], { signal: abort.signal })).rejects.toThrow(/aborted/);
  });

  test.each([
    ['closed', (session: Session) => session.close()],
    ['reset', (session: Session) => session.reset()],
    [
      'rolled back',
      async (session: Session) => {
        await session.rollback();
      },
    ],
  ] as const)('comes when the session is %s', async (what, act) => {
    await using session = await host.createSession();
    await session.runCode('x = 1');
    await session.runCode('x = 2');
    const sleep = newSleep();
    const command = await begun(session, `trap "" TERM; ${sleep} & echo begun; wait`);
    await act(session);
    expect(await command.result).toMatchObject({ signal: 'SIGKILL', reason: `the session was ${what}` });
    expect(countProcesses(sleep)).toBe(0);
  });

  test('of a session is the end of its commands', async () => {
    const session = await host.createSession();
    await session.close();
    await expect(session.exec(['true'])).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  test('comes when the session has used up its memory', async () => {
    await using session = await host.createSession({ limits: { memoryMb: 128 } });
    await session.runCode('x = 1');
    const hogs = Array.from({ length: 3 }, () =>
      session.exec(['python3', '-c', 'import time; x = b"x" * (100 << 20); time.sleep(60)']),
    );
    for (const { signal, reason } of await Promise.all(hogs)) {
      expect(signal).toBe('SIGKILL');
      expect(reason).toMatch(/memory|128 MB/);
    }
    expect(await session.runCode('x')).toMatchObject({
      outcome: { status: 'succeeded' },
      state: { status: 'preserved' },
    });
  });

  test('is not caused by many processes, of which there may be only so many', async () => {
    const FORKS = `import os, time
for count in range(100):
    try:
        if os.fork() == 0: time.sleep(1000)
    except BlockingIOError:
        break
print(count)`;
    await using crowded = await host.createSession({ limits: { processes: 10 } });
    const { stdout } = await crowded.exec(['python3', '-c', FORKS]);
    expect(Number(stdout)).toBeGreaterThanOrEqual(8);
    expect(Number(stdout)).toBeLessThan(20);
    await using session = await host.createSession({ limits: { processes: 10 } });
    const running = await Promise.all(Array.from({ length: 10 }, () => session.spawn(['sleep', '60'])));
    await expect(session.exec(['true'])).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    await Promise.all(running.map((command) => command.kill()));
    await Promise.all(running.map(({ result }) => result));
    expect(await session.exec(['true'])).toMatchObject({ exitCode: 0 });
  });
});

describe('beside Python', () => {
  test('both see the files of the other, and no run tells of those of a command', async () => {
    await using session = await host.createSession();
    await session.runCode('open("of-python", "w").write("python")');
    expect((await session.exec(['cat', 'of-python'])).stdout).toBe('python');
    await session.exec(bash('echo -n command > of-command'));
    const { files, results } = await session.runCode('open("last", "w").close(); open("of-command").read()');
    expect(results[0]?.data['text/plain']).toBe("'command'");
    expect(files.map(({ path }) => path)).toEqual(['last']);
    expect(await text(await session.files.download('of-command'))).toBe('command');
  });

  test('it runs while a cell does', async () => {
    await using session = await host.createSession();
    const cell = session.runCode(
      'import os, time\nopen("begun", "w").close()\nwhile not os.path.exists("go"): time.sleep(0.01)\n"gone"',
    );
    await expect.poll(async () => (await session.exec(['ls'])).stdout).toBe('begun\n');
    await session.exec(['touch', 'go']);
    expect((await cell).results[0]?.data['text/plain']).toBe("'gone'");
  });

  test('it goes on when Python crashes, is interrupted or has to be killed, and the state is restored', async () => {
    await using session = await host.createSession({ limits: { graceMs: 100 } });
    await session.runCode('x = 1');
    const command = await begun(session, 'echo begun; while :; do sleep 0.01; echo x >> ticks; done');
    const crashed = await session.runCode('import os; os.kill(os.getpid(), 9)');
    expect(crashed).toMatchObject({ outcome: { status: 'crashed' }, state: { status: 'restored' } });
    const stubborn = 'while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass';
    const killed = await session.runCode(stubborn, { timeoutMs: 300 });
    expect(killed).toMatchObject({ outcome: { status: 'timed-out' }, state: { status: 'restored' } });
    expect(await session.runCode('x')).toMatchObject({ results: [{ data: { 'text/plain': '1' } }] });
    const size = async (): Promise<number> => (await session.exec(['cat', 'ticks'])).stdout.length;
    const before = await size();
    await expect.poll(size).toBeGreaterThan(before);
    await command.kill();
    expect(await command.result).toMatchObject({ signal: 'SIGKILL' });
  });

  test('what a run left is ended in a crash, and a command is not', async () => {
    await using session = await host.createSession();
    await session.runCode('x = 1');
    const [kept, left] = [newSleep(), newSleep()];
    const command = await begun(session, `echo begun; exec ${kept}`);
    await session.runCode(`import subprocess; p = subprocess.Popen("${left}".split())`);
    await expect.poll(() => countProcesses(left)).toBe(1);
    expect(await session.runCode('import os; os.abort()')).toMatchObject({ outcome: { status: 'crashed' } });
    expect(countProcesses(left)).toBe(0);
    expect(countProcesses(kept)).toBe(1);
    await command.kill();
  });

  test('a rollback restores files from before the run, with what a command had written before it', async () => {
    await using session = await host.createSession();
    await session.runCode('open("a", "w").write("1")');
    await session.exec(bash('echo -n command > b'));
    await session.runCode('open("b", "w").write("changed"); open("c", "w").write("3")');
    await session.exec(bash('echo -n later > d'));
    expect(await session.rollback()).toMatchObject({ files: 'restored' });
    expect((await session.exec(bash('ls; cat a b'))).stdout).toBe('a\nb\n1command');
  });

  test('a session is not idle while a command runs', async () => {
    await using session = await host.createSession({ idleMs: 150 });
    expect(await session.exec(bash('sleep 0.5; echo done'))).toMatchObject({ stdout: 'done\n' });
  });

  test('it is refused files that are read-only', async () => {
    await using session = await host.createSession({ readOnly: true });
    expect((await session.exec(bash('echo x > file; echo y > /tmp/file'))).stderr).toMatch(/^[^\n]*file: [^\n]*\n$/);
  });
});

test('a session that lost its processes runs commands in new ones', async () => {
  await using session = await host.createSession();
  // No twin can be made of a state with a thread, so a fresh interpreter replaces it, with all that is around it.
  await session.runCode('import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()');
  const command = await begun(session, STUBBORN);
  expect(await session.runCode('import os; os.kill(os.getpid(), 9)')).toMatchObject({ state: { status: 'lost' } });
  expect(await command.result).toMatchObject({ signal: 'SIGKILL', reason: expect.any(String) as string });
  expect(await session.exec(['true'])).toMatchObject({ exitCode: 0 });
});

describe.skipIf(!existsSync(SYSTEM_PYTHON)).for(['landlock', 'none'] as const)('at the level %s', (isolation) => {
  test('commands run, are ended and are no one else', async () => {
    const dataDir = await mkdtemp('/var/tmp/viv-commands-');
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    await chmod(dataDir, 0o755);
    await using other = await createHost({ isolation, poolSize: 0, dataDir, python: SYSTEM_PYTHON });
    await using session = await other.createSession();
    await session.runCode('open("of-python", "w").write("x"); x = 1');
    expect(await session.exec(bash('cat; cat of-python; exit 4'), { input: 'in ' })).toMatchObject({
      exitCode: 4,
      stdout: 'in x',
    });
    const look = 'import os; print(os.getresuid(), os.getresgid(), os.getgroups(), os.getcwd())';
    expect((await session.exec(['python3', '-c', look])).stdout).toBe((await session.runCode(look)).logs.stdout);
    const command = await begun(session, 'sleep 1234 & echo begun; wait');
    expect(await session.runCode('import os; os.abort()')).toMatchObject({ state: { status: 'restored' } });
    expect(await command.kill()).toBe(true);
    expect(await command.result).toMatchObject({ signal: 'SIGKILL', stdout: 'begun\n' });
    expect(await session.exec(['sleep', '60'], { timeoutMs: 200 })).toMatchObject({ timedOut: true });
  });
});

test.skipIf(!existsSync(SYSTEM_PYTHON))('at the level landlock, commands reach nothing of the machine', async () => {
  const dataDir = await mkdtemp('/var/tmp/viv-commands-');
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  await chmod(dataDir, 0o755);
  await using other = await createHost({ isolation: 'landlock', poolSize: 0, dataDir, python: SYSTEM_PYTHON });
  await using session = await other.createSession();
  for (const argv of [
    ['ls', dataDir],
    ['cat', '/etc/passwd'],
    ['sh', '-c', `kill -0 ${process.pid}`],
  ]) {
    const { stdout, stderr } = await session.exec(argv);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/denied|permitted/);
  }
});
