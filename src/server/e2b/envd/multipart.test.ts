import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { boundaryOf, readForm } from './multipart.ts';

/** A body in pieces of a size. */
async function* inPieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

async function readAll(body: Uint8Array, boundary: string, size: number): Promise<(readonly [string, string])[]> {
  const files: [string, string][] = [];
  for await (const { filename, content } of readForm(inPieces(body, size), boundary)) {
    files.push([filename, await text(content)]);
  }
  return files;
}

/** As Node itself writes a form. */
async function write(files: readonly (readonly [string, string])[]): Promise<{ body: Uint8Array; boundary: string }> {
  const form = new FormData();
  form.append('field', 'of no interest');
  for (const [name, content] of files) form.append('file', new Blob([content]), name);
  const answer = new Response(form);
  const boundary = boundaryOf(answer.headers.get('content-type') ?? '') ?? '';
  return { body: await answer.bytes(), boundary };
}

const FILES = [
  ['/home/user/a.txt', 'one'],
  ['ä "quoted".txt', ''],
  ['long', 'x'.repeat(5000)],
  ['like a boundary', '\r\n--\r\n\r\n------\r\n'],
] as const;

test.each([1, 2, 3, 7, 64, 1 << 20])('files are read from pieces of %d bytes', async (size) => {
  const { body, boundary } = await write(FILES);
  expect(await readAll(body, boundary, size)).toEqual(FILES);
});

test('a file that nobody reads is passed over', async () => {
  const { body, boundary } = await write(FILES);
  const names: string[] = [];
  for await (const { filename } of readForm(inPieces(body, 10), boundary)) names.push(filename);
  expect(names).toEqual(FILES.map(([name]) => name));
});

test.each([
  ['read to its end', 0, 'fulfilled'],
  ['let go of if it breaks off', 10, 'rejected'],
])('the body is %s', async (_, cut, status) => {
  const { body, boundary } = await write(FILES);
  let isLetGo = false;
  const pieces = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield body.subarray(0, body.length - cut);
      yield Buffer.from('what follows');
    } finally {
      isLetGo = true;
    }
  };
  const [reading] = await Promise.allSettled([Array.fromAsync(readForm(pieces(), boundary))]);
  expect([reading?.status, isLetGo]).toEqual([status, true]);
});

test('names are read as other writers write them', async () => {
  const body = Buffer.from(
    'preamble\r\n--b\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; name="file"; filename="a\\"b.txt"\r\n\r\nx\r\n--b--\r\n',
  );
  expect(await readAll(body, 'b', 5)).toEqual([['a"b.txt', 'x']]);
});

test.each([
  ['one that breaks off', 'x\r\n--b\r\ncontent-disposition: form-data; filename="a"\r\n\r\nhalf'],
  ['no boundary', 'nothing here'],
  ['nothing', ''],
  ['a boundary that goes on', '--bb\r\n\r\nx\r\n--b--'],
  ['a head without an end', `--b\r\n${'a: b\r\n'.repeat(5000)}`],
])('a form that is not complete is refused: %s', async (_, body) => {
  await expect(readAll(Buffer.from(body), 'b', 100)).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
});

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['multipart/form-data; charset=utf-8; boundary="a b"', 'a b'],
  ['Multipart/Form-Data;boundary=x;y=z', 'x'],
  ['multipart/form-data', undefined],
  ['application/octet-stream; boundary=x', undefined],
])('the boundary of %s', (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary);
});
