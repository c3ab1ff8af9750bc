import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { ArtifactFolder, RunFolder } from './artifact-folder.ts';

const DAY_MS = 24 * 3_600_000;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'artifact-folder-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

test('S-13 a run has a folder of its own, which is created with its first file', async () => {
  const folder = new ArtifactFolder(path.join(root, 'given'));
  const [first, second] = [await folder.beginRun(), await folder.beginRun()];
  expect(await readdir(root)).toEqual([]);
  const a = await first.add('out/a.txt', Buffer.from('aé'), 10);
  const b = await first.add('b.txt', Readable.from([Buffer.from('b')]), 10);
  const c = await second.add('b.txt', Buffer.from('c'), 10);
  expect([a.size, b.size, c.size]).toEqual([3, 1, 1]);
  expect(path.dirname(path.dirname(a.path))).toBe(path.dirname(b.path));
  expect(path.dirname(c.path)).not.toBe(path.dirname(b.path));
  expect(await readFile(a.path, 'utf8')).toBe('aé');
  expect(await readFile(c.path, 'utf8')).toBe('c');
  expect((await stat(path.dirname(b.path))).mode & 0o777).toBe(0o700);
});

test('a relative directory is made absolute, so that paths stay valid', async () => {
  const folder = new ArtifactFolder(path.relative(process.cwd(), path.join(root, 'near')));
  const { path: file } = await (await folder.beginRun()).add('a', Buffer.from(''), 1);
  expect(path.dirname(path.dirname(file))).toBe(path.join(root, 'near'));
});

test.for(['../a', '/etc/a', 'a/../../b', '..', '.', '', 'a/', 'a\u0000b', './a/../../../b'])(
  'X-11 the name %j leads out of the folder or is none, and is refused',
  async (name) => {
    const run = new RunFolder(path.join(root, 'run'));
    await expect(run.add(name, Buffer.from('x'), 10)).rejects.toMatchObject({ name: 'VivariumError' });
    expect((await readdir(root, { recursive: true })).filter((entry) => entry !== 'run')).toEqual([]);
  },
);

test('X-11 a link in the folder is not followed', async () => {
  const run = new RunFolder(path.join(root, 'run'));
  await run.add('first', Buffer.from('x'), 10);
  await mkdir(path.join(root, 'outside'));
  await symlink('../outside', path.join(root, 'run', 'link'));
  await expect(run.add('link/a', Buffer.from('x'), 10)).rejects.toMatchObject({ name: 'VivariumError' });
  expect(await readdir(path.join(root, 'outside'))).toEqual([]);
});

test('a file that is longer than expected is refused and leaves nothing behind', async () => {
  const run = new RunFolder(path.join(root, 'run'));
  expect((await run.add('fits', Buffer.from('12345'), 5)).size).toBe(5);
  await expect(run.add('long', Buffer.from('123456'), 5)).rejects.toMatchObject({ name: 'VivariumError' });
  expect(await readdir(path.join(root, 'run'))).toEqual(['fits']);
});

test('without a directory, files are in the data directory, where folders of a week ago are removed', async () => {
  const before = process.env['VIVARIUM_HOME'];
  process.env['VIVARIUM_HOME'] = root;
  onTestFinished(() => {
    if (before === undefined) delete process.env['VIVARIUM_HOME'];
    else process.env['VIVARIUM_HOME'] = before;
  });
  const artifacts = path.join(root, 'tool-artifacts');
  const ages = { old: 7.01, young: 6.99, new: 0 };
  for (const [name, days] of Object.entries(ages)) {
    await mkdir(path.join(artifacts, name), { recursive: true });
    await writeFile(path.join(artifacts, name, 'file'), '');
    const time = new Date(Date.now() - days * DAY_MS);
    await utimes(path.join(artifacts, name), time, time);
  }
  const folder = new ArtifactFolder(undefined);
  const { path: file } = await (await folder.beginRun()).add('a', Buffer.from('x'), 1);
  expect(file.startsWith(`${artifacts}${path.sep}`)).toBe(true);
  expect((await readdir(artifacts)).filter((name) => name in ages)).toEqual(['new', 'young']);
});
