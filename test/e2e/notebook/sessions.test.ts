/** Commands, input and tasks of notebook cells in whole sessions: limits, receipts, twins. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host, type Session } from '../../../src/index.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0 });
});
afterAll(() => host.close());

async function openSession(): Promise<Session> {
  const session = await host.createSession();
  onTestFinished(() => session.close());
  return session;
}

function textOf({ results }: Awaited<ReturnType<Session['runCode']>>): unknown {
  return results.at(-1)?.data['text/plain'];
}

const LIVING = `
import os
def living(name):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if name in open(f"/proc/{pid}/cmdline").read() and pid != str(os.getpid()):
                found.append(pid)
        except OSError:
            pass
    return found
`;

test('a command that takes too long ends with everything it started, and the state is kept', async () => {
  const session = await openSession();
  await session.runCode(`x = 1\n${LIVING}`);
  const late = await session.runCode('!sleep 3171 & sleep 3172', { timeoutMs: 500 });
  expect([late.outcome.status, late.state.status]).toEqual(['timed-out', 'preserved']);
  expect(textOf(await session.runCode('x, living("317")'))).toBe('(1, [])');
});

test('output of a command comes while it runs, in order with what is printed', async () => {
  const session = await openSession();
  const seen: string[] = [];
  for await (const event of session.stream('print("a")\n!echo b; sleep 0.2; echo c\nprint("d")')) {
    if (event.type === 'output') seen.push(event.text);
  }
  expect(seen.join('')).toBe('a\nb\nc\nd\n');
  expect(seen.join('|')).toMatch(/b\n\|.*c/s); // not held back until the end
});

test('receipts name what the program assigned, and nothing of ours', async () => {
  const session = await openSession();
  const { state } = await session.runCode('files = !echo a\n!false\n%time y = 1');
  expect(state.variables).toMatchObject({ added: ['files', 'y'], changed: [], removed: [] });
  expect((await session.inspect()).map(({ name }) => name)).toEqual(['files', 'y']);
  const appended = await session.runCode('!echo {files.append("b")}');
  expect(appended.state.variables).toMatchObject({ added: [], changed: ['files'] });
});

test('input that is given to a run is read by it alone', async () => {
  const session = await openSession();
  const given = await session.runCode('name = input("? ")\nimport sys\nname, sys.stdin.read()', {
    stdin: 'Ada\nmöre\n',
  });
  expect(textOf(given)).toBe(String.raw`('Ada', 'möre\n')`);
  expect(given.logs.stdout).toBe('? ');
  expect((await session.runCode('!cat', { stdin: 'for a command' })).logs.stdout).toBe('for a command');
  expect((await session.runCode('input()', { stdin: '' })).error?.name).toBe('EOFError');
  const without = await session.runCode('input()');
  expect([without.error?.name, without.error?.value]).toEqual([
    'NotImplementedError',
    expect.stringContaining('stdin'),
  ]);
  expect(textOf(await host.runOnce('input() * 2', { stdin: 'ab' }))).toBe("'abab'");
  await expect(session.runCode('1', { stdin: 'x'.repeat(10 * 1024 * 1024 + 1) })).rejects.toThrow(/10 MiB/);
});

test('a task goes on in later cells, and a crash restores it with the rest of the state', async () => {
  const session = await openSession();
  await session.runCode(`import asyncio
log = []
async def count():
    for i in range(1000):
        log.append(i)
        await asyncio.sleep(0.001)
    return "done"
task = asyncio.create_task(count())`);
  expect(textOf(await session.runCode('await asyncio.sleep(0.05)\n1 < len(log) < 1000'))).toBe('True');
  const crash = await session.runCode('import os; os.abort()');
  expect([crash.outcome.status, crash.state.status]).toEqual(['crashed', 'restored']);
  expect(textOf(await session.runCode('await task, len(log)'))).toBe("('done', 1000)");
});

test('an interrupted cell cancels itself alone, and other tasks go on', async () => {
  const session = await openSession();
  await session.runCode('import asyncio\ntask = asyncio.create_task(asyncio.sleep(0.3, "other"))');
  const { outcome, error } = await session.runCode('x = 1\nawait asyncio.sleep(60)', { timeoutMs: 100 });
  expect([outcome.status, error?.name]).toEqual(['timed-out', 'KeyboardInterrupt']);
  expect(textOf(await session.runCode('await task, x'))).toBe("('other', 1)");
});

test('settings of the context that a cell makes beside an await are kept', async () => {
  const session = await openSession();
  await session.runCode('import asyncio, decimal\ndecimal.getcontext().prec = 5\nawait asyncio.sleep(0)');
  expect(textOf(await session.runCode('decimal.Decimal(1) / 3'))).toBe("Decimal('0.33333')");
  expect(textOf(await session.runCode('async def f(): return 7\nasyncio.run(f())'))).toBe('7');
});

test('the command line passes its standard input to the program', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'habits-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const program = path.join(folder, 'program.py');
  const input = path.join(folder, 'input.txt');
  await writeFile(program, 'print("hello", input())');
  await writeFile(input, 'Ada\n');
  expect(await withInput(program, input)).toBe('hello Ada\n');
  // A pipe that nobody closes is not waited for by a program that does not read.
  await writeFile(program, 'print("done")');
  const { stdout } = await promisify(execFile)(process.execPath, ['src/cli/main.ts', 'run', program]);
  expect(stdout).toBe('done\n');
});

async function withInput(program: string, input: string): Promise<string> {
  await using file = await open(input);
  const child = spawn(process.execPath, ['src/cli/main.ts', 'run', program], { stdio: [file.fd, 'pipe', 'inherit'] });
  return ((await child.stdout?.toArray()) ?? []).join('');
}
