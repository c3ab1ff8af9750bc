import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { SandboxFiles } from './sandbox-files.ts';

const ROOM = { maxBytes: 1000, limit: 'a test may have' };

let directory: string;
let files: SandboxFiles;
const at = (name: string): string => path.join(directory, name);
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'viv-files-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const name of ['home', 'tmp', 'trash', 'outside']) mkdirSync(at(name));
  writeFileSync(at('outside/secret'), 'secret');
  files = new SandboxFiles({ home: at('home'), temporary: at('tmp'), trash: at('trash') });
});

test('a file is written, described and read', async () => {
  const entry = await files.write('a/b.txt', 'hello', ROOM);
  expect(entry).toMatchObject({ name: 'b.txt', path: '/home/user/a/b.txt', size: '5', type: 'FILE_TYPE_FILE' });
  expect(entry.permissions).toBe('-rw-r--r--');
  expect(Date.now() - Date.parse(entry.modifiedTime)).toBeLessThan(60_000);
  expect(await text((await files.open('a/b.txt')).stream())).toBe('hello');
  expect(readFileSync(at('home/a/b.txt'), 'utf8')).toBe('hello');
});

test('a file that is too large is refused as a whole', async () => {
  await expect(files.write('a', 'x'.repeat(1001), ROOM)).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
  expect(await readdir(at('home'))).toEqual([]);
});

test('a directory is listed down to a depth, sorted, without uploads that go on', () => {
  mkdirSync(at('home/b/c'), { recursive: true });
  for (const name of ['b/c/deep', 'b/file', 'a', '.upload-0123456789abcdef']) writeFileSync(at(`home/${name}`), '');
  symlinkSync('/etc', at('home/link'));
  const paths = (depth: number): string[] => files.list('.', depth).map((entry) => entry.path.slice(11));
  expect(paths(1)).toEqual(['a', 'b', 'link']);
  expect(paths(2)).toEqual(['a', 'b', 'b/c', 'b/file', 'link']);
  expect(paths(9)).toContain('b/c/deep');
  expect(files.list('.', 1).at(-1)).toMatchObject({ type: 'FILE_TYPE_SYMLINK', symlinkTarget: '/etc' });
});

test('a directory is made once, with those on the way', () => {
  expect(files.makeDirectory('x/y/z')).toMatchObject({ path: '/home/user/x/y/z', permissions: 'drwxr-xr-x' });
  expect(() => files.makeDirectory('x/y')).toThrow(expect.objectContaining({ code: 'already_exists' }) as Error);
  expect(() => files.makeDirectory('/home/user')).toThrow('exists already');
  writeFileSync(at('home/file'), '');
  expect(() => files.makeDirectory('file/inner')).toThrow(expect.objectContaining({ code: 'FILE_REFUSED' }) as Error);
});

test('something is moved, also between the two directories and onto a file', () => {
  mkdirSync(at('home/from'));
  writeFileSync(at('home/from/f'), 'new');
  writeFileSync(at('tmp/f'), 'old');
  expect(files.move('from/f', '/tmp/f').path).toBe('/tmp/f');
  expect(readFileSync(at('tmp/f'), 'utf8')).toBe('new');
  expect(files.move('from', 'a/b').path).toBe('/home/user/a/b');
  expect(() => files.move('none', 'b')).toThrow(expect.objectContaining({ code: 'FILE_NOT_FOUND' }) as Error);
  expect(() => files.move('/home/user', 'b')).toThrow('itself cannot be moved');
});

test('what is removed is gone at once, and then from the trash', async () => {
  mkdirSync(at('home/tree/inner'), { recursive: true });
  writeFileSync(at('home/tree/inner/f'), '');
  symlinkSync(at('outside'), at('home/tree/way'));
  const removing = files.remove('tree');
  expect(existsSync(at('home/tree'))).toBe(false);
  await removing;
  expect(await readdir(at('trash'))).toEqual([]);
  expect(await readdir(at('outside'))).toEqual(['secret']);
  await expect(files.remove('tree')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
});

test('no call follows a link, at the end of a path or on the way', async () => {
  symlinkSync(at('outside'), at('home/way'));
  symlinkSync(at('outside/secret'), at('home/direct'));
  const refused = { code: 'FILE_REFUSED' };
  await expect(files.open('direct')).rejects.toMatchObject(refused);
  await expect(files.open('way/secret')).rejects.toMatchObject(refused);
  await expect(files.write('way/new', 'x', ROOM)).rejects.toMatchObject(refused);
  await expect(files.remove('way/secret')).rejects.toMatchObject(refused);
  for (const call of [
    () => files.list('way', 1),
    () => files.stat('way/secret'),
    () => files.makeDirectory('way/new'),
    () => files.move('way/secret', 'mine'),
    () => files.move('direct', 'way/in'),
    () => files.hold('way'),
  ]) {
    expect(call).toThrow(expect.objectContaining(refused) as Error);
  }
  await files.write('direct', 'replaced the link', ROOM);
  expect(statSync(at('home/direct')).isFile()).toBe(true);
  expect(readFileSync(at('outside/secret'), 'utf8')).toBe('secret');
});

test.each(['a\0b', 'line\nbreak', 'x'.repeat(300), 'ri\u202eght'])('the name %j is refused', async (name) => {
  await expect(files.write(name, 'x', ROOM)).rejects.toMatchObject({ code: 'FILE_REFUSED' });
  expect(() => files.stat(name)).toThrow(expect.objectContaining({ code: 'FILE_REFUSED' }) as Error);
});
