import { expect, test } from 'vitest';
import { VivariumError } from '../errors.ts';
import { errnoOf, explain } from './errno.ts';
import { boundedChunks } from './file-source.ts';
import type { FileSource, WriteOptions } from './workspace.ts';

const failure = (code: unknown): Error => Object.assign(new Error('raw'), { code });

test.for([
  ['ENOENT', 'FILE_NOT_FOUND', 'There is no "a.csv"'],
  ['ENOSPC', 'FILE_TOO_LARGE', 'no room for "a.csv"'],
  ['EDQUOT', 'FILE_TOO_LARGE', 'no room'],
  ['EFBIG', 'FILE_TOO_LARGE', 'no room'],
  ['ELOOP', 'FILE_REFUSED', 'a link or a file stands where a directory should be'],
  ['ENOTDIR', 'FILE_REFUSED', 'a link or a file stands where a directory should be'],
  ['EISDIR', 'FILE_REFUSED', 'it is a directory'],
  ['ENOTEMPTY', 'FILE_REFUSED', 'not empty'],
  ['EEXIST', 'FILE_REFUSED', 'there already'],
  ['EACCES', 'FILE_REFUSED', 'permissions'],
  ['EPERM', 'FILE_REFUSED', 'permissions'],
  ['EAGAIN', 'FILE_REFUSED', 'a process in the session holds it'],
  ['EBUSY', 'FILE_REFUSED', 'in use'],
  ['ENXIO', 'FILE_REFUSED', 'not a regular file'],
  ['ENAMETOOLONG', 'FILE_REFUSED', 'too long'],
  ['EMFILE', 'STORAGE_FAILED', 'too many open files (EMFILE). Close what is not needed, or raise `ulimit -n`'],
  ['EIO', 'STORAGE_FAILED', 'the disk failed (EIO)'],
] as const)('%s is told as %s, with the path and the cause', ([errno, code, words]) => {
  const cause = failure(errno);
  expect(() => explain(cause, 'a.csv')).toThrow(expect.objectContaining({ code, cause }) as Error);
  expect(() => explain(cause, 'a.csv')).toThrow(words);
  expect(() => explain(cause, 'a.csv')).toThrow('"a.csv"');
});

test.for([failure('ECONNRESET'), failure(5), new TypeError('a bug'), new VivariumError('SESSION_CLOSED', 'closed')])(
  'any other error comes back as it is: %s',
  (error) => {
    expect(() => explain(error, 'a.csv')).toThrow(error);
  },
);

test('only text is an errno', () => {
  expect([failure('EIO'), failure(5), new Error('none'), { code: 'EIO' }, null].map(errnoOf)).toEqual([
    'EIO',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

async function read(source: FileSource, options: WriteOptions = {}): Promise<{ text: string; totals: number[] }> {
  const totals: number[] = [];
  const chunks = await Array.fromAsync(boundedChunks(source, { path: 'a', ...options }, (bytes) => totals.push(bytes)));
  return { text: Buffer.concat(chunks).toString(), totals };
}

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

test('a source is text, bytes or chunks, and its bytes are counted with each chunk', async () => {
  expect(await read('ż')).toEqual({ text: 'ż', totals: [2] });
  expect(await read(Buffer.from('abc'))).toEqual({ text: 'abc', totals: [3] });
  expect(await read(chunksOf('ab', '', 'c'))).toEqual({ text: 'abc', totals: [2, 2, 3] });
});

test('a source may have as many bytes as allowed, and is not read further', async () => {
  expect((await read(chunksOf('ab', 'cd'), { maxBytes: 4 })).text).toBe('abcd');
  let given = 0;
  async function* counted(): AsyncGenerator<Uint8Array, void, undefined> {
    for (const chunk of ['ab', 'cd', 'ef', 'gh']) {
      given += 1;
      yield await Promise.resolve(Buffer.from(chunk));
    }
  }
  const reading = read(counted(), { maxBytes: 5, limit: 'the plan allows' });
  await expect(reading).rejects.toMatchObject({
    code: 'FILE_TOO_LARGE',
    message: '"a" is larger than the 5 bytes that the plan allows.',
  });
  expect(given).toBe(3);
});

test('an abort between two chunks ends the reading and closes the source', async () => {
  const controller = new AbortController();
  let isClosed = false;
  async function* source(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield Buffer.from('a');
      controller.abort(new Error('enough'));
      yield await Promise.resolve(Buffer.from('b'));
    } finally {
      isClosed = true;
    }
  }
  await expect(read(source(), { signal: controller.signal })).rejects.toThrow('enough');
  expect(isClosed).toBe(true);
});
