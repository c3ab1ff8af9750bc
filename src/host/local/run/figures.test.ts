import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { PLOTLY } from '../../../artifact/mime.ts';
import { ArtifactStore } from '../../../artifact/store.ts';
import type { Event, SavedFigure } from '../../../execution/event.ts';
import type { ProducedFigure, ProducedFile, Result } from '../../../execution/execution.ts';
import { RunFigures } from './figures.ts';

const PNG_BYTES = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]);
const PNG = PNG_BYTES.toString('base64');

function shown(data: Result['data'], more: Partial<Result> & { picture?: number } = {}): Event {
  const { picture, ...rest } = more;
  return { type: 'result', result: { kind: 'figure', data, ...rest }, ...(picture !== undefined && { picture }) };
}

function written(name: string, more: Partial<ProducedFile> = {}): ProducedFile {
  return {
    path: name,
    sizeBytes: 9,
    mime: 'image/png',
    change: 'created',
    id: `id-${name}`,
    sha256: 'f'.repeat(64),
    ...more,
  };
}

test.for<[string, Result['data'], mime: string, name: string, content: string]>([
  [
    'PNG before everything else',
    { 'image/svg+xml': '<svg/>', [PLOTLY]: '{}', 'image/png': PNG },
    'image/png',
    'figure-1.png',
    PNG_BYTES.toString('latin1'),
  ],
  [
    'JPEG before SVG',
    { 'image/svg+xml': '<svg/>', 'image/jpeg': PNG },
    'image/jpeg',
    'figure-1.jpg',
    PNG_BYTES.toString('latin1'),
  ],
  [
    'SVG before GIF',
    { 'image/gif': PNG, 'image/svg+xml': '<svg>é</svg>' },
    'image/svg+xml',
    'figure-1.svg',
    Buffer.from('<svg>é</svg>').toString('latin1'),
  ],
  [
    'GIF before WebP',
    { 'image/webp': 'AA==', 'image/gif': PNG },
    'image/gif',
    'figure-1.gif',
    PNG_BYTES.toString('latin1'),
  ],
  [
    'WebP before plotly',
    { [PLOTLY]: '{}', 'image/webp': PNG },
    'image/webp',
    'figure-1.webp',
    PNG_BYTES.toString('latin1'),
  ],
  [
    'plotly where there is no picture',
    { 'text/html': '<div/>', [PLOTLY]: '{"data": []}' },
    PLOTLY,
    'figure-1.plotly.json',
    '{"data": []}',
  ],
])('the best form of a picture is kept: %s', async ([, data, mime, name, content]) => {
  const { store, collect } = await scratch();
  const [figure] = await collect([shown({ 'text/plain': 'Figure', ...data })]);
  expect(figure).toMatchObject({ result: 0, mime, sizeBytes: content.length });
  expect(await store.get(figure?.id ?? '')).toMatchObject({ name, mime, sessionId: 's', executionId: 'e' });
  expect((await buffer(await store.open(figure?.id ?? ''))).toString('latin1')).toBe(content);
});

test('a result without a picture is no figure, but counts as a result', async () => {
  const { collect } = await scratch();
  const events = [
    shown({ 'text/plain': '1' }),
    shown({ 'image/png': PNG }),
    shown({ 'text/html': '<b/>' }),
    shown({ 'image/png': PNG }),
  ];
  expect((await collect(events)).map(({ result }) => result)).toEqual([1, 3]);
});

test('events that show nothing change nothing', () => {
  const figures = new RunFigures();
  figures.onEvent({ type: 'output', stream: 'stdout', text: 'image/png' });
  figures.onEvent(shown({ 'text/plain': 'a table' }));
  expect(figures.isAny).toBe(false);
  figures.onEvent(shown({ 'image/png': PNG }));
  expect(figures.isAny).toBe(true);
});

test('clearing the output drops the pictures before it, and counting starts again', async () => {
  const { store, collect } = await scratch();
  const [figure, ...others] = await collect([
    shown({ 'image/png': PNG }, { title: 'cleared' }),
    shown({ 'text/plain': '1' }),
    { type: 'clear' },
    shown({ 'image/png': PNG }, { title: 'stays' }),
  ]);
  expect(figure).toMatchObject({ result: 0, title: 'stays' });
  expect(others).toEqual([]);
  expect((await store.list({ sessionId: 's' })).map(({ name }) => name)).toEqual(['figure-1.png']);
});

test('pictures keep their order, and each has a name of its own', async () => {
  const { store, collect } = await scratch();
  const figures = await collect([
    shown({ 'image/png': PNG }, { title: 'one', chart: { type: 'line' } }),
    shown({ 'image/svg+xml': '<svg/>' }, { title: 'two' }),
    shown({ 'image/png': PNG }),
  ]);
  expect(figures.map(({ result, title, chart }) => [result, title, chart])).toEqual([
    [0, 'one', { type: 'line' }],
    [1, 'two', undefined],
    [2, undefined, undefined],
  ]);
  expect(figures[2]).not.toHaveProperty('title');
  expect(figures[2]).not.toHaveProperty('chart');
  const names = (await store.list({ sessionId: 's' })).map(({ name }) => name);
  expect(names).toEqual(['figure-1.png', 'figure-2.svg', 'figure-3.png']);
});

test('a figure that was shown and saved is one figure, with its path', async () => {
  const { collect } = await scratch();
  const events = [shown({ 'image/png': PNG }, { picture: 1 }), shown({ 'image/png': PNG }, { picture: 2 })];
  const figures = await collect(events, [{ path: 'plots/two.png', picture: 2 }], [written('plots/two.png')]);
  expect(figures).toHaveLength(2);
  expect(figures[0]).not.toHaveProperty('path');
  expect(figures[1]).toMatchObject({ result: 1, path: 'plots/two.png' });
  expect(figures[1]?.id).not.toBe('id-plots/two.png');
});

test('a path is told only if the run wrote the file', async () => {
  const { collect } = await scratch();
  const shownOnce = [shown({ 'image/png': PNG }, { picture: 1 })];
  const [figure] = await collect(shownOnce, [{ path: '/etc/passwd', picture: 1 }], [written('other.png')]);
  expect(figure).not.toHaveProperty('path');
  expect(await collect([], [{ path: '/etc/passwd', title: 'T' }], [written('other.png')])).toEqual([]);
});

test('a figure that was only saved comes last, with what is known of its file', async () => {
  const { store, collect } = await scratch();
  const saved: SavedFigure[] = [{ path: 'kept.png', title: 'Kept', chart: [1] }, { path: 'large.png' }];
  const large = {
    path: 'large.png',
    sizeBytes: 5,
    mime: 'image/png',
    change: 'created',
    notKept: 'too large',
  } as const;
  const figures = await collect([shown({ 'image/png': PNG })], saved, [large, written('kept.png')]);
  expect(figures).toEqual([
    expect.objectContaining({ result: 0 }),
    {
      title: 'Kept',
      chart: [1],
      path: 'kept.png',
      mime: 'image/png',
      sizeBytes: 9,
      id: 'id-kept.png',
      sha256: 'f'.repeat(64),
    },
    { path: 'large.png', mime: 'image/png', sizeBytes: 5, notKept: 'too large' },
  ]);
  expect(await store.list({ sessionId: 's' })).toHaveLength(1);
});

test('a picture without a number is not taken for a saved one without a number', async () => {
  const { collect } = await scratch();
  const figures = await collect([shown({ 'image/png': PNG })], [{ path: 'a.png' }], [written('a.png')]);
  expect(figures.map(({ result, path: name }) => [result, name])).toEqual([
    [0, undefined],
    [undefined, 'a.png'],
  ]);
});

test('100 pictures are kept; the others are listed with their size and the reason', async () => {
  const { store, collect } = await scratch();
  const figures = await collect(Array.from({ length: 102 }, () => shown({ 'image/png': PNG }, { title: 'T' })));
  expect(figures.filter(({ id }) => id !== undefined)).toHaveLength(100);
  expect(figures.slice(99)).toEqual([
    expect.objectContaining({ result: 99, id: expect.any(String) as unknown }),
    { result: 100, title: 'T', mime: 'image/png', sizeBytes: PNG_BYTES.length, notKept: 'more than 100 pictures' },
    { result: 101, title: 'T', mime: 'image/png', sizeBytes: PNG_BYTES.length, notKept: 'more than 100 pictures' },
  ]);
  expect(await store.list({ sessionId: 's' })).toHaveLength(100);
});

test('content that is not base64 gives a picture that is broken, not an error', async () => {
  const { collect } = await scratch();
  const [figure] = await collect([shown({ 'image/png': '!!! not base64 !!!' })]);
  expect(figure).toMatchObject({ result: 0, mime: 'image/png', id: expect.any(String) as unknown });
});

async function scratch(): Promise<{
  store: ArtifactStore;
  collect: (
    events: readonly Event[],
    saved?: readonly SavedFigure[],
    files?: readonly ProducedFile[],
  ) => Promise<ProducedFigure[]>;
}> {
  const directory = await mkdtemp(path.join(tmpdir(), 'figures-'));
  const store = new ArtifactStore(directory);
  onTestFinished(async () => {
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    store,
    collect: (events, saved = [], files = []) => {
      const figures = new RunFigures();
      for (const event of events) figures.onEvent(event);
      const keep = { store: store.writerFor(null), sessionId: 's', executionId: 'e' };
      return Array.fromAsync(figures.collect(saved, files, keep));
    },
  };
}
