import { execFileSync, spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HeldDirectory } from './held-directory.ts';
import { walk } from './walk.ts';
import type { Listing } from './workspace.ts';

const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;
const CANARY = 'CANARY';
/** For tests with very many files. */
const IN_MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A workspace, and beside it what nobody may reach from there. */
async function scratch(
  parent = tmpdir(),
): Promise<{ workspace: string; outside: string; inside: (...names: string[]) => string }> {
  const base = await mkdtemp(path.join(parent, 'walk-'));
  // Made for what `fs.rm` cannot remove: paths that are too long for one call.
  onTestFinished(() => void execFileSync('rm', ['-rf', base]));
  const workspace = path.join(base, 'workspace');
  const outside = path.join(base, 'outside');
  mkdirSync(workspace);
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'canary.txt'), CANARY);
  return { workspace, outside, inside: (...names) => path.join(workspace, ...names) };
}

function paths({ files }: Listing): string[] {
  return files.map((file) => file.path).toSorted();
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

test('files are listed with their paths and sizes, directories are not', async () => {
  const { workspace, inside } = await scratch();
  mkdirSync(inside('a', 'b'), { recursive: true });
  writeFileSync(inside('top.txt'), '1');
  writeFileSync(inside('a', 'b', 'deep.txt'), '12345');
  const listing = await walk(workspace);
  expect(listing).toMatchObject({ skippedCount: 0, cut: null });
  expect(new Map(listing.files.map((file) => [file.path, file.sizeBytes]))).toEqual(
    new Map([
      ['a/b/deep.txt', 5],
      ['top.txt', 1],
    ]),
  );
});

test.each([
  ['a link to a file outside', '../outside/canary.txt'],
  ['a link to a directory outside', '../outside'],
  ['a link to the shadow file', '/etc/shadow'],
  ['a link to the root', '/'],
  ['a link to the workspace itself', '.'],
  ['a link to itself', 'entry'],
  ['a link to nothing', 'nowhere'],
  ['a link to our own descriptors', '/proc/self/fd'],
  ['a link to a device', '/dev/zero'],
])('%s is named and not followed', async (_, target) => {
  const { workspace, inside } = await scratch();
  symlinkSync(target, inside('entry'));
  writeFileSync(inside('plain.txt'), '');
  const listing = await walk(workspace);
  expect(paths(listing)).toEqual(['plain.txt']);
  expect(listing.skipped).toEqual([{ path: 'entry', reason: 'symlink' }]);
});

test('a FIFO and a socket are named and not opened', async () => {
  const { workspace, inside } = await scratch();
  run('mkfifo', inside('fifo'));
  const server = createServer().listen(inside('socket'));
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { files, skipped } = await walk(workspace);
  expect(files).toEqual([]);
  expect(skipped.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'fifo', reason: 'fifo' },
    { path: 'socket', reason: 'socket' },
  ]);
});

test.runIf(IS_ROOT)('a device is named and not opened', async () => {
  const { workspace, inside } = await scratch();
  run('mknod', inside('zero'), 'c', '1', '5');
  expect(await walk(workspace)).toMatchObject({ files: [], skipped: [{ path: 'zero', reason: 'device' }] });
});

test.each([
  ['a line break', Buffer.from('a\nb'), String.raw`a\u{a}b`],
  ['a terminal sequence', Buffer.from('a\u001b[2Jb'), String.raw`a\u{1b}[2Jb`],
  ['a delete character', Buffer.from('a\u007fb'), String.raw`a\u{7f}b`],
  ['a turn of the writing direction', Buffer.from('gpj.\u202Eexe'), String.raw`gpj.\u{202e}exe`],
  ['a line separator', Buffer.from('a\u2028b'), String.raw`a\u{2028}b`],
  ['bytes that are no text', Buffer.from([0x61, 0xff, 0xfe, 0x0a]), String.raw`a\xff\xfe\x0a`],
  ['half a character', Buffer.from([0xc3]), String.raw`\xc3`],
  ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80]), String.raw`\xed\xa0\x80`],
])('a name with %s is shown escaped and left out', async (_, name, shown) => {
  const { workspace, inside } = await scratch();
  writeFileSync(Buffer.concat([Buffer.from(inside('/')), name]), 'x');
  mkdirSync(Buffer.concat([Buffer.from(inside('/')), name, Buffer.from('-directory')]));
  writeFileSync(Buffer.concat([Buffer.from(inside('/')), name, Buffer.from('-directory/file')]), 'x');
  const { files, skipped } = await walk(workspace);
  expect(files).toEqual([]);
  expect(skipped.map((skip) => skip.path).toSorted()).toEqual([shown, `${shown}-directory`].toSorted());
  expect(skipped.every(({ reason }) => reason === 'name')).toBe(true);
});

test.each([
  '..hidden',
  '...',
  '.env',
  '-rf',
  '~',
  '$HOME',
  'a b',
  '%2e%2e',
  'a\\..\\b',
  'é',
  '数据.csv',
  '👨‍👩‍👧',
  'x'.repeat(255),
])('the name %j is an ordinary one', async (name) => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside(name), 'x');
  expect(paths(await walk(workspace))).toEqual([name]);
});

test('a sparse file of a terabyte is listed with its size', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('giant'), '');
  truncateSync(inside('giant'), 2 ** 40);
  expect((await walk(workspace)).files).toMatchObject([{ path: 'giant', sizeBytes: 2 ** 40 }]);
});

test.runIf(IS_ROOT)('a hard link to a file of another user is left out, one to an own file is not', async () => {
  const { workspace, outside, inside } = await scratch();
  chownSync(workspace, NOBODY, NOBODY);
  linkSync(path.join(outside, 'canary.txt'), inside('stolen.txt'));
  writeFileSync(inside('own.txt'), 'x');
  chownSync(inside('own.txt'), NOBODY, NOBODY);
  linkSync(inside('own.txt'), inside('own-too.txt'));
  const listing = await walk(workspace);
  expect(paths(listing)).toEqual(['own-too.txt', 'own.txt']);
  expect(listing.skipped).toEqual([{ path: 'stolen.txt', reason: 'hard-link' }]);
});

test('a directory and a file without permissions do not end the walk', async () => {
  const { workspace, inside } = await scratch();
  mkdirSync(inside('closed'));
  writeFileSync(inside('closed', 'hidden.txt'), 'x');
  writeFileSync(inside('locked.txt'), 'x');
  chmodSync(inside('locked.txt'), 0);
  chmodSync(inside('closed'), 0);
  const listing = await walk(workspace);
  chmodSync(inside('closed'), 0o700); // so that it can be removed
  expect(paths(listing)).toEqual(IS_ROOT ? ['closed/hidden.txt', 'locked.txt'] : ['locked.txt']);
  expect(listing.skipped).toEqual(IS_ROOT ? [] : [{ path: 'closed', reason: 'unreadable' }]);
});

test.runIf(IS_ROOT)('to a host without privileges a directory without permissions is unreadable', async () => {
  const { workspace, inside } = await scratch();
  mkdirSync(inside('closed'));
  writeFileSync(inside('open.txt'), 'x');
  for (const name of [path.dirname(workspace), workspace, inside('closed'), inside('open.txt')]) {
    chownSync(name, NOBODY, NOBODY);
  }
  chmodSync(inside('closed'), 0);
  const walked = walkElsewhere(workspace, {
    setUp: `process.setgid(${NOBODY}); process.setuid(${NOBODY});`,
    command: [process.execPath],
  });
  expect(walked).toEqual({ names: ['open.txt'], skipped: [{ path: 'closed', reason: 'unreadable' }] });
});

const IN_NEW_MOUNTS = ['unshare', '-m'] as const;
const CAN_MOUNT =
  IS_ROOT &&
  spawnSync(IN_NEW_MOUNTS[0], [...IN_NEW_MOUNTS.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

test.runIf(CAN_MOUNT)('another file system in a directory is not entered', async () => {
  const { workspace, inside } = await scratch();
  mkdirSync(inside('mounted'));
  writeFileSync(inside('file.txt'), 'x');
  const walked = walkElsewhere(workspace, {
    setUp: `const { execFileSync } = await import('node:child_process');
      execFileSync('mount', ['-t', 'tmpfs', 'none', ${JSON.stringify(inside('mounted'))}]);`,
    command: [...IN_NEW_MOUNTS, process.execPath],
  });
  expect(walked).toEqual({ names: ['file.txt'], skipped: [{ path: 'mounted', reason: 'mount' }] });
});

/** Walks in a process of its own, which may be another user or see other file systems. */
function walkElsewhere(
  workspace: string,
  { setUp, command }: { setUp: string; command: [string, ...string[]] },
): unknown {
  const source = `const { walk } = await import(${JSON.stringify(new URL('walk.ts', import.meta.url).href)});
    ${setUp}
    const { files, skipped } = await walk(${JSON.stringify(workspace)});
    console.log(JSON.stringify({ names: files.map((file) => file.path), skipped }));`;
  const [program, ...args] = command;
  return JSON.parse(spawnSync(program, [...args, '--input-type=module', '-e', source], { encoding: 'utf8' }).stdout);
}

test('a tree of 2,000 levels is walked to the depth that is allowed, with few descriptors', async () => {
  const { workspace } = await scratch(IN_MEMORY);
  await dig(workspace, 2000);
  const shallow = await walk(workspace);
  expect(shallow.files).toEqual([]);
  expect(shallow.skipped).toMatchObject([{ reason: 'depth' }]);
  const before = openDescriptors();
  const deep = await walk(workspace, { caps: { maxDepth: 3000 } });
  expect(deep).toMatchObject({ skippedCount: 0, cut: null });
  expect(deep.files.map((file) => file.path.split('/').length)).toEqual([2001]);
  expect(openDescriptors()).toBe(before);
});

test('100,000 files are listed without keeping others from their turn', async () => {
  const { workspace, inside } = await scratch(IN_MEMORY);
  for (let shard = 0; shard < 10; shard += 1) {
    mkdirSync(inside(`d${shard}`));
    for (let file = 0; file < 10_000; file += 1) writeFileSync(inside(`d${shard}`, `f${file}`), '');
  }
  const lag = watchLag();
  const all = await walk(workspace, { caps: { maxEntries: 200_000, maxMs: 60_000 } });
  expect(lag()).toBeLessThan(500);
  expect(all).toMatchObject({ skippedCount: 0, cut: null });
  expect(all.files).toHaveLength(100_000);
  const some = await walk(workspace, { caps: { maxEntries: 5000, maxMs: 60_000 } });
  expect(some.cut).toBe('entries');
  expect(some.files.length).toBeLessThanOrEqual(5000);
  expect(await walk(workspace, { caps: { maxMs: 5 } })).toMatchObject({ cut: 'time' });
  const controller = new AbortController();
  setImmediate(() => controller.abort(new Error('enough')));
  await expect(walk(workspace, { signal: controller.signal })).rejects.toThrow('enough');
});

test('of a flood of links the first are named, all are counted', async () => {
  const { workspace, inside } = await scratch(IN_MEMORY);
  for (let index = 0; index < 500; index += 1) symlinkSync('/etc/passwd', inside(`link${index}`));
  const { files, skipped, skippedCount } = await walk(workspace);
  expect(files).toEqual([]);
  expect(skipped).toHaveLength(100);
  expect(skippedCount).toBe(500);
});

test('a workspace that is gone, or a link in its place, is an error', async () => {
  const { workspace, outside } = await scratch();
  renameSync(workspace, `${workspace}.old`);
  await expect(walk(workspace)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  symlinkSync(outside, workspace);
  await expect(walk(workspace)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
});

test('a draft of an upload is not listed', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('.upload-0123456789abcdef'), 'x');
  expect(await walk(workspace)).toMatchObject({ files: [], skippedCount: 0 });
});

test('a directory that is swapped 2,000 times and more for a link never leads outside', async () => {
  const { workspace, outside, inside } = await scratch();
  mkdirSync(inside('d'));
  writeFileSync(inside('d', 'inside.txt'), 'x');
  symlinkSync(outside, inside('link'));
  const before = openDescriptors();
  const swapper = spawnProgram(`
    import { renameSync } from 'node:fs';
    process.chdir(${JSON.stringify(workspace)});
    for (let round = 0; ; round += 1) {
      renameSync('d', 'real'); renameSync('link', 'd');
      renameSync('d', 'link'); renameSync('real', 'd');
      if (round === 2000) process.send('enough');
    }`);
  const seen = new Set<string>();
  const progress = { isEnough: false };
  void swapper.message.then(() => (progress.isEnough = true));
  while (!progress.isEnough || !seen.has('d/inside.txt') || !seen.has('symlink d')) {
    const listing = await walk(workspace);
    for (const name of paths(listing)) seen.add(name);
    for (const { path: name, reason } of listing.skipped) seen.add(`${reason} ${name}`);
    await new Promise(setImmediate);
  }
  expect([...seen].filter((name) => name.includes('canary'))).toEqual([]);
  swapper.child.kill('SIGKILL');
  await once(swapper.child, 'close');
  expect(openDescriptors()).toBeLessThanOrEqual(before);
});

test('files that come and go meanwhile do not end the walk', async () => {
  const { workspace } = await scratch(IN_MEMORY);
  const churner = spawnProgram(`
    import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
    process.chdir(${JSON.stringify(workspace)});
    for (let round = 0; round < 300; round += 1) {
      mkdirSync('x/y/z', { recursive: true });
      for (let file = 0; file < 10; file += 1) writeFileSync('x/y/z/' + file, '');
      rmSync('x', { recursive: true });
    }`);
  while (churner.child.exitCode === null) {
    const { skippedCount, cut } = await walk(workspace);
    expect({ skippedCount, cut }).toEqual({ skippedCount: 0, cut: null });
    await new Promise(setImmediate);
  }
  expect(churner.child.exitCode).toBe(0);
});

function run(command: string, ...args: string[]): void {
  execFileSync(command, args);
}

/** Makes a chain of directories, with a file at its end, by steps: its whole path is too long for one call. */
async function dig(workspace: string, levels: number): Promise<void> {
  let directory = HeldDirectory.open(workspace);
  for (let level = 0; level < levels; level += 1) {
    using left = directory;
    left.makeDirectory('d');
    directory = left.child('d');
  }
  using last = directory;
  await using file = await last.createFile('bottom.txt');
  expect(file.fd).toBeGreaterThan(0);
}

function spawnProgram(source: string): { child: ChildProcess; message: Promise<unknown> } {
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit', 'ipc'];
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, message: new Promise((resolve) => child.once('message', resolve)) };
}

/** Longest time, in ms, between two turns of the event loop until it is asked. */
function watchLag(): () => number {
  let last = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    look();
    return longest;
  };
}
