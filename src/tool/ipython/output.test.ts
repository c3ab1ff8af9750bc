import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Execution, Result } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { describeFailure, describeLoss, publishImageToLocal, render } from './output.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2]);
const PRESERVED = { status: 'preserved', generation: 1, variables: { added: [], changed: [], removed: [] } } as const;

let workDir: string;
beforeEach(async () => {
  workDir = path.join(await mkdtemp(path.join(os.tmpdir(), 'output-')), 'new', 'folder');
  onTestFinished(() => rm(path.dirname(path.dirname(workDir)), { recursive: true, force: true }));
});

const print = (text: string, stream: 'stdout' | 'stderr' = 'stdout'): TranscriptItem => ({
  type: 'text',
  stream,
  text,
});
const show = (kind: Result['kind'], data: Result['data']): TranscriptItem => ({
  type: 'result',
  result: { kind, data },
});

test('L-36 text, errors and values are in the order in which they came, each on its own line', async () => {
  const items = [
    print('a\n'),
    print('warn', 'stderr'),
    show('display', { 'text/plain': 'shown' }),
    print(''),
    print('end'),
  ];
  expect(await render(items, workDir)).toEqual({ text: 'a\nwarn\nshown\nend', images: [] });
});

test.for([
  ['image/png', PNG.toString('base64'), '.png', 'image', PNG],
  ['image/jpeg', Buffer.from('jpeg').toString('base64'), '.jpg', 'image', Buffer.from('jpeg')],
  ['image/svg+xml', '<svg/>', '.svg', 'image', Buffer.from('<svg/>')],
  ['application/vnd.plotly.v1+json', '{"data":[]}', '.plotly.json', 'file', Buffer.from('{"data":[]}')],
] as const)('L-37 a figure of type %s becomes a file', async ([mime, content, extension, type, bytes]) => {
  const { text, images } = await render([show('figure', { 'text/plain': '<Figure>', [mime]: content })], workDir);
  expect(text).toBe('');
  expect(images.map((image) => image.type)).toEqual([type]);
  const file = images[0]?.content ?? '';
  expect(path.dirname(file)).toBe(workDir);
  expect(file.endsWith(extension)).toBe(true);
  expect((await readFile(file)).equals(bytes)).toBe(true);
});

test('a figure in several forms is saved once, in the best form; as last value it is also told as text', async () => {
  const data = { 'text/plain': 'fig', 'image/svg+xml': '<svg/>', 'image/png': PNG.toString('base64') };
  const { text, images } = await render([show('result', data), show('display', data)], workDir);
  expect(text).toBe('fig');
  expect(images).toHaveLength(2);
  expect((await readdir(workDir)).map((name) => path.extname(name))).toEqual(['.png', '.png']);
});

test('nothing is written without figures, and a value without a text is no line', async () => {
  expect(await render([print('a\n'), show('display', { 'text/html': '<b>' }), print('b')], workDir)).toEqual({
    text: 'a\nb',
    images: [],
  });
  await expect(readdir(workDir)).rejects.toThrow('ENOENT');
});

test('L-17 a PNG is published under a new name each time, and nothing else is', async () => {
  const encoded = PNG.toString('base64');
  const [first, second] = [await publishImageToLocal(encoded, workDir), await publishImageToLocal(encoded, workDir)];
  expect(first).not.toBe(second);
  expect(await readFile(first)).toEqual(PNG);
  for (const wrong of ['', 'aGVsbG8=', encoded.slice(4)]) {
    await expect(publishImageToLocal(wrong, workDir)).rejects.toThrow(/not a PNG in base64/);
  }
});

test.for<[string, Partial<Execution>, string | null]>([
  ['success', { outcome: { status: 'succeeded' } }, null],
  [
    'an exception',
    { outcome: { status: 'raised' }, error: { name: 'E', value: '', traceback: '\u001B[31mTraceback\u001B[0m' } },
    'text\nTraceback',
  ],
  [
    'a timeout',
    { outcome: { status: 'timed-out', limit: 'wall', limitMs: 1500 } },
    'text\nTimeout. No response after 1.5 seconds.',
  ],
  [
    'a timeout with its state restored',
    {
      outcome: { status: 'timed-out', limit: 'wall', limitMs: 1500 },
      state: { ...PRESERVED, status: 'restored', reason: 'it was stuck' },
    },
    'text\nTimeout. No response after 1.5 seconds.\nThe process was lost (it was stuck); every variable is as it was before this run.',
  ],
  [
    'a crash',
    {
      outcome: { status: 'crashed', signal: 'SIGSEGV', exitCode: null, reason: 'killed by SIGSEGV' },
      state: { ...PRESERVED, status: 'lost', reason: 'it crashed' },
    },
    'text\nThe run crashed: killed by SIGSEGV.\nAll variables are lost (it crashed); this is a fresh interpreter.',
  ],
  ['cancelling', { outcome: { status: 'cancelled' } }, 'text\nThe run was cancelled.'],
])('L-34 the message after %s', ([, changes, message]) => {
  const execution = { state: PRESERVED, ...changes } as Execution;
  expect(describeFailure(execution, 'text', 'Timeout. No response after 1.5 seconds.')).toBe(message);
});

test('a loss before a successful run is told; a failed run tells it in its message', () => {
  const state = { ...PRESERVED, status: 'lost', reason: 'idle' } as const;
  const run = { outcome: { status: 'succeeded' }, state } as unknown as Execution;
  expect(describeLoss(run)).toBe('All variables are lost (idle); this is a fresh interpreter.');
  expect(describeLoss({ ...run, state: PRESERVED })).toBe('');
  expect(describeLoss({ ...run, outcome: { status: 'raised' } })).toBe('');
});
