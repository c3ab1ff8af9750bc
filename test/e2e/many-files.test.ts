/** What a run tells of its files, and what it costs, does not depend on how many files it leaves alone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, type Execution, type Host, type Session } from '../../src/index.ts';
import { descendants, roleOf } from './engine/processes.ts';

const MANY = 20_000;
const MAKE = `
import os
def make(count):
    for number in range(count):
        if number % 1000 == 0:
            os.makedirs(f"d{number // 1000}", exist_ok=True)
        open(f"d{number // 1000}/f{number}", "w").close()
`;

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0 });
});
afterAll(() => host.close());

async function openWith(count: number): Promise<Session> {
  const session = await host.createSession();
  await session.runCode(MAKE);
  expect((await session.runCode(`make(${count})`)).outcome.status).toBe('succeeded');
  for (let run = 0; run < 3; run += 1) await session.runCode(`run = ${run}`); // from now on the files are followed
  return session;
}

const told = ({ files }: Execution): string[] => files.map(({ path, change }) => `${change} ${path}`);

test(`a cell that changes a variable costs the same beside ${MANY} files as beside none`, async () => {
  await using empty = await openWith(0);
  await using full = await openWith(MANY);
  const times: Record<'empty' | 'full', number[]> = { empty: [], full: [] };
  for (let round = 0; round < 30; round += 1) {
    for (const [name, session] of [
      ['empty', empty],
      ['full', full],
    ] as const) {
      const startedAt = performance.now();
      await session.runCode(`q = ${round}`);
      times[name].push(performance.now() - startedAt);
    }
  }
  const median = (all: number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN;
  expect(median(times.full)).toBeLessThan(3 * median(times.empty) + 5);
});

test('each run tells exactly what it wrote', async () => {
  await using session = await openWith(500);
  const run = async (code: string): Promise<string[]> => told(await session.runCode(code));
  expect(await run('x = 1')).toEqual([]);
  expect(await run('open("d0/f1", "w").write("x"); open("new", "w").close()')).toEqual([
    'changed d0/f1',
    'created new',
  ]);
  expect(await run('open("d0/f1").read(); os.remove("new")')).toEqual([]);
  expect(await run('os.makedirs("a/b/c"); open("a/b/c/deep", "w").close()')).toEqual(['created a/b/c/deep']);
  expect(await run('open("a/b/c/deep", "a").write("more")')).toEqual(['changed a/b/c/deep']);
  expect(await run('os.rename("a/b", "moved")')).toEqual(['created moved/c/deep']);
  expect(await run('open("moved/c/deep", "a").write("more")')).toEqual(['changed moved/c/deep']);
  expect(await run('os.link("d0/f2", "second"); y = 2')).toEqual(['changed d0/f2', 'created second']);
  expect(await run('open("second", "w").write("both")')).toEqual(['changed d0/f2', 'changed second']);
  await run('os.remove("second")');
  const mapped = 'import mmap; open("mapped", "wb").write(bytes(10)); held = open("mapped", "r+b")';
  expect(await run(mapped)).toEqual(['created mapped']);
  expect(await run('view = mmap.mmap(held.fileno(), 10); held.close()')).toEqual([]);
  expect(await run('view[0] = 65')).toEqual(['changed mapped']);
  expect(await run('import subprocess; subprocess.run(["sh", "-c", "echo > d0/f3; touch d0/f4"]);')).toEqual([
    'changed d0/f3',
    'changed d0/f4',
  ]);
  expect(await run('import shutil; shutil.rmtree("d0"); os.mkdir("d0"); open("d0/f5", "w").close()')).toEqual([
    'changed d0/f5',
  ]);
  await session.files.upload('d0/f6', 'from outside');
  expect(await run('z = 3')).toEqual([]);
});

test('what is written while the surveyor is away is told all the same', async () => {
  await using session = await openWith(500);
  for (const name of ['one', 'two']) {
    for (const surveyor of descendants().filter((each) => roleOf(each) === 'surveyor'))
      process.kill(surveyor.pid, 'SIGKILL');
    expect(told(await session.runCode(`open("${name}", "w").close()`))).toEqual([`created ${name}`]);
    expect(told(await session.runCode(`open("${name}", "w").write("x")`))).toEqual([`changed ${name}`]);
    await expect.poll(() => descendants().some((each) => roleOf(each) === 'surveyor')).toBe(true);
  }
});

test('a surveyor that does not answer is not waited for, and nothing is missed', async () => {
  await using session = await openWith(500);
  const surveyors = descendants().filter((each) => roleOf(each) === 'surveyor');
  for (const { pid } of surveyors) process.kill(pid, 'SIGSTOP');
  const stopped = await session.runCode('open("one", "w").close()');
  for (const { pid } of surveyors) process.kill(pid, 'SIGCONT');
  expect(told(stopped)).toEqual(['created one']);
  expect(told(await session.runCode('open("one", "w").write("x")'))).toEqual(['changed one']);
  expect(told(await session.runCode('open("two", "w").close()'))).toEqual(['created two']);
});

test('files of a large workspace are restored after a loss and by a rollback', async () => {
  await using session = await openWith(500);
  const kept = async (): Promise<string | undefined> =>
    (await session.runCode('open("d0/f1").read() + str(os.path.exists("d0/new"))')).results[0]?.data['text/plain'];
  await session.runCode('open("d0/f1", "w").write("one"); x = 1');
  await session.runCode('open("d0/f1", "w").write("two"); open("d0/new", "w").close(); os.remove("d0/f2"); x = 2');
  expect(await session.rollback()).toMatchObject({ files: 'restored' });
  expect(await kept()).toBe("'oneFalse'");
  for (const text of ['three', 'four']) await session.runCode(`open("d0/f1", "w").write("${text}"); x = 3`);
  expect(await session.rollback()).toMatchObject({ files: 'restored' });
  expect(await kept()).toBe("'threeFalse'");
  expect((await session.runCode('os.kill(os.getpid(), 9)')).state.status).toBe('restored');
  await session.runCode('open("d0/f1", "w").write("five"); x = 4');
  await session.runCode('open("d0/f1", "w").write("six"); x = 5');
  expect(await session.rollback()).toMatchObject({ files: 'restored' });
  expect(await kept()).toBe("'fiveFalse'");
  expect((await session.runCode('len(os.listdir("d0"))')).results[0]?.data['text/plain']).toBe('500');
});

test('files that are too many to look at are counted, and later changes to them are told', async () => {
  await using session = await host.createSession();
  await session.runCode(MAKE);
  const made = await session.runCode('make(50_300)', { timeoutMs: 120_000 });
  expect(made.truncated?.files).toBeGreaterThan(0);
  const paths = '[f"d{number // 1000}/f{number}" for number in range(0, 50_300, 503)]';
  const change = (): Promise<Execution> => session.runCode(`for path in ${paths}: open(path, "w").write("x")`);
  const changed = await firstOf(10, change, ({ truncated }) => truncated === undefined);
  expect(changed?.files.length).toBe(100);
});

/** The first of so many runs that is as wanted. On a busy machine it takes some until the files are followed. */
async function firstOf(
  attempts: number,
  run: () => Promise<Execution>,
  isWanted: (execution: Execution) => boolean,
): Promise<Execution | undefined> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const execution = await run();
    if (isWanted(execution)) return execution;
  }
  return undefined;
}
