import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../../../artifact/store.ts';
import { parseConfig, type Limits } from '../../../config.ts';
import { DirectoryWorkspace } from '../../../workspace/directory-workspace.ts';
import type { Listing, ListOptions } from '../../../workspace/workspace.ts';
import { HostedFiles } from './files.ts';

const MEBIBYTE = 2 ** 20;

test('an upload tells its facts and can be downloaded, listed and removed', async () => {
  const { files } = await scratch();
  expect(await files.upload('data/table.csv', 'a,b\n')).toEqual({
    path: 'data/table.csv',
    sizeBytes: 4,
    mime: 'text/csv',
  });
  expect(await text(await files.download('data/table.csv'))).toBe('a,b\n');
  expect((await files.list()).files).toEqual([
    { path: 'data/table.csv', sizeBytes: 4, mime: 'text/csv', modifiedAt: expect.any(Date) as unknown },
  ]);
  await files.remove('data/table.csv');
  expect((await files.list()).files).toEqual([]);
  await expect(files.download('data/table.csv')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  await expect(files.remove('data/table.csv')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
});

test('a listing is sorted by path, has the time of the change, and says what it leaves out', async () => {
  const { files, inside } = await scratch();
  const before = Date.now() - 1000;
  for (const name of ['b', 'a/z', 'a/b', 'B', 'é']) await files.upload(name, 'x');
  symlinkSync('/etc/passwd', inside('link'));
  const listing = await files.list();
  expect(listing.files.map(({ path: name }) => name)).toEqual(['B', 'a/b', 'a/z', 'b', 'é']);
  for (const { modifiedAt } of listing.files) expect(modifiedAt.getTime()).toBeGreaterThan(before);
  expect(listing).toMatchObject({ skipped: [{ path: 'link', reason: 'symlink' }], skippedCount: 1, cut: null });
  expect(listing).not.toHaveProperty('allocatedBytes');
});

test.for(['', '/etc/passwd', '../up', 'a/../b', 'a//b', 'a/', '.', 'a\nb', 'x'.repeat(300)])(
  'the path %j is refused for every operation',
  async (name) => {
    const { files } = await scratch();
    const refusal = { code: 'FILE_REFUSED' };
    await expect(files.upload(name, 'x')).rejects.toMatchObject(refusal);
    await expect(files.download(name)).rejects.toMatchObject(refusal);
    await expect(files.remove(name)).rejects.toMatchObject(refusal);
  },
);

test('a file may be exactly as large as `fileMb`, and not a byte larger', async () => {
  const { files, inside } = await scratch({ fileMb: 1 });
  await files.upload('fits', Buffer.alloc(MEBIBYTE));
  await expect(files.upload('large', Buffer.alloc(MEBIBYTE + 1))).rejects.toMatchObject({
    code: 'FILE_TOO_LARGE',
    message: '"large" is larger than the 1048576 bytes that a file may have.',
  });
  expect(readdirSync(inside('.'))).toEqual(['fits']);
});

test('an upload has to fit beside what is there, even if it replaces it', async () => {
  const { files } = await scratch({ fileMb: 4, workspaceMb: 2 });
  await files.upload('first', Buffer.alloc(MEBIBYTE));
  await files.upload('second', Buffer.alloc(MEBIBYTE - 8192));
  await expect(files.upload('first', Buffer.alloc(MEBIBYTE))).rejects.toMatchObject({
    code: 'FILE_TOO_LARGE',
    message: expect.stringMatching(
      /^"first" is larger than the \d+ bytes that are left of the 2097152 of the workspace \(`limits.workspaceMb`\)\.$/,
    ) as unknown,
  });
});

test('a full workspace has room for nothing, also when it holds more than it may', async () => {
  const { files, inside } = await scratch({ workspaceMb: 1 });
  writeFileSync(inside('large'), Buffer.alloc(2 * MEBIBYTE));
  await expect(files.upload('more', 'x')).rejects.toThrow('"more" is larger than the 0 bytes that are left');
  await files.upload('empty', '');
  rmSync(inside('large'));
  expect((await files.upload('more', 'x')).sizeBytes).toBe(1);
});

test('an upload that fails on its way leaves what was there before', async () => {
  const { files, inside } = await scratch();
  await files.upload('kept', 'before');
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('after');
    await Promise.resolve();
    throw new Error('the connection broke');
  }
  await expect(files.upload('kept', broken())).rejects.toThrow('the connection broke');
  expect(readFileSync(inside('kept'), 'utf8')).toBe('before');
  expect(readdirSync(inside('.'))).toEqual(['kept']);
});

test('an upload that is aborted between two chunks leaves nothing', async () => {
  const { files, inside } = await scratch();
  const controller = new AbortController();
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('first');
    controller.abort(new Error('changed my mind'));
    yield await Promise.resolve(Buffer.from('second'));
  }
  await expect(files.upload('never', chunks(), { signal: controller.signal })).rejects.toThrow('changed my mind');
  expect(readdirSync(inside('.'))).toEqual([]);
});

test('uploads of one path at once leave one of them whole', async () => {
  const { files, inside } = await scratch();
  const contents = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000));
  await Promise.all(contents.map((content) => files.upload('same', content)));
  expect(contents).toContain(readFileSync(inside('same'), 'utf8'));
  expect(readdirSync(inside('.'))).toEqual(['same']);
});

test('a download shows the file that was opened, whatever is uploaded meanwhile', async () => {
  const { files } = await scratch();
  await files.upload('file', 'old'.repeat(100_000));
  const stream = await files.download('file');
  await files.upload('file', 'new');
  expect(await text(stream)).toBe('old'.repeat(100_000));
  expect(await text(await files.download('file'))).toBe('new');
});

test('what a run wrote is told once, and what was uploaded is not told at all', async () => {
  const { files, inside } = await scratch();
  writeFileSync(inside('before'), 'x');
  await files.beginRun();
  writeFileSync(inside('made.csv'), 'a,b\n');
  await files.upload('uploaded', 'x');
  const produced = await files.collect('e1');
  expect(produced).toEqual([
    {
      path: 'made.csv',
      sizeBytes: 4,
      mime: 'text/csv',
      change: 'created',
      id: expect.any(String) as unknown,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    },
  ]);
  expect(await files.collect('e2')).toEqual([]);
});

test('an uploaded file that code then changes is told as changed', async () => {
  const { files, inside } = await scratch();
  await files.beginRun();
  await files.upload('input', 'before');
  writeFileSync(inside('input'), 'by the program');
  expect(await files.collect('e')).toMatchObject([{ path: 'input', change: 'changed' }]);
});

test('what is uploaded while the files are being listed is not told as written by the run', async () => {
  const { files, inside, workspace } = await scratch();
  await files.beginRun();
  writeFileSync(inside('made'), 'x');
  const listed = workspace.pauseAfterListing();
  const collecting = files.collect('e');
  const goOn = await listed;
  await files.upload('meanwhile', 'x');
  goOn();
  expect((await collecting).map(({ path: name }) => name)).toEqual(['made']);
  expect(await files.collect('e')).toEqual([]);
});

test('in a workspace that began empty, everything that is found is new', async () => {
  const { files, inside } = await scratch({}, { startedEmpty: true });
  writeFileSync(inside('by the first run'), 'x');
  await files.beginRun();
  expect(await files.collect('e')).toMatchObject([{ path: 'by the first run', change: 'created' }]);
});

test('a run that was not begun tells nothing', async () => {
  const { files, inside } = await scratch();
  writeFileSync(inside('there'), 'x');
  expect(await files.collect('e')).toEqual([]);
});

test('100 files of a run are kept, the others are listed with the reason', async () => {
  const { files, inside, store } = await scratch();
  await files.beginRun();
  for (let n = 0; n < 101; n += 1) writeFileSync(inside(`file-${String(n).padStart(3, '0')}`), `${n}`);
  const produced = await files.collect('e');
  expect(produced).toHaveLength(101);
  expect(produced.at(99)).toMatchObject({ path: 'file-099', id: expect.any(String) as unknown });
  expect(produced.at(100)).toEqual({
    path: 'file-100',
    sizeBytes: 3,
    mime: 'application/octet-stream',
    change: 'created',
    notKept: 'more than 100 files',
  });
  expect(await store.list({ sessionId: 'session' })).toHaveLength(100);
});

test('a file that is taken out is an artifact and no longer in the workspace', async () => {
  const { files, inside, store } = await scratch();
  const artifact = await files.takeOut('table.csv', async (name) =>
    writeFileSync(inside(name), await Promise.resolve('a\n')),
  );
  expect(artifact).toMatchObject({ name: 'table.csv', mime: 'text/csv', sizeBytes: 2, sessionId: 'session' });
  expect(await text(await store.open(artifact.id))).toBe('a\n');
  expect(readdirSync(inside('.'))).toEqual([]);
});

test('taking out fails as its writer fails, and leaves nothing', async () => {
  const { files, inside, store } = await scratch();
  const failing = files.takeOut('table.csv', async (name) => {
    writeFileSync(inside(name), 'half of i');
    throw await Promise.resolve(new Error('no such table'));
  });
  await expect(failing).rejects.toThrow('no such table');
  const writingNothing = files.takeOut('table.csv', () => Promise.resolve());
  await expect(writingNothing).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  expect(readdirSync(inside('.'))).toEqual([]);
  expect(await store.list({ sessionId: 'session' })).toEqual([]);
});

test('a program that puts something else in the place of the export gets nothing out', async () => {
  const { files, inside } = await scratch();
  const linked = files.takeOut('t.csv', async (name) =>
    symlinkSync(await Promise.resolve('/etc/passwd'), inside(name)),
  );
  await expect(linked).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  expect(readdirSync(inside('.'))).toEqual([]);
  const full = files.takeOut('t.csv', async (name) => {
    mkdirSync(await Promise.resolve(inside(`${name}/full`)), { recursive: true });
  });
  await expect(full).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('discarding what is not there, or is full, is no error', async () => {
  const { files, inside } = await scratch();
  mkdirSync(inside('full/of'), { recursive: true });
  await files.discard('nothing');
  await files.discard('full');
  expect(readdirSync(inside('.'))).toEqual(['full']);
});

test('a workspace above its limit says so, and whether the last run made it larger', async () => {
  const { files, workspace } = await scratch({ workspaceMb: 4 });
  const measure = async (bytes: number): Promise<HostedFiles['excess']> => {
    workspace.allocatedBytes = bytes;
    await files.collect('e');
    return files.excess;
  };
  workspace.allocatedBytes = 0;
  await files.beginRun();
  expect(await measure(4 * MEBIBYTE)).toBeNull();
  const reason = 'the workspace holds 5 MB, which is more than the 4 MB that it may hold';
  expect(await measure(5 * MEBIBYTE - 10_000)).toEqual({ hasGrown: true, reason });
  expect(await measure(5 * MEBIBYTE)).toEqual({ hasGrown: false, reason }); // blocks that list blocks
  expect(await measure(5 * MEBIBYTE)).toEqual({ hasGrown: false, reason });
  expect(await measure(4 * MEBIBYTE)).toBeNull();
});

test.for<[workspaceMb: number, mostMb: number]>([
  [4, 4 + 256],
  [1000, 2000],
])(
  'with `workspaceMb: %i` code runs up to %i MB, and then no more until files are gone',
  async ([workspaceMb, mostMb]) => {
    const { files, workspace } = await scratch({ workspaceMb });
    workspace.allocatedBytes = mostMb * MEBIBYTE;
    await files.beginRun();
    workspace.allocatedBytes += 1;
    await files.collect('e');
    await expect(files.beginRun()).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringMatching(
        new RegExp(`^No code runs while the workspace holds ${mostMb + 1} MB.*${workspaceMb} MB.*files.remove`),
      ) as unknown,
    });
    workspace.allocatedBytes -= 1;
    await expect(files.beginRun()).resolves.toBeUndefined();
  },
);

/** A directory whose size on disk a test can set, and whose listing a test can hold up. */
class MeasuredWorkspace extends DirectoryWorkspace {
  allocatedBytes: number | undefined;
  #onListed: ((goOn: () => void) => void) | undefined;

  /** Resolves when the next listing has been made, to a function that lets it go on. */
  pauseAfterListing(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    this.#onListed = resolve;
    return promise;
  }

  override async list(options?: ListOptions): Promise<Listing> {
    const listing = await super.list(options);
    const onListed = this.#onListed;
    this.#onListed = undefined;
    if (onListed !== undefined) await new Promise<void>((goOn) => onListed(goOn));
    return this.allocatedBytes === undefined ? listing : { ...listing, allocatedBytes: this.allocatedBytes };
  }
}

async function scratch(
  given: Partial<Limits> = {},
  { startedEmpty = false } = {},
): Promise<{
  files: HostedFiles;
  store: ArtifactStore;
  workspace: MeasuredWorkspace;
  inside: (name: string) => string;
}> {
  const base = await mkdtemp(path.join(tmpdir(), 'files-'));
  const workspace = new MeasuredWorkspace({
    path: path.join(base, 'workspace'),
    uid: process.getuid?.() ?? 0,
    startedEmpty,
  });
  mkdirSync(workspace.path);
  const store = new ArtifactStore(path.join(base, 'artifacts'));
  onTestFinished(async () => {
    await store.close();
    await rm(base, { recursive: true, force: true });
  });
  const { limits } = parseConfig({ dataDir: base, limits: given });
  const files = new HostedFiles({ id: 'session', workspace }, store.writerFor(null), { limits });
  return { files, store, workspace, inside: (name) => path.join(workspace.path, name) };
}
