import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { VivariumError } from '../errors.ts';
import { DirectoryWorkspace } from './directory-workspace.ts';
import type { FileSource } from './workspace.ts';

const UID = process.getuid?.() ?? 0;
const IS_ROOT = UID === 0;
const NOBODY = 65_534;
/** The interpreter itself: `python3` can be a script that starts it, and signals would reach only that. */
const asked = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
const PYTHON = asked.status === 0 ? asked.stdout.trim() : '';

const REFUSED_PATHS = [
  '',
  '.',
  '..',
  '/',
  '/etc/passwd',
  '../outside/canary.txt',
  'a/../../outside/canary.txt',
  'a/..',
  './a',
  'a//b',
  'a/',
  'nul\0byte',
  'line\nbreak',
  'bell\u0007',
  'turn\u202Eed',
  'half\ud800',
  'x'.repeat(256),
];

test.each(REFUSED_PATHS)('the path %j is refused by every door', async (name) => {
  const { workspace, put } = await scratch();
  const refusal = { code: 'FILE_REFUSED' };
  await expect(put(name, 'x')).rejects.toMatchObject(refusal);
  await expect(workspace.open(name)).rejects.toMatchObject(refusal);
  await expect(workspace.remove(name)).rejects.toMatchObject(refusal);
});

test('a directory with another one in its place, or a link on the way to it, is not used', async () => {
  const { inside } = await scratch();
  const at = inside('on/way');
  mkdirSync(at, { recursive: true });
  const workspace = new DirectoryWorkspace({ path: at, uid: UID, identity: statSync(at, { bigint: true }) });
  await workspace.write('file', Buffer.from('x'));
  mkdirSync(inside('other/way'), { recursive: true });
  renameSync(inside('on'), inside('away'));
  symlinkSync('other', inside('on'));
  await expect(workspace.write('file', Buffer.from('x'))).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  expect(readdirSync(inside('other/way'))).toEqual([]);
});

test('a file comes back as it was put', async () => {
  const { workspace, inside, put, get } = await scratch();
  const content = new Uint8Array(200_000).map((_, index) => index % 251);
  expect(await put('data/raw/table.csv', content)).toBe(200_000);
  expect(await get('data/raw/table.csv')).toEqual(Buffer.from(content));
  expect(statSync(inside('data', 'raw', 'table.csv')).mode & 0o777).toBe(0o644);
  expect(await put('empty', '')).toBe(0);
  expect(await get('empty')).toHaveLength(0);
  await put('data/raw/table.csv', 'short');
  expect(String(await get('data/raw/table.csv'))).toBe('short');
  expect(readdirSync(workspace.path).toSorted()).toEqual(['data', 'empty']);
});

test('files are listed with their size, links with the reason why they are left out', async () => {
  const { workspace, inside, put } = await scratch();
  await put('b/plot.png', 'xx');
  await put('a.unknown', 'x');
  symlinkSync('/etc/shadow', inside('link'));
  const { files, ...rest } = await workspace.list();
  expect(new Map(files.map((file) => [file.path, file.sizeBytes]))).toEqual(
    new Map([
      ['a.unknown', 1],
      ['b/plot.png', 2],
    ]),
  );
  expect(rest).toEqual({
    skipped: [{ path: 'link', reason: 'symlink' }],
    skippedCount: 1,
    cut: null,
    allocatedBytes: expect.any(Number) as number,
  });
});

test('what is not there is not found', async () => {
  const { workspace, put } = await scratch();
  await put('file', 'x');
  const missing = { code: 'FILE_NOT_FOUND' };
  await expect(workspace.open('nothing')).rejects.toMatchObject(missing);
  await expect(workspace.open('no/such/directory')).rejects.toMatchObject(missing);
  await expect(workspace.remove('nothing')).rejects.toMatchObject(missing);
  await expect(workspace.open('file/below')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('links are followed by no door, at no place of a path', async () => {
  const { workspace, outside, inside, put } = await scratch();
  symlinkSync(outside, inside('directory'));
  symlinkSync(path.join(outside, 'canary.txt'), inside('file'));
  mkdirSync(inside('real'));
  symlinkSync(outside, inside('real', 'link'));
  const refusal = { code: 'FILE_REFUSED' };
  for (const name of ['file', 'directory', 'directory/canary.txt', 'real/link/canary.txt']) {
    await expect(workspace.open(name)).rejects.toMatchObject(refusal);
  }
  for (const name of ['directory/canary.txt', 'directory/new/file', 'real/link/new']) {
    await expect(put(name, 'overwritten')).rejects.toMatchObject(refusal);
  }
  await expect(workspace.remove('directory/canary.txt')).rejects.toMatchObject(refusal);
  expect(readdirSync(outside)).toEqual(['canary.txt']);
  expect(readFileSync(path.join(outside, 'canary.txt'), 'utf8')).toBe('CANARY');
});

test('a link in the place of an uploaded file is replaced, a link that is deleted leaves its target', async () => {
  const { workspace, outside, inside, put } = await scratch();
  const canary = path.join(outside, 'canary.txt');
  symlinkSync(canary, inside('file'));
  await put('file', 'mine');
  expect(readFileSync(inside('file'), 'utf8')).toBe('mine');
  symlinkSync(canary, inside('link'));
  symlinkSync(outside, inside('directory'));
  await workspace.remove('link');
  await workspace.remove('directory');
  expect(readdirSync(workspace.path)).toEqual(['file']);
  expect(readFileSync(canary, 'utf8')).toBe('CANARY');
});

test('a file and an empty directory can be deleted, a full one cannot', async () => {
  const { workspace, put } = await scratch();
  await put('directory/file', 'x');
  await expect(workspace.remove('directory')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  await workspace.remove('directory/file');
  await workspace.remove('directory');
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('what is not a regular file is not read, and nothing waits for it', async () => {
  const { workspace, inside } = await scratch();
  run('mkfifo', inside('fifo'));
  mkdirSync(inside('directory'));
  if (IS_ROOT) run('mknod', inside('zero'), 'c', '1', '5');
  for (const name of ['fifo', 'directory', ...(IS_ROOT ? ['zero'] : [])]) {
    await expect(workspace.open(name)).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  }
});

test('an upload does not write into a FIFO, and not over a directory', async () => {
  const { inside, put } = await scratch();
  run('mkfifo', inside('fifo'));
  await put('fifo', 'x');
  expect(readFileSync(inside('fifo'), 'utf8')).toBe('x');
  mkdirSync(inside('directory'));
  await expect(put('directory', 'x')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test.runIf(PYTHON !== '')('a lease that the session holds on a file is not waited for', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('leased'), 'x');
  const program = `import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()`;
  const holder = spawn(PYTHON, ['-c', program, inside('leased')], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  const startedAt = performance.now();
  await expect(workspace.open('leased')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test.runIf(IS_ROOT)('files of others that were linked in are not read', async () => {
  const { workspace, outside, inside } = await scratch(NOBODY);
  linkSync(path.join(outside, 'canary.txt'), inside('stolen'));
  await expect(workspace.open('stolen')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test.runIf(IS_ROOT)('what is uploaded belongs to the session, also its directories', async () => {
  const { inside, put } = await scratch(NOBODY);
  await put('made/too/file', 'x');
  for (const names of [['made'], ['made', 'too'], ['made', 'too', 'file']]) {
    expect(statSync(inside(...names))).toMatchObject({ uid: NOBODY, gid: NOBODY });
  }
});

test.runIf(!IS_ROOT)('a file without permissions is refused', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('locked'), 'x');
  chmodSync(inside('locked'), 0);
  await expect(workspace.open('locked')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('a file that grows is read to the size that it had, one that shrinks is an error', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('growing'), 'x'.repeat(300_000));
  await using growing = await workspace.open('growing');
  appendFileSync(inside('growing'), 'y'.repeat(300_000));
  const read = await buffer(growing.stream());
  expect([read.length, read.includes('y')]).toEqual([300_000, false]);
  const shrinking = await workspace.open('growing');
  truncateSync(inside('growing'), 100_000);
  await expect(buffer(shrinking.stream())).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('a stream that is given up closes its file', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('file'), 'x'.repeat(1_000_000));
  const stream = (await workspace.open('file')).stream();
  await once(stream, 'readable');
  stream.destroy();
  await once(stream, 'close');
  const links = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
  expect(links.filter((link) => existsSync(link) && statSync(link).ino === statSync(inside('file')).ino)).toEqual([]);
});

test.each([
  ['a source that is too large', { code: 'FILE_TOO_LARGE' }, endless()],
  ['a text that is too large', { code: 'FILE_TOO_LARGE' }, 'x'.repeat(1001)],
  ['a source that fails', { message: 'broken' }, failing()],
])('%s leaves the old file and nothing else', async (_, error, source) => {
  const { workspace, inside, put } = await scratch();
  await put('file', 'old');
  await expect(workspace.write('file', source, { maxBytes: 1000 })).rejects.toMatchObject(error);
  expect(readdirSync(workspace.path)).toEqual(['file']);
  expect(readFileSync(inside('file'), 'utf8')).toBe('old');
});

test('an upload ends with its signal', async () => {
  const { workspace } = await scratch();
  const options = { signal: AbortSignal.timeout(50) };
  await expect(workspace.write('file', endless(), options)).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('while a directory is swapped for a link, nothing is read or written outside', async () => {
  const { workspace, outside, inside, put, get } = await scratch();
  mkdirSync(inside('d'));
  writeFileSync(inside('d', 'canary.txt'), 'inside');
  symlinkSync(outside, inside('link'));
  // An upload makes the directory if it is missing for a moment. The swapper removes that one.
  const program = `import { renameSync, rmSync } from 'node:fs';
    process.chdir(${JSON.stringify(workspace.path)});
    const attempt = (work) => { try { work(); return true; } catch { return false; } };
    const move = (from, to) => {
      while (!attempt(() => renameSync(from, to))) attempt(() => rmSync(to, { recursive: true, force: true }));
    };
    for (;;) {
      renameSync('d', 'real'); move('link', 'd');
      renameSync('d', 'link'); move('real', 'd');
    }`;
  const swapper = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  onTestFinished(() => void swapper.kill('SIGKILL'));
  const seen = new Set<string>();
  for (let round = 0; round < 3000 || !seen.has('inside') || !seen.has('FILE_REFUSED'); round += 1) {
    const read = await outcomeOf(async () => String(await get('d/canary.txt')));
    const written = round % 5 === 0 ? await outcomeOf(async () => `written ${await put('d/upload', 'x')}`) : read;
    seen.add(read).add(written);
  }
  expect(seen.difference(new Set(['inside', 'written 1', 'FILE_REFUSED', 'FILE_NOT_FOUND']))).toEqual(new Set());
  expect(swapper.exitCode).toBeNull();
  expect(readdirSync(outside)).toEqual(['canary.txt']);
  expect(readFileSync(path.join(outside, 'canary.txt'), 'utf8')).toBe('CANARY');
});

test('200 MB go in and out as streams, with memory flat', async () => {
  const { workspace } = await scratch();
  const program = `import { createHash } from 'node:crypto';
    const { DirectoryWorkspace } = await import(${JSON.stringify(new URL('directory-workspace.ts', import.meta.url).href)});
    const workspace = new DirectoryWorkspace({ path: ${JSON.stringify(workspace.path)}, uid: ${UID} });
    const chunk = Buffer.alloc(1 << 20, 'abcdefg,');
    async function* source() { for (let count = 0; count < 200; count += 1) { watch(); yield chunk; } }
    let peak = 0;
    const watch = () => { peak = Math.max(peak, process.memoryUsage.rss()); };
    const before = process.memoryUsage.rss();
    await workspace.write('big.csv', source(), { maxBytes: 1 << 30 });
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const part of (await workspace.open('big.csv')).stream()) {
      hash.update(part); bytes += part.length; watch();
      await new Promise(setImmediate);
    }
    const expected = createHash('sha256');
    for (let count = 0; count < 200; count += 1) expected.update(chunk);
    const isSame = hash.digest('hex') === expected.digest('hex');
    console.log(JSON.stringify({ bytes, isSame, growthMb: (peak - before) / 2 ** 20 }));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  const { growthMb, ...rest } = JSON.parse(stdout) as { growthMb: number };
  expect(rest).toEqual({ bytes: 200 << 20, isSame: true });
  expect(growthMb).toBeLessThan(60);
});

function run(command: string, ...args: string[]): void {
  execFileSync(command, args);
}

/** The result, or the code of the error. */
async function outcomeOf(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    return error instanceof VivariumError ? error.code : String(error);
  }
}

async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
  for (;;) {
    await new Promise(setImmediate);
    yield new Uint8Array(100);
  }
}

async function* failing(): AsyncGenerator<Uint8Array, void, undefined> {
  yield await Promise.resolve(new Uint8Array(100));
  throw new Error('broken');
}

interface Scratch {
  readonly workspace: DirectoryWorkspace;
  readonly outside: string;
  readonly inside: (...names: string[]) => string;
  readonly put: (name: string, source: FileSource) => Promise<number>;
  readonly get: (name: string) => Promise<Buffer>;
}

/** A workspace, and beside it a directory that must not be reached from there. */
async function scratch(uid = UID): Promise<Scratch> {
  const base = await mkdtemp(path.join(tmpdir(), 'files-'));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = new DirectoryWorkspace({ path: path.join(base, 'workspace'), uid });
  const outside = path.join(base, 'outside');
  mkdirSync(workspace.path);
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'canary.txt'), 'CANARY');
  if (uid !== UID) chownSync(workspace.path, uid, uid);
  return {
    workspace,
    outside,
    inside: (...names) => path.join(workspace.path, ...names),
    put: (name, source) => workspace.write(name, source, { maxBytes: 1 << 20 }),
    get: async (name) => await buffer((await workspace.open(name)).stream()),
  };
}

test('a session that takes all permissions off its workspace keeps nobody out', () => {
  const module = path.join(import.meta.dirname, 'directory-workspace.ts');
  const program = `
    import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    const { DirectoryWorkspace } = await import(process.argv[1]);
    const path = mkdtempSync(tmpdir() + '/workspace-');
    const workspace = new DirectoryWorkspace({ path, uid: process.getuid() });
    for (const mode of [0, 0o300]) {
      chmodSync(path, mode);
      await workspace.write('file', Buffer.from('x'));
      chmodSync(path, mode);
      console.log((await workspace.list()).files.length, (statSync(path).mode & 0o777).toString(8));
    }
    rmSync(path, { recursive: true });`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program, module], {
    ...(IS_ROOT && { uid: NOBODY, gid: NOBODY }), // root may open anything
    encoding: 'utf8',
  });
  expect(printed).toBe('1 700\n1 700\n');
});

test('a file that must be new replaces nothing', async () => {
  const { workspace } = await scratch();
  await workspace.write('a', Buffer.from('first'), { mustBeNew: true });
  await expect(workspace.write('a', Buffer.from('second'), { mustBeNew: true })).rejects.toMatchObject({
    code: 'FILE_REFUSED',
  });
  expect((await workspace.list()).files).toMatchObject([{ path: 'a', sizeBytes: 5 }]);
});
