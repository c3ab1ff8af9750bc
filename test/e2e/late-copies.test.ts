/** Large files are copied after the answer, and their copies hold what the files held at the end of their run. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host, type ProducedFile, type Session } from '../../src/index.ts';
import { longestDelay } from '../support/faults/event-loop.ts';
import { noSmallDisk, SmallDisk } from '../support/faults/small-disk.ts';

const MEBIBYTE = 2 ** 20;
const SIZE = 24 * MEBIBYTE;

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0, limits: { rollbackMb: 0 } });
});
afterAll(() => host.close());

function dataDirectory(): string {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'late-copies-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

function startOn(dataDir: string): Promise<Host> {
  return createHost({ preload: [], poolSize: 0, dataDir, limits: { rollbackMb: 0 } });
}

/** Python that writes one letter over and over into a file, in place if it exists. */
function write(letter: string, file = 'large', bytes = SIZE): string {
  return `open("${file}", "r+b" if __import__("os").path.exists("${file}") else "wb").write(b"${letter}" * ${bytes});`;
}

function hashOf(letter: string, bytes = SIZE): string {
  return createHash('sha256').update(letter.repeat(bytes)).digest('hex');
}

async function writeLarge(session: Session, letter: string): Promise<ProducedFile> {
  const { files } = await session.runCode(write(letter));
  expect(files).toHaveLength(1);
  return files[0] as ProducedFile;
}

async function hashOfCopy({ id = '' }: ProducedFile, where = host): Promise<string> {
  const content = await buffer(await where.artifacts.open(id));
  return createHash('sha256').update(content).digest('hex');
}

test('small files are copied before the answer, and a large one has its id at once and its hash later', async () => {
  await using session = await host.createSession();
  const { files } = await session.runCode(`${write('s', 'small', 1000)} ${write('l')}`);
  const [large, small] = files;
  expect(small).toMatchObject({ path: 'small', sha256: hashOf('s', 1000), id: expect.any(String) as string });
  expect(large).toMatchObject({ path: 'large', sizeBytes: SIZE, change: 'created', id: expect.any(String) as string });
  expect(large).not.toHaveProperty('sha256');
  expect(large).not.toHaveProperty('notKept');
  const listed = await host.artifacts.list({ sessionId: session.id });
  expect(listed.map(({ name }) => name).toSorted()).toEqual(['large', 'small']);
  expect(await host.artifacts.get(large?.id ?? '')).toMatchObject({
    id: large?.id,
    sizeBytes: SIZE,
    sha256: hashOf('l'),
  });
});

test('many files of a few megabytes do not hold up the answer together', async () => {
  await using session = await host.createSession();
  const code = Array.from({ length: 6 }, (_, n) => write('x', `file-${n}`, 2 * MEBIBYTE)).join('\n');
  const { files } = await session.runCode(code);
  expect(files.map(({ sha256 }) => sha256 !== undefined)).toEqual([true, true, false, false, false, false]);
  for (const { id = '' } of files) expect((await host.artifacts.get(id)).sha256).toBe(hashOf('x', 2 * MEBIBYTE));
});

test.for<[string, (session: Session, code: string) => Promise<unknown>]>([
  ['a run', (session, code) => session.runCode(code)],
  ['a stream', (session, code) => Array.fromAsync(session.stream(code))],
  ['init code after a reset', (session) => session.reset()],
])('%s begins when the copies are made, so it cannot change them', async ([, act]) => {
  // Changes the end of the file, which is copied last.
  const spoil =
    'import os\nif os.path.exists("large"):\n  with open("large", "r+b") as f: f.seek(-1, 2); f.write(b"!")';
  await using session = await host.createSession({ initCode: spoil });
  const file = await writeLarge(session, 'a');
  await act(session, spoil);
  expect(await hashOfCopy(file)).toBe(hashOf('a'));
});

test.for<[string, (session: Session) => Promise<unknown>]>([
  ['removing the file', (session) => session.files.remove('large')],
  ['uploading another', (session) => session.files.upload('large', 'small now')],
  ['setting a variable', (session) => session.setVariables({ x: 1 })],
  ['a reset', (session) => session.reset()],
  ['closing the session', (session) => session.close()],
])('%s right after the answer does not touch the copy', async ([, act]) => {
  await using session = await host.createSession();
  const file = await writeLarge(session, 'k');
  await act(session);
  expect(await hashOfCopy(file)).toBe(hashOf('k'));
});

test('closing the host waits for copies, also for those of a run without a session', async () => {
  const dataDir = dataDirectory();
  await using first = await startOn(dataDir);
  const session = await first.createSession();
  const file = await writeLarge(session, 'h');
  const once = await first.runOnce(write('o'));
  await first.close();
  await using next = await startOn(dataDir);
  expect(await hashOfCopy(file, next)).toBe(hashOf('h'));
  expect(await hashOfCopy(once.files[0] as ProducedFile, next)).toBe(hashOf('o'));
});

test('to another client, an artifact that is still being copied does not exist', async () => {
  await using session = await host.createSession({ clientId: 'me' });
  const { id = '' } = await writeLarge(session, 'm');
  await expect(host.artifacts.get(id, { clientId: 'them' })).rejects.toMatchObject({ code: 'ARTIFACT_NOT_FOUND' });
  expect(await host.artifacts.get(id, { clientId: 'me' })).toMatchObject({ sha256: hashOf('m') });
});

test.skipIf(noSmallDisk !== null)(
  'a copy that cannot be made is told to all who ask, and by the next run',
  async () => {
    const dataDir = dataDirectory();
    using _ = new SmallDisk(16, path.join(dataDir, 'artifacts'));
    await using full = await startOn(dataDir);
    await using session = await full.createSession();
    const file = await writeLarge(session, 'x');
    expect(file.id).toBeDefined();
    const failure = { code: 'STORAGE_FAILED', message: expect.stringMatching(/"large".*no space left/) as string };
    await expect(full.artifacts.get(file.id ?? '')).rejects.toMatchObject(failure);
    await expect(full.artifacts.open(file.id ?? '')).rejects.toMatchObject(failure);
    expect(await full.artifacts.list({ sessionId: session.id })).toEqual([]);
    await session.setVariables({ x: 1 }); // nobody sees the receipt of this run
    const events = session.stream('print(1)');
    await events.next();
    await events.return(); // nor of this one, which is left early
    const next = await session.runCode('1 + 1');
    expect(next.state).toMatchObject({
      status: 'preserved',
      reason: expect.stringMatching(/"large".*no space/) as string,
    });
    expect((await session.runCode('1 + 1')).state).not.toHaveProperty('reason');
  },
);

test('while a large file is copied, timers are on time', async () => {
  await using session = await host.createSession();
  const file = await writeLarge(session, 't');
  expect(await longestDelay(() => host.artifacts.get(file.id ?? ''))).toBeLessThan(50);
});
