import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../../../artifact/store.ts';
import { OutputFile, type OutputFileLimits } from './output-file.ts';

const FACTS = { name: '.output/run-1.stdout.txt', sessionId: 's', executionId: 'e' };

test.for<[string, readonly string[], boolean]>([
  ['nothing at all', [], false],
  ['exactly as many bytes as a result holds', ['12345', '67890'], false],
  ['one byte more', ['12345', '67890', '!'], true],
  ['one long piece', ['12345678901'], true],
  ['few characters that are many bytes', ['éééééé'], true],
  ['characters of several bytes that just fit', ['ééééé'], false],
])('%s: %j needs a file: %s', async ([, pieces, needsFile]) => {
  const { store, outputFile } = await scratch({ inlineBytes: 10, maxBytes: 1000 });
  for (const piece of pieces) await outputFile.add(piece);
  const artifact = await outputFile.keep(FACTS);
  const kept = artifact === undefined ? null : await text(await store.open(artifact.id));
  expect(kept).toBe(needsFile ? pieces.join('') : null);
});

test('text is only remembered until it is too long, and takes time only from then on', async () => {
  const { outputFile, drafts } = await scratch({ inlineBytes: 4, maxBytes: 1000 });
  expect(outputFile.add('1234')).toBeUndefined();
  expect(drafts()).toEqual([]);
  const writing = outputFile.add('5');
  expect(writing).toBeInstanceOf(Promise);
  await writing;
  expect(drafts()).toHaveLength(1);
});

test.for<[written: number, kept: number, isCut: boolean]>([
  [99, 99, false],
  [100, 100, false],
  [101, 100, true],
  [5000, 100, true],
])('of %i bytes a file of at most 100 holds %i, and says whether it is cut: %s', async ([written, kept, isCut]) => {
  const { store, outputFile } = await scratch({ inlineBytes: 10, maxBytes: 100 });
  const all = Array.from({ length: written }, (_, n) => n % 10).join('');
  for (let from = 0; from < written; from += 30) await outputFile.add(all.slice(from, from + 30));
  expect(outputFile.isCut).toBe(isCut);
  const artifact = await outputFile.keep(FACTS);
  expect(artifact).toMatchObject({ ...FACTS, sizeBytes: kept, mime: 'text/plain' });
  expect(await text(await store.open(artifact?.id ?? ''))).toBe(all.slice(0, kept));
});

test('with a limit of 0 there is never a file, however long the output is', async () => {
  const { outputFile, drafts } = await scratch({ inlineBytes: 10, maxBytes: 0 });
  for (let n = 0; n < 20; n += 1) expect(outputFile.add('x'.repeat(1000))).toBeUndefined();
  expect(await outputFile.keep(FACTS)).toBeUndefined();
  expect(outputFile.isCut).toBe(false);
  expect(drafts()).toEqual([]);
});

test('a file that is not kept is removed, and one that is kept stays', async () => {
  const { store, outputFile, drafts } = await scratch({ inlineBytes: 1, maxBytes: 100 });
  await outputFile.add('of a run that never ended');
  await outputFile[Symbol.asyncDispose]();
  expect(drafts()).toEqual([]);
  expect(await store.list({ sessionId: 's' })).toEqual([]);

  const second = new OutputFile(store.writerFor(null), { inlineBytes: 1, maxBytes: 100 });
  await second.add('of a run that ended');
  const artifact = await second.keep(FACTS);
  await second[Symbol.asyncDispose]();
  expect(drafts()).toEqual([]);
  expect(await store.list({ sessionId: 's' })).toEqual([artifact]);
});

test('output that needed no file has nothing to remove', async () => {
  const { outputFile } = await scratch({ inlineBytes: 10, maxBytes: 100 });
  await outputFile.add('short');
  await expect(outputFile[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

async function scratch(limits: OutputFileLimits): Promise<{
  store: ArtifactStore;
  outputFile: OutputFile;
  drafts: () => string[];
}> {
  const directory = await mkdtemp(path.join(tmpdir(), 'output-file-'));
  const store = new ArtifactStore(directory);
  onTestFinished(async () => {
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });
  await store.list({ sessionId: 's' }); // makes the directories
  return {
    store,
    outputFile: new OutputFile(store.writerFor(null), limits),
    drafts: () => readdirSync(path.join(directory, 'incoming')),
  };
}
