/** Files of sandboxes, with E2B's own SDK for JavaScript. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Sandbox, type FilesystemEvent } from '@e2b/code-interpreter';
import { FileNotFoundError, InvalidArgumentError, NotEnoughSpaceError, TemplateError } from 'e2b';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

let server: E2bTestbed;
let sandbox: Sandbox;
beforeAll(async () => {
  server = await startE2bServer({ hostOptions: { limits: { fileMb: 40, workspaceMb: 100 } } });
  sandbox = await Sandbox.create({ ...server.connection, timeoutMs: 120_000 });
});
afterAll(() => server[Symbol.asyncDispose]());

const python = async (code: string): Promise<string | undefined> => {
  const { text, error } = await sandbox.runCode(code);
  expect(error).toBeUndefined();
  return text;
};

test('a file that was written is read by code, and the other way round', async () => {
  expect(await sandbox.files.write('data/a.txt', 'one')).toMatchObject({
    name: 'a.txt',
    path: '/home/user/data/a.txt',
  });
  expect(await python('open("data/a.txt").read()')).toBe('one');
  await python('open("/home/user/b.txt", "w").write("two")');
  expect(await sandbox.files.read('b.txt')).toBe('two');
  expect(await sandbox.files.read('~/b.txt')).toBe('two');
  expect(await python('open("data/a.txt", "a").write("!")')).toBe('1');
});

test('all formats of content come back as they were', async () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
  await sandbox.files.write('bytes.bin', bytes.buffer);
  expect(await sandbox.files.read('bytes.bin', { format: 'bytes' })).toEqual(bytes);
  expect((await sandbox.files.read('bytes.bin', { format: 'blob' })).size).toBe(300);
  await sandbox.files.write('empty', '');
  expect(await sandbox.files.read('empty')).toBe('');
  await sandbox.files.write('zipped', 'text '.repeat(1000), { gzip: true });
  expect(await sandbox.files.read('zipped', { gzip: true })).toBe('text '.repeat(1000));
  const boundaries = '\r\n--\r\n------formdata\r\n\r\n--';
  await sandbox.files.write('ä "quoted".txt', boundaries);
  expect(await sandbox.files.read('ä "quoted".txt')).toBe(boundaries);
});

test('large files are streamed both ways', async () => {
  const [sent, received] = [createHash('sha256'), createHash('sha256')];
  async function* make() {
    for (let index = 0; index < 32; index += 1) {
      const chunk = Buffer.alloc(1 << 20, index);
      sent.update(chunk);
      yield chunk;
    }
  }
  await sandbox.files.write('large.bin', ReadableStream.from(make()) as ReadableStream);
  expect(await sandbox.files.getInfo('large.bin')).toMatchObject({ size: 32 << 20, type: 'file' });
  for await (const chunk of await sandbox.files.read('large.bin', { format: 'stream' })) received.update(chunk);
  expect(received.digest('hex')).toBe(sent.digest('hex'));
  await sandbox.files.remove('large.bin');
});

test('several files are written at once', async () => {
  const written = await sandbox.files.write([
    { path: 'many/1', data: '1' },
    { path: '/tmp/many/2', data: '2' },
  ]);
  expect(written.map((file) => file.path)).toEqual(['/home/user/many/1', '/tmp/many/2']);
  expect(await sandbox.files.read('/tmp/many/2')).toBe('2');
});

test('directories are made, listed, moved and removed', async () => {
  expect(await sandbox.files.makeDir('made/deep')).toBe(true);
  expect(await sandbox.files.makeDir('made/deep')).toBe(false);
  await sandbox.files.write('made/deep/file', 'x');
  const names = (await sandbox.files.list('made', { depth: 2 })).map((entry) => `${entry.type} ${entry.path}`);
  expect(names).toEqual(['dir /home/user/made/deep', 'file /home/user/made/deep/file']);
  expect(await sandbox.files.list('made')).toHaveLength(1);
  expect(await sandbox.files.rename('made/deep', 'moved/here')).toMatchObject({ path: '/home/user/moved/here' });
  expect(await sandbox.files.exists('moved/here/file')).toBe(true);
  expect(await sandbox.files.exists('made/deep')).toBe(false);
  await sandbox.files.remove('moved');
  expect(await sandbox.files.exists('moved')).toBe(false);
  await sandbox.files.remove('made');
});

test('facts about a file are those that code sees', async () => {
  await python('import os\nopen("facts", "w").write("12345"); os.chmod("facts", 0o750); os.symlink("facts", "link")');
  expect(await sandbox.files.getInfo('facts')).toMatchObject({
    name: 'facts',
    type: 'file',
    size: 5,
    mode: 0o750,
    permissions: '-rwxr-x---',
    owner: 'user',
    modifiedTime: expect.any(Date) as Date,
  });
  expect(await sandbox.files.getInfo('link')).toMatchObject({ type: 'symlink', symlinkTarget: 'facts' });
  expect(await sandbox.files.getInfo('/home/user')).toMatchObject({ type: 'dir', path: '/home/user' });
});

test('what is not there, or not reachable, is told', async () => {
  await expect(sandbox.files.read('missing')).rejects.toThrow(FileNotFoundError);
  await expect(sandbox.files.list('missing')).rejects.toThrow(FileNotFoundError);
  await expect(sandbox.files.remove('missing')).rejects.toThrow(FileNotFoundError);
  await expect(sandbox.files.rename('missing', 'x')).rejects.toThrow(FileNotFoundError);
  expect(await sandbox.files.exists('missing')).toBe(false);
  await expect(sandbox.files.read('/etc/passwd')).rejects.toThrow('see /home/user and /tmp');
  await expect(sandbox.files.read('../../etc/passwd')).rejects.toThrow(InvalidArgumentError);
  await expect(sandbox.files.remove('/home/user')).rejects.toThrow('cannot be moved, removed or written');
  await expect(sandbox.files.read('b.txt', { user: 'root' })).rejects.toThrow('one user, "user"');
  await expect(sandbox.files.write('m', 'x', { metadata: { a: 'b' } })).rejects.toThrow(TemplateError);
});

test('no link leads out of the sandbox, for whatever call', async () => {
  const outside = await mkdtemp(path.join(tmpdir(), 'viv-outside-'));
  onTestFinished(() => rm(outside, { recursive: true }));
  await writeFile(path.join(outside, 'secret'), 'secret');
  await python(`import os
os.symlink("${outside}", "way")
os.symlink("${outside}/secret", "direct")
os.makedirs("tree/inner", exist_ok=True)
os.symlink("${outside}", "tree/inner/way")`);
  await expect(sandbox.files.read('direct')).rejects.toThrow('not a regular file');
  await expect(sandbox.files.read('way/secret')).rejects.toThrow('link');
  await expect(sandbox.files.write('way/new', 'x')).rejects.toThrow('link');
  await expect(sandbox.files.list('way')).rejects.toThrow('link');
  await expect(sandbox.files.makeDir('way/new')).rejects.toThrow('link');
  await expect(sandbox.files.rename('way/secret', 'taken')).rejects.toThrow('link');
  await expect(sandbox.files.watchDir('way', () => undefined)).rejects.toThrow('link');
  await sandbox.files.write('direct', 'replaced');
  await sandbox.files.remove('tree');
  await sandbox.files.remove('way');
  expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe('secret');
  expect(await readdir(outside)).toEqual(['secret']);
});

test('trees that code has made hard to remove are removed', async () => {
  await python(`import os
os.makedirs("deep"); os.chdir("deep")
for _ in range(3000):
    os.mkdir("d"); os.chdir("d")
os.chdir("/home/user")
os.makedirs("deep/locked/in"); os.chmod("deep/locked", 0)
open(b"deep/\\xff\\xfe", "w").close()`);
  await sandbox.files.remove('deep');
  expect(await sandbox.files.exists('deep')).toBe(false);
});

test('a file that is too large is refused, and nothing of it is left', async () => {
  await expect(sandbox.files.write('huge', new Blob([new Uint8Array(41 << 20)]))).rejects.toThrow(NotEnoughSpaceError);
  expect(await sandbox.files.exists('huge')).toBe(false);
  expect(
    (await sandbox.files.list('/home/user')).map(({ name }) => name).filter((name) => name.startsWith('.')),
  ).toEqual([]);
});

test('a watch tells what happens in a directory', async () => {
  await sandbox.files.write('watched/old', 'x');
  const events: string[] = [];
  const note = ({ name, type }: FilesystemEvent): void => void events.push(`${type} ${name}`);
  const watch = await sandbox.files.watchDir('watched', note, { timeoutMs: 0 });
  const seen = async (event: string): Promise<void> => {
    await expect.poll(() => events).toContain(event);
  };
  await python('open("watched/new", "w").write("by code")');
  await seen('create new');
  await sandbox.files.write('watched/old', 'by the SDK');
  await seen('write old');
  await sandbox.commands.run('mv watched/new watched/other; chmod 600 watched/other');
  await seen('rename new');
  await seen('create other');
  await sandbox.files.remove('watched/old');
  await seen('remove old');
  expect(events.filter((event) => event.includes('upload'))).toEqual([]);
  await watch.stop();
});

test('a recursive watch tells what happens below, another does not', async () => {
  await sandbox.files.makeDir('both/inner');
  const [below, here] = [vi.fn<(event: FilesystemEvent) => void>(), vi.fn<(event: FilesystemEvent) => void>()];
  const watches = [
    await sandbox.files.watchDir('both', below, { recursive: true }),
    await sandbox.files.watchDir('both', here),
  ];
  await python(
    'import os\nos.mkdir("both/fresh"); open("both/fresh/f", "w").close(); open("both/inner/g", "w").close()',
  );
  await expect
    .poll(() => below.mock.calls.map(([{ name }]) => name))
    .toEqual(expect.arrayContaining(['fresh/f', 'inner/g']));
  await expect.poll(() => here.mock.calls.map(([{ name }]) => name)).toContain('fresh');
  expect(here.mock.calls.map(([{ name }]) => name)).not.toContain('inner/g');
  for (const watch of watches) await watch.stop();
});

test('a watch ends at its time, and one of nothing fails', async () => {
  const onExit = vi.fn<(error?: Error) => void>();
  await sandbox.files.makeDir('brief');
  await sandbox.files.watchDir('brief', () => undefined, { timeoutMs: 200, onExit });
  await expect.poll(() => onExit.mock.calls.length).toBe(1);
  await expect(sandbox.files.watchDir('missing', () => undefined)).rejects.toThrow(FileNotFoundError);
});

test('a signed address needs no header', async () => {
  await sandbox.files.write('signed.txt', 'for whoever has the address');
  const address = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 });
  expect(await (await fetch(address)).text()).toBe('for whoever has the address');
  expect((await fetch(`${address}x`)).status).toBe(401);
  expect((await fetch(address.replace('signed.txt', 'b.txt'))).status).toBe(401);
  const expired = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -1 });
  expect((await fetch(expired)).status).toBe(401);
  const form = new FormData();
  form.append('file', new Blob(['uploaded']), 'ignored');
  const upload = await fetch(await sandbox.uploadUrl('up.txt'), { method: 'POST', body: form });
  expect(upload.status).toBe(200);
  expect(await sandbox.files.read('up.txt')).toBe('uploaded');
});
