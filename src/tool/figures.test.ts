import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../artifact/store.ts';
import type { Execution, ProducedFigure } from '../execution/execution.ts';
import { dataUri, figureBytes, loadFigures } from './figures.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
const SHOWN: ProducedFigure = { result: 0, mime: 'image/png', sizeBytes: 4 };

function execution(figures: readonly ProducedFigure[]): Execution {
  const results = [
    { kind: 'figure', data: { 'text/plain': '<Figure>', 'image/png': PNG.toString('base64') } },
    { kind: 'figure', data: { 'text/plain': '<svg>', 'image/svg+xml': '<svg>é</svg>' } },
  ] as const;
  return { results, figures } as unknown as Execution;
}

function openStore(): ArtifactStore {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'figures-'));
  const store = new ArtifactStore(directory);
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return store;
}

async function keep(store: ArtifactStore, bytes: Buffer): Promise<string> {
  const file = {
    chunks: async function* () {
      await Promise.resolve();
      yield bytes;
    },
  };
  const facts = { name: 'a.png', sessionId: 's', executionId: 'e' };
  return (await store.writerFor(null).keep(file, facts)).id;
}

test('a shown figure comes from its result: images as bytes, SVG as text', async () => {
  const store = openStore();
  const svg: ProducedFigure = { result: 1, mime: 'image/svg+xml', sizeBytes: 9 };
  const run = execution([SHOWN, svg]);
  const loaded = await loadFigures(run, store);
  expect(loaded.map(({ figure }) => figure)).toEqual([SHOWN, svg]);
  expect(loaded.map(({ bytes }) => bytes.toString('latin1'))).toEqual([
    PNG.toString('latin1'),
    Buffer.from('<svg>é</svg>').toString('latin1'),
  ]);
});

test('a figure that was only saved comes from the artifact store', async () => {
  const store = openStore();
  const id = await keep(store, PNG);
  const saved: ProducedFigure = { id, path: 'a.png', mime: 'image/png', sizeBytes: 4 };
  expect(await figureBytes(saved, execution([saved]), store)).toEqual(PNG);
  expect(await buffer(await store.open(id))).toEqual(PNG);
});

test('a figure that is too large, was never kept or is no longer kept is left out, and the others stay', async () => {
  const store = openStore();
  const id = await keep(store, PNG);
  await store.remove(id);
  const figures: ProducedFigure[] = [
    { ...SHOWN, sizeBytes: 20_000_001 },
    { mime: 'image/png', sizeBytes: 4 },
    { id, mime: 'image/png', sizeBytes: 4 },
    { result: 7, mime: 'image/png', sizeBytes: 4 },
    { result: 0, mime: 'image/jpeg', sizeBytes: 4 },
    { ...SHOWN, sizeBytes: 20_000_000 },
  ];
  const loaded = await loadFigures(execution(figures), store);
  expect(loaded.map(({ figure }) => figure)).toEqual(figures.slice(-1));
});

test('a fault of the store is not taken for a missing figure', async () => {
  const broken = { open: () => Promise.reject(new RangeError('disk')) } as unknown as ArtifactStore;
  const figure: ProducedFigure = { id: 'a', mime: 'image/png', sizeBytes: 4 };
  await expect(figureBytes(figure, execution([figure]), broken)).rejects.toThrow('disk');
});

test('P-15 an image becomes a data URI', () => {
  expect(dataUri({ figure: SHOWN, bytes: PNG })).toBe('data:image/png;base64,iVBORw==');
});
