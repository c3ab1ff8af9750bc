import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Artifact } from './artifact.ts';
import { Draft } from './draft.ts';

const FACTS = { name: 'a/table.csv', sessionId: 's', executionId: 'e' };

/** Where a draft lies, and what it was said to be when it was complete. */
async function scratch(): Promise<{ file: string; admitted: unknown[]; admit: Parameters<typeof Draft.create>[1] }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'draft-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const admitted: unknown[] = [];
  return {
    file: path.join(directory, 'draft'),
    admitted,
    admit: async (file, { id = 'id', ...description }) => {
      admitted.push([file, description]);
      return { id, createdAt: new Date(), clientId: null, ...description } satisfies Artifact;
    },
  };
}

test('a draft is hashed and measured while it is written, piece by piece', async () => {
  const { file, admitted, admit } = await scratch();
  await using draft = await Draft.create(file, admit);
  expect(draft.sizeBytes).toBe(0);
  for (const piece of ['a,b\n', '', 'é\n']) await draft.write(Buffer.from(piece));
  expect(draft.sizeBytes).toBe(7);
  const sha256 = createHash('sha256').update('a,b\né\n').digest('hex');
  expect(await draft.keep(FACTS)).toMatchObject({ id: 'id', sizeBytes: 7, sha256, mime: 'text/csv' });
  expect(admitted).toEqual([[file, { ...FACTS, sizeBytes: 7, sha256, mime: 'text/csv' }]]);
});

test('a type that is given counts more than the name, and an id more than a new one', async () => {
  const { file, admit } = await scratch();
  await using draft = await Draft.create(file, admit);
  expect(await draft.keep({ ...FACTS, id: 'promised', mime: 'text/plain' })).toMatchObject({
    id: 'promised',
    mime: 'text/plain',
  });
});

test('nobody else can read a draft', async () => {
  const { file, admit } = await scratch();
  await using draft = await Draft.create(file, admit);
  await draft.write(Buffer.from('secret'));
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a draft that is not kept is removed, also if it is gone already', async () => {
  const { file, admit } = await scratch();
  const draft = await Draft.create(file, admit);
  await draft.write(Buffer.from('x'));
  await draft[Symbol.asyncDispose]();
  expect(existsSync(file)).toBe(false);
  const swept = await Draft.create(file, admit);
  await rm(file);
  await expect(swept[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

test('a draft that is kept is left to the store', async () => {
  const { file, admit } = await scratch();
  const draft = await Draft.create(file, admit);
  await draft.write(Buffer.from('kept'));
  await draft.keep(FACTS);
  await draft[Symbol.asyncDispose]();
  expect(readFileSync(file, 'utf8')).toBe('kept');
});

test('a draft that the store does not take is removed', async () => {
  const { file } = await scratch();
  const draft = await Draft.create(file, () => Promise.reject(new Error('database is locked')));
  await expect(draft.keep(FACTS)).rejects.toThrow('database is locked');
  await draft[Symbol.asyncDispose]();
  expect(existsSync(file)).toBe(false);
});

test('a draft never writes over a file that is there', async () => {
  const { file, admit } = await scratch();
  writeFileSync(file, 'of somebody else');
  await expect(Draft.create(file, admit)).rejects.toMatchObject({ code: 'EEXIST' });
  expect(readFileSync(file, 'utf8')).toBe('of somebody else');
});
