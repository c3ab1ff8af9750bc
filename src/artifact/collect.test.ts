import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { DirectoryWorkspace } from '../workspace/directory-workspace.ts';
import { changedSince, takeInventory, type FileInventory } from './changes.ts';
import type { ProducedFile } from '../execution/execution.ts';
import { collect, type CollectCaps } from './collect.ts';
import { ArtifactStore } from './store.ts';

test('what a run wrote outlives its workspace', async () => {
  const { workspace, store, inside, collectSince } = await scratch();
  writeFileSync(inside('input.csv'), 'old');
  const before = await takeInventory(workspace);
  mkdirSync(inside('out'));
  writeFileSync(inside('out', 'table.csv'), 'a,b\n');
  const produced = await collectSince(before);
  expect(produced).toMatchObject([
    {
      path: 'out/table.csv',
      change: 'created',
      sizeBytes: 4,
      mime: 'text/csv',
      sha256: createHash('sha256').update('a,b\n').digest('hex'),
    },
  ]);
  rmSync(workspace.path, { recursive: true });
  expect(String(await buffer(await store.open(produced[0]?.id ?? '')))).toBe('a,b\n');
});

test('a sparse file of a terabyte is listed with its size and the reason why it is not kept', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  writeFileSync(inside('giant'), '');
  truncateSync(inside('giant'), 2 ** 40);
  const produced = await collectSince(before);
  expect(produced).toMatchObject([{ path: 'giant', sizeBytes: 2 ** 40, notKept: 'larger than 1000 bytes' }]);
  expect(produced[0]?.id).toBeUndefined();
});

test('caps on count and total bytes leave files listed', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  for (const name of ['a', 'b', 'c', 'd']) writeFileSync(inside(name), name.repeat(400));
  const reasons = (await collectSince(before, { maxFiles: 3 })).map(({ notKept }) => notKept);
  expect(reasons).toEqual([undefined, undefined, 'more than 1000 bytes in total', 'more than 3 files']);
});

test('what was swapped, removed or grew after it was listed is not kept, and nothing fails', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  for (const name of ['fine', 'grown', 'removed', 'swapped']) writeFileSync(inside(name), 'x');
  const produced = await collectSince(before, {}, () => {
    appendFileSync(inside('grown'), 'x'.repeat(5000));
    rmSync(inside('removed'));
    rmSync(inside('swapped'));
    symlinkSync('/etc/passwd', inside('swapped'));
  });
  expect(produced.map(({ path: name, id }) => [name, id !== undefined])).toEqual([
    ['fine', true],
    ['grown', false],
    ['removed', false],
    ['swapped', false],
  ]);
});

test('files may be exactly as large as the caps allow, one by one and together', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  writeFileSync(inside('a'), 'x'.repeat(1000));
  writeFileSync(inside('b'), 'x'.repeat(1001));
  writeFileSync(inside('c'), '');
  writeFileSync(inside('d'), 'x');
  const produced = await collectSince(before);
  expect(produced.map(({ notKept }) => notKept)).toEqual([
    undefined,
    'larger than 1000 bytes',
    undefined,
    'more than 1000 bytes in total',
  ]);
});

test('a file that is not kept does not count towards the total', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  writeFileSync(inside('a'), 'x'.repeat(5000));
  writeFileSync(inside('b'), 'x'.repeat(600));
  writeFileSync(inside('c'), 'x'.repeat(600));
  writeFileSync(inside('d'), 'x'.repeat(400));
  const kept = (await collectSince(before)).map(({ id, sizeBytes }) => (id === undefined ? undefined : sizeBytes));
  expect(kept).toEqual([undefined, 600, undefined, 400]);
});

test('a file that has shrunk by the time it is copied leaves its room to the others', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  for (const name of ['a', 'b']) writeFileSync(inside(name), name.repeat(800));
  const produced = await collectSince(before, {}, () => truncateSync(inside('a'), 200));
  expect(produced.map(({ id, sizeBytes }) => id !== undefined && sizeBytes)).toEqual([200, 800]);
});

test('the size that is told is that of the copy', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  writeFileSync(inside('shrinks'), 'x'.repeat(500));
  const [produced] = await collectSince(before, {}, () => truncateSync(inside('shrinks'), 20));
  expect(produced).toMatchObject({ sizeBytes: 20, id: expect.any(String) as string });
});

test('reasons are written for a reader, and name the file', async () => {
  const { workspace, inside, collectSince } = await scratch();
  const before = await takeInventory(workspace);
  for (const name of ['gone', 'linked', 'long']) writeFileSync(inside(name), 'x');
  const produced = await collectSince(before, {}, () => {
    rmSync(inside('gone'));
    rmSync(inside('linked'));
    symlinkSync('/etc/passwd', inside('linked'));
    appendFileSync(inside('long'), 'x'.repeat(1000));
  });
  expect(produced.map(({ notKept }) => notKept)).toEqual([
    'There is no "gone" in the workspace. List the files to see which there are.',
    '"linked" is not a regular file. Choose one that is.',
    'larger than 1000 bytes',
  ]);
});

test('no changes are no files, and an abort ends the collecting', async () => {
  const { workspace, inside, store, collectSince } = await scratch();
  expect(await collectSince(await takeInventory(workspace))).toEqual([]);
  const before = await takeInventory(workspace);
  writeFileSync(inside('file'), 'x');
  const changes = changedSince(before, await takeInventory(workspace));
  const signal = AbortSignal.abort(new Error('enough'));
  const request = { workspace, changes, caps: CAPS, sessionId: 'session', executionId: 'e', signal };
  await expect(collect(store.writerFor(null), request)).rejects.toThrow('enough');
  expect(await store.list({ sessionId: 'session' })).toEqual([]);
});

const CAPS: CollectCaps = { maxFileBytes: 1000, maxTotalBytes: 1000, maxFiles: 10, maxBytesAtOnce: 500 };

async function scratch(): Promise<{
  workspace: DirectoryWorkspace;
  store: ArtifactStore;
  inside: (...names: string[]) => string;
  collectSince: (
    before: FileInventory,
    caps?: Partial<CollectCaps>,
    meddle?: () => void,
  ) => Promise<readonly ProducedFile[]>;
}> {
  const base = await mkdtemp(path.join(tmpdir(), 'collect-'));
  const workspace = new DirectoryWorkspace({ path: path.join(base, 'workspace'), uid: process.getuid?.() ?? 0 });
  mkdirSync(workspace.path);
  const store = new ArtifactStore(path.join(base, 'artifacts'));
  onTestFinished(async () => {
    await store.close();
    await rm(base, { recursive: true, force: true });
  });
  return {
    workspace,
    store,
    inside: (...names) => path.join(workspace.path, ...names),
    collectSince: async (before, caps, meddle) => {
      const changes = changedSince(before, await takeInventory(workspace));
      meddle?.();
      const request = { workspace, changes, caps: { ...CAPS, ...caps } };
      const run = { sessionId: 'session', executionId: 'execution' };
      return (await collect(store.writerFor(null), { ...request, ...run })).files;
    },
  };
}
