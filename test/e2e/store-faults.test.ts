/** When copies of what a run produced cannot be kept, its answer comes all the same and says so. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultDataDir } from '../../src/data-dir.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import { createHost, type Execution, type Host } from '../../src/index.ts';
import { exhaustDescriptors } from '../support/faults/descriptors.ts';
import { longestDelay } from '../support/faults/event-loop.ts';
import { lockDatabase } from '../support/faults/locked-database.ts';
import { noSmallDisk, SmallDisk } from '../support/faults/small-disk.ts';

/** Produces one of everything that is kept: a file, a figure and a long output. */
const PRODUCES = `
from IPython.display import Image, display
import base64
n = globals().get("n", 0) + 1
open(f"file-{n}.bin", "wb").write(bytes(1_000_000))
display(Image(data=base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")))
print("x" * 300_000)
`;
/** The one with pandas. */
const { python = 'python3' } = (await findEnvironment(defaultDataDir(process.env))) ?? {};
const FAILED = { code: 'STORAGE_FAILED' };

interface Faulty {
  readonly host: Host;
  /** The directory of the artifact store. */
  readonly store: string;
}

async function start(prepare?: (dataDir: string) => void): Promise<Faulty> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'store-faults-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  prepare?.(dataDir);
  const host = await createHost({ preload: [], poolSize: 0, dataDir, python });
  onTestFinished(() => host.close());
  return { host, store: path.join(dataDir, 'artifacts') };
}

/** The run had its effect, and of everything that it produced the answer says why there is no copy. */
function expectNothingKept({ outcome, files, figures, spills, logs }: Execution, reason: RegExp): void {
  expect(outcome.status).toBe('succeeded');
  expect(logs.stdout.length).toBeGreaterThan(1000);
  expect(files).toHaveLength(1);
  expect(figures).toHaveLength(1);
  for (const produced of [...files, ...figures, spills?.stdout ?? {}]) {
    expect(produced).not.toHaveProperty('id');
    expect(produced).toHaveProperty('notKept', expect.stringMatching(reason));
  }
}

function expectAllKept({ files, figures, spills }: Execution): void {
  expect([...files, ...figures, spills?.stdout]).toHaveLength(3);
  for (const produced of [...files, ...figures, spills?.stdout]) {
    expect(produced).not.toHaveProperty('notKept');
    expect(produced?.id).toBeDefined();
  }
}

describe.skipIf(noSmallDisk !== null)(`with a disk of its own (${noSmallDisk ?? 'as root'})`, () => {
  test('a full disk costs the copies and not the answer, and later copies are kept again', async () => {
    const disk: SmallDisk[] = [];
    const { host } = await start((dataDir) => disk.push(new SmallDisk(8, path.join(dataDir, 'artifacts'))));
    const [small] = disk;
    onTestFinished(() => small?.[Symbol.dispose]());
    await using session = await host.createSession();
    expectAllKept(await session.runCode(PRODUCES));
    small?.fill();
    expectNothingKept(await session.runCode(PRODUCES), /no space left|disk is full|no room/i);
    await session.runCode('import pandas as pd\ntable = pd.DataFrame({"a": range(100_000)})');
    await expect(session.exportTable('table')).rejects.toMatchObject(FAILED);
    small?.free();
    const after = await session.runCode(`${PRODUCES}\nn`);
    expectAllKept(after);
    expect(after.results.at(-1)?.data['text/plain']).toBe('3');
    expect(after.files.map(({ path: name }) => name)).toEqual(['file-3.bin']);
    await expect(session.exportTable('table')).resolves.toMatchObject({ name: 'table.csv' });
  });

  test('a disk that is read-only for a while costs the copies and not the answer', async () => {
    const disk: SmallDisk[] = [];
    const { host } = await start((dataDir) => {
      disk.push(new SmallDisk(8, path.join(dataDir, 'artifacts')));
      disk[0]?.setReadOnly(true);
    });
    onTestFinished(() => disk[0]?.[Symbol.dispose]());
    await using session = await host.createSession();
    expectNothingKept(await session.runCode(PRODUCES), /read-only|not be written|not be opened/);
    disk[0]?.setReadOnly(false);
    const after = await session.runCode(PRODUCES);
    expect(after.outcome.status).toBe('succeeded');
    expectAllKept(after);
  });

  test('a disk that fills up while a long output is printed does not stop the program', async () => {
    const disk: SmallDisk[] = [];
    const { host } = await start((dataDir) => disk.push(new SmallDisk(4, path.join(dataDir, 'artifacts'))));
    onTestFinished(() => disk[0]?.[Symbol.dispose]());
    await using session = await host.createSession();
    const { outcome, spills } = await session.runCode('for _ in range(80): print("x" * 100_000)\ndone = True');
    expect(outcome.status).toBe('succeeded');
    expect(spills?.stdout).toMatchObject({ sizeBytes: 80 * 100_001, notKept: expect.any(String) as string });
    expect((await session.runCode('done')).results[0]?.data['text/plain']).toBe('True');
  });
});

test('without descriptors a run has its answer, which says what is not known or kept', async () => {
  const { host } = await start();
  await using session = await host.createSession();
  expectAllKept(await session.runCode(PRODUCES));
  const taken = exhaustDescriptors();
  const during = await session.runCode(PRODUCES).finally(() => taken[Symbol.dispose]());
  expect(during.outcome.status).toBe('succeeded');
  expect(during.state.reason).toMatch(/files .* could not be listed.*EMFILE/);
  expect(during.figures[0]?.notKept).toMatch(/EMFILE/);
  expect(during.spills?.stdout?.notKept).toMatch(/EMFILE/);
  const after = await session.runCode(`${PRODUCES}\nn`);
  expect(after.results.at(-1)?.data['text/plain']).toBe('3');
  expect(after.files.map(({ path: name }) => name)).toEqual(['file-2.bin', 'file-3.bin']); // both are told
});

test('explicit calls without descriptors fail with a code', async () => {
  const { host } = await start();
  await using session = await host.createSession();
  const { files } = await session.runCode(PRODUCES);
  await session.runCode('import pandas as pd\ntable = pd.DataFrame({"a": [1]})');
  const taken = exhaustDescriptors();
  onTestFinished(() => taken[Symbol.dispose]());
  await expect(host.artifacts.open(files[0]?.id ?? '')).rejects.toMatchObject(FAILED);
  await expect(session.exportTable('table')).rejects.toMatchObject(FAILED);
  await expect(session.setContext({ a: 1 })).rejects.toMatchObject(FAILED);
  await expect(session.files.list()).rejects.toMatchObject(FAILED);
  await expect(session.files.upload('a', 'a')).rejects.toMatchObject(FAILED);
  await expect(session.files.download('file-1.bin')).rejects.toMatchObject(FAILED);
  await expect(session.files.remove('file-1.bin')).rejects.toMatchObject(FAILED);
  taken[Symbol.dispose]();
  const next = await session.runCode('open("mine", "w").close()');
  expect(next.files.map(({ path: name }) => name)).toEqual(['mine']); // and not what the export left
  const names = (await session.files.list()).files.map(({ path: name }) => name);
  expect(names).toEqual(['.output/run-1.stdout.txt', 'file-1.bin', 'mine']);
});

test('a database that another process has locked neither stops the event loop nor the answers', async () => {
  const { host, store } = await start();
  await using session = await host.createSession();
  const { files } = await session.runCode(PRODUCES);
  const lock = await lockDatabase(path.join(store, 'artifacts.sqlite'));
  let during: Execution | undefined;
  try {
    const late = await longestDelay(async () => {
      during = await session.runCode(PRODUCES);
      expect((await host.artifacts.get(files[0]?.id ?? '')).name).toBe('file-1.bin');
    });
    expect(late).toBeLessThan(50);
    await expect(host.artifacts.remove(files[0]?.id ?? '')).rejects.toMatchObject(FAILED);
  } finally {
    await lock[Symbol.asyncDispose]();
  }
  expectNothingKept(during as Execution, /locked/);
  expectAllKept(await session.runCode(PRODUCES));
});

test('a host starts while another process has locked the database', async () => {
  const { host: first, store } = await start();
  await first.close();
  await using _ = await lockDatabase(path.join(store, 'artifacts.sqlite'));
  await using host = await createHost({ preload: [], poolSize: 0, dataDir: path.dirname(store), python });
  expect((await host.runOnce('6 * 7')).results[0]?.data['text/plain']).toBe('42');
});

test.for<[string, (store: string) => void]>([
  ['is removed', (store) => rmSync(store, { recursive: true })],
  ['has become a file', (store) => (rmSync(store, { recursive: true }), writeFileSync(store, ''))],
  [
    'holds a damaged database',
    (store) => {
      for (const name of ['-wal', '-shm']) rmSync(path.join(store, `artifacts.sqlite${name}`), { force: true });
      writeFileSync(path.join(store, 'artifacts.sqlite'), Buffer.alloc(8192, 'x'));
    },
  ],
])('a store that %s under a host costs no answer', async ([, damage]) => {
  const { host, store } = await start();
  await using session = await host.createSession();
  expectAllKept(await session.runCode(PRODUCES));
  damage(store);
  for (let n = 2; n < 5; n += 1) {
    const { outcome, results } = await session.runCode(`${PRODUCES}\nn`);
    expect(outcome.status).toBe('succeeded');
    expect(results.at(-1)?.data['text/plain']).toBe(String(n));
  }
});

test('a store that was removed is made again', async () => {
  const { host, store } = await start();
  await using session = await host.createSession();
  expectAllKept(await session.runCode(PRODUCES));
  rmSync(store, { recursive: true });
  await session.runCode(PRODUCES); // notices it
  const { files } = await session.runCode(PRODUCES);
  expect(await buffer(await host.artifacts.open(files[0]?.id ?? ''))).toHaveLength(1_000_000);
});
