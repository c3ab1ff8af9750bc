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
import { listFiles, openFile, removeFile, upload, type FileSource, type Workspace } from './files.ts';

const UID = process.getuid?.() ?? 0;
const IS_ROOT = UID === 0;
const NOBODY = 65_534;
const HAS_PYTHON = spawnSync('python3', ['-c', '']).status === 0;

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
  await expect(openFile(workspace, name)).rejects.toMatchObject(refusal);
  expect(() => removeFile(workspace, name)).toThrow(expect.objectContaining(refusal));
});

test('a file comes back as it was put', async () => {
  const { workspace, inside, put, get } = await scratch();
  const content = new Uint8Array(200_000).map((_, index) => index % 251);
  const facts = await put('data/raw/table.csv', content);
  expect(facts).toEqual({ path: 'data/raw/table.csv', sizeBytes: 200_000, mime: 'text/csv' });
  expect(await get('data/raw/table.csv')).toEqual(Buffer.from(content));
  expect(statSync(inside('data', 'raw', 'table.csv')).mode & 0o777).toBe(0o644);
  expect(await get((await put('empty', '')).path)).toHaveLength(0);
  await put('data/raw/table.csv', 'short');
  expect(String(await get('data/raw/table.csv'))).toBe('short');
  expect(readdirSync(workspace.path).toSorted()).toEqual(['data', 'empty']);
});

test('files are listed by path with their type, links with the reason why they are left out', async () => {
  const { workspace, inside, put } = await scratch();
  await put('b/plot.png', 'xx');
  await put('a.unknown', 'x');
  symlinkSync('/etc/shadow', inside('link'));
  expect(await listFiles(workspace)).toEqual({
    files: [
      { path: 'a.unknown', sizeBytes: 1, mime: 'application/octet-stream', modifiedAt: expect.any(Date) as Date },
      { path: 'b/plot.png', sizeBytes: 2, mime: 'image/png', modifiedAt: expect.any(Date) as Date },
    ],
    skipped: [{ path: 'link', reason: 'symlink' }],
    skippedCount: 1,
    cut: null,
  });
});

test('what is not there is not found', async () => {
  const { workspace, put } = await scratch();
  await put('file', 'x');
  const missing = { code: 'FILE_NOT_FOUND' };
  await expect(openFile(workspace, 'nothing')).rejects.toMatchObject(missing);
  await expect(openFile(workspace, 'no/such/directory')).rejects.toMatchObject(missing);
  expect(() => removeFile(workspace, 'nothing')).toThrow(expect.objectContaining(missing));
  await expect(openFile(workspace, 'file/below')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('links are followed by no door, at no place of a path', async () => {
  const { workspace, outside, inside, put } = await scratch();
  symlinkSync(outside, inside('directory'));
  symlinkSync(path.join(outside, 'canary.txt'), inside('file'));
  mkdirSync(inside('real'));
  symlinkSync(outside, inside('real', 'link'));
  const refusal = { code: 'FILE_REFUSED' };
  for (const name of ['file', 'directory', 'directory/canary.txt', 'real/link/canary.txt']) {
    await expect(openFile(workspace, name)).rejects.toMatchObject(refusal);
  }
  for (const name of ['directory/canary.txt', 'directory/new/file', 'real/link/new']) {
    await expect(put(name, 'overwritten')).rejects.toMatchObject(refusal);
  }
  expect(() => removeFile(workspace, 'directory/canary.txt')).toThrow(expect.objectContaining(refusal));
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
  removeFile(workspace, 'link');
  removeFile(workspace, 'directory');
  expect(readdirSync(workspace.path)).toEqual(['file']);
  expect(readFileSync(canary, 'utf8')).toBe('CANARY');
});

test('a file and an empty directory can be deleted, a full one cannot', async () => {
  const { workspace, put } = await scratch();
  await put('directory/file', 'x');
  expect(() => removeFile(workspace, 'directory')).toThrow(expect.objectContaining({ code: 'FILE_REFUSED' }));
  removeFile(workspace, 'directory/file');
  removeFile(workspace, 'directory');
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('what is not a regular file is not read, and nothing waits for it', async () => {
  const { workspace, inside } = await scratch();
  run('mkfifo', inside('fifo'));
  mkdirSync(inside('directory'));
  if (IS_ROOT) run('mknod', inside('zero'), 'c', '1', '5');
  for (const name of ['fifo', 'directory', ...(IS_ROOT ? ['zero'] : [])]) {
    await expect(openFile(workspace, name)).rejects.toMatchObject({ code: 'FILE_REFUSED' });
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

test.runIf(HAS_PYTHON)('a lease that the session holds on a file is not waited for', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('leased'), 'x');
  const program = `import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()`;
  const holder = spawn('python3', ['-c', program, inside('leased')], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  const startedAt = performance.now();
  await expect(openFile(workspace, 'leased')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test.runIf(IS_ROOT)('files of others that were linked in are not read', async () => {
  const { workspace, outside, inside } = await scratch(NOBODY);
  linkSync(path.join(outside, 'canary.txt'), inside('stolen'));
  await expect(openFile(workspace, 'stolen')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
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
  await expect(openFile(workspace, 'locked')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('a file that grows is read to the size that it had, one that shrinks is an error', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('growing'), 'x'.repeat(300_000));
  await using growing = await openFile(workspace, 'growing');
  appendFileSync(inside('growing'), 'y'.repeat(300_000));
  const read = await buffer(growing.stream());
  expect([read.length, read.includes('y')]).toEqual([300_000, false]);
  const shrinking = await openFile(workspace, 'growing');
  truncateSync(inside('growing'), 100_000);
  await expect(buffer(shrinking.stream())).rejects.toMatchObject({ code: 'FILE_REFUSED' });
});

test('a stream that is given up closes its file', async () => {
  const { workspace, inside } = await scratch();
  writeFileSync(inside('file'), 'x'.repeat(1_000_000));
  const stream = (await openFile(workspace, 'file')).stream();
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
  await expect(upload(workspace, 'file', { source, maxBytes: 1000 })).rejects.toMatchObject(error);
  expect(readdirSync(workspace.path)).toEqual(['file']);
  expect(readFileSync(inside('file'), 'utf8')).toBe('old');
});

test('an upload ends with its signal', async () => {
  const { workspace } = await scratch();
  const options = { source: endless(), maxBytes: Infinity, signal: AbortSignal.timeout(50) };
  await expect(upload(workspace, 'file', options)).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(readdirSync(workspace.path)).toEqual([]);
});

test('while a directory is swapped for a link, nothing is read or written outside', async () => {
  const { workspace, outside, inside, put, get } = await scratch();
  mkdirSync(inside('d'));
  writeFileSync(inside('d', 'canary.txt'), 'inside');
  symlinkSync(outside, inside('link'));
  // An upload makes the directory when it is missing for a moment: the swapper puts that out of its way.
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
    const written = round % 5 === 0 ? await outcomeOf(async () => (await put('d/upload', 'x')).path) : read;
    seen.add(read).add(written);
  }
  expect(seen.difference(new Set(['inside', 'd/upload', 'FILE_REFUSED', 'FILE_NOT_FOUND']))).toEqual(new Set());
  expect(swapper.exitCode).toBeNull();
  expect(readdirSync(outside)).toEqual(['canary.txt']);
  expect(readFileSync(path.join(outside, 'canary.txt'), 'utf8')).toBe('CANARY');
});

test('200 MB go in and out as streams, with memory flat', async () => {
  const { workspace } = await scratch();
  const program = `import { createHash } from 'node:crypto';
    const { upload, openFile } = await import(${JSON.stringify(new URL('files.ts', import.meta.url).href)});
    const workspace = ${JSON.stringify(workspace)};
    const chunk = Buffer.alloc(1 << 20, 'abcdefg,');
    async function* source() { for (let count = 0; count < 200; count += 1) { watch(); yield chunk; } }
    let peak = 0;
    const watch = () => { peak = Math.max(peak, process.memoryUsage.rss()); };
    const before = process.memoryUsage.rss();
    await upload(workspace, 'big.csv', { source: source(), maxBytes: 1 << 30 });
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const part of (await openFile(workspace, 'big.csv')).stream()) {
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

/** What came out, or the code of the error. */
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
  readonly workspace: Workspace;
  readonly outside: string;
  readonly inside: (...names: string[]) => string;
  readonly put: (name: string, source: FileSource) => ReturnType<typeof upload>;
  readonly get: (name: string) => Promise<Buffer>;
}

/** A workspace, and beside it what nobody may reach from there. */
async function scratch(uid = UID): Promise<Scratch> {
  const base = await mkdtemp(path.join(tmpdir(), 'files-'));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const workspace = { path: path.join(base, 'workspace'), uid };
  const outside = path.join(base, 'outside');
  mkdirSync(workspace.path);
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'canary.txt'), 'CANARY');
  if (uid !== UID) chownSync(workspace.path, uid, uid);
  return {
    workspace,
    outside,
    inside: (...names) => path.join(workspace.path, ...names),
    put: (name, source) => upload(workspace, name, { source, maxBytes: 1 << 20 }),
    get: async (name) => await buffer((await openFile(workspace, name)).stream()),
  };
}
