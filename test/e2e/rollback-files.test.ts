/** What a rollback does to files that no run wrote, and what the runs after it tell of files. */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createHost, type Execution, type Host, type Session } from '../../src/index.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0 });
});
afterAll(() => host.close());

const told = ({ files }: Execution): string[] => files.map(({ path, change }) => `${change} ${path}`);

async function contents(session: Session): Promise<Record<string, string>> {
  const { files } = await session.files.list();
  const read = async (path: string): Promise<string> => text(await session.files.download(path));
  return Object.fromEntries(await Promise.all(files.map(async ({ path }) => [path, await read(path)] as const)));
}

async function shown(session: Session, code: string): Promise<string | undefined> {
  return (await session.runCode(code)).results[0]?.data['text/plain'];
}

test('a run after a rollback does not tell of the files that the rollback put back', async () => {
  await using session = await host.createSession();
  await session.runCode('open("f", "w").write("1"); open("g", "w").write("1")');
  await session.runCode('import os; open("f", "w").write("22"); os.remove("g"); open("h", "w").close()');
  await session.rollback();
  expect(told(await session.runCode('x = 1'))).toEqual([]);
  expect(told(await session.runCode('open("f", "w").write("3"); open("h", "w").close()'))).toEqual([
    'changed f',
    'created h',
  ]);
});

test('a rollback to the state before the first run is not told as the work of the next one', async () => {
  await using session = await host.createSession();
  await session.runCode('open("f", "w").write("1")');
  await session.rollback();
  expect(told(await session.runCode('open("f", "w").write("1")'))).toEqual(['created f']);
});

test('a run after a rollback in a workspace of many files tells only of its own', async () => {
  await using session = await host.createSession();
  await session.runCode('import os\nfor n in range(300): open(f"f{n}", "w").close()');
  for (let run = 0; run < 3; run += 1) await session.runCode(`run = ${run}`); // from now on the files are followed
  await session.runCode('for n in range(9): open(f"f{n}", "w").write("x")\nos.remove("f9")');
  await session.rollback();
  expect(told(await session.runCode('open("f1", "w").write("y")'))).toEqual(['changed f1']);
  expect(told(await session.runCode('x = 1'))).toEqual([]);
});

test('a run after a reset does not tell of what the init code wrote', async () => {
  await using session = await host.createSession({ initCode: 'open("settings", "a").write("x")' });
  expect(told(await session.runCode('x = 1'))).toEqual([]);
  await session.reset();
  expect(told(await session.runCode('x = 1'))).toEqual([]);
  expect(await contents(session)).toEqual({ settings: 'xx' });
});

test('a file that was removed from outside counts as created when a run writes it', async () => {
  await using session = await host.createSession();
  await session.runCode('open("f", "w").close()');
  await session.files.remove('f');
  expect(told(await session.runCode('open("f", "w").close()'))).toEqual(['created f']);
});

for (const hasTwin of [false, true]) {
  test(`a rollback keeps what was uploaded and removed before the run, ${hasTwin ? 'after' : 'before'} there was a twin`, async () => {
    await using session = await host.createSession();
    await session.runCode('x = 1; open("old", "w").close(); open("gone", "w").close()');
    if (hasTwin) await session.runCode('x'); // begins with making it
    await session.files.upload('new/data.csv', 'important');
    await session.files.upload('old', 'replaced');
    await session.files.remove('gone');
    await session.runCode('x = 2; import os; os.remove("old"); open("new/data.csv", "a").write("!")');
    expect(await session.rollback()).toMatchObject({ files: 'restored' });
    expect(await contents(session)).toEqual({ 'new/data.csv': 'important', old: 'replaced' });
    expect(await shown(session, 'x')).toBe('1');
  });
}

test('an upload at any moment around the making of a twin costs neither a run nor the state', async () => {
  await using session = await host.createSession();
  for (let delayMs = 0; delayMs < 40; delayMs += 2) {
    await session.runCode(`x = ${delayMs}`);
    await sleep(delayMs / 2); // a twin is made after 20 ms
    await session.files.upload('data.csv', String(delayMs));
    if (delayMs % 4 === 0) await sleep(delayMs / 2);
    const { outcome, state } = await session.runCode('y = x; open("data.csv", "w").close()');
    expect([outcome.status, state.status]).toEqual(['succeeded', 'preserved']);
    if (delayMs % 3 > 0) continue;
    expect(await session.rollback()).toMatchObject({ files: 'restored' });
    expect(await contents(session)).toEqual({ 'data.csv': String(delayMs) });
  }
});

test('a rollback of the first run keeps what was uploaded before it', async () => {
  await using session = await host.createSession();
  await session.files.upload('data.csv', 'important');
  await session.runCode('x = 2; open("data.csv", "w").close(); open("junk", "w").close()');
  expect(await session.rollback()).toMatchObject({ files: 'restored' });
  expect(await contents(session)).toEqual({ 'data.csv': 'important' });
});

test('a rollback keeps what was uploaded before looks that came before the run', async () => {
  await using session = await host.createSession();
  await session.runCode('x = 1');
  await session.runCode('x'); // begins with making a twin
  await session.files.upload('data.csv', 'important');
  await session.runCode('x');
  await session.runCode('x = 2');
  await session.rollback();
  expect(await contents(session)).toEqual({ 'data.csv': 'important' });
});

test('a run that is lost after an upload costs neither the variables nor the upload', async () => {
  await using session = await host.createSession();
  for (const code of ['x = 1', 'x += 1']) {
    await session.runCode(code);
    await session.files.upload('data.csv', code);
    const lost = await session.runCode('import os; os._exit(1)');
    expect(lost.state.status).toBe('restored');
    expect(await contents(session)).toEqual({ 'data.csv': code });
  }
  await session.runCode('x += 1');
  expect(await session.rollback()).toMatchObject({ files: 'restored' });
  expect(await contents(session)).toEqual({ 'data.csv': 'x += 1' });
  expect(await shown(session, 'x')).toBe('2');
});

/** Once there is a file `go`, the worker cannot fork any more. */
const NO_MORE_FORKS = `
import os, subprocess, sys
code = f"""
import os, resource, time
while not os.path.exists("go"): time.sleep(0.01)
resource.prlimit({os.getpid()}, resource.RLIMIT_NPROC, (1, 1))
open("gone", "w").close()
"""
helper = subprocess.Popen([sys.executable, "-c", code])
`;

test('where no copy of an upload can be made, a rollback keeps all files and says why', async () => {
  await using session = await host.createSession();
  await session.runCode(`x = 1\n${NO_MORE_FORKS}`);
  await session.runCode('x'); // begins with making a twin
  await session.files.upload('go', 'important');
  await vi.waitFor(async () => expect(await contents(session)).toHaveProperty('gone'));
  expect((await session.runCode('x = 2; open("new", "w").close()')).outcome.status).toBe('succeeded');
  expect((await session.rollback()).files).toMatch(/^kept: files were uploaded or removed before the run/);
  expect(await contents(session)).toEqual({ go: 'important', gone: '', new: '' });
  expect(await shown(session, 'x')).toBe('1');
});

test('a rollback keeps the whole output of an earlier run', async () => {
  await using session = await host.createSession();
  const { spills } = await session.runCode('import os\nfor n in range(100_000): print(n)');
  await session.runCode('x = 2');
  expect(await session.rollback()).toMatchObject({ files: 'restored' });
  expect(await shown(session, `os.path.getsize(${JSON.stringify(spills?.stdout?.path)})`)).toBe('588890');
});
