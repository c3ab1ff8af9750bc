import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../../artifact/store.ts';
import type { Execution, ProducedFigure, ProducedFile } from '../../execution/execution.ts';
import { RunFolder } from './artifact-folder.ts';
import { payloadOf, type CodeInterpreterPayload } from './payload.ts';
import { errorOf, stderrOf, ToolResult } from './result.ts';

const QUIET = {
  outcome: { status: 'succeeded' },
  logs: { stdout: '', stderr: '' },
  results: [],
  figures: [],
  files: [],
  dataframes: [],
} as unknown as Execution;

let directory: string;
let store: ArtifactStore;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'payload-'));
  store = new ArtifactStore(path.join(directory, 'store'));
  onTestFinished(async () => {
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });
});

/** A file that the run wrote, with its copy in the store. */
async function produced(name: string, content: string, mime = 'text/plain'): Promise<ProducedFile> {
  const chunks = async function* () {
    await Promise.resolve();
    yield Buffer.from(content);
  };
  const { id } = await store.writerFor(null).keep({ chunks }, { name, sessionId: 's', executionId: 'e' });
  return { path: name, id, sizeBytes: Buffer.byteLength(content), mime, change: 'created' };
}

function collect(changes: Partial<Execution>, plotsInFiles = false): Promise<CodeInterpreterPayload> {
  const folder = new RunFolder(path.join(directory, 'run'));
  return payloadOf({ execution: { ...QUIET, ...changes }, artifacts: store, folder, plotsInFiles });
}

function names(files: readonly { readonly path: string }[]): string[] {
  return files.map((file) => path.relative(path.join(directory, 'run'), file.path));
}

test('the payload has five keys and no others', async () => {
  const dataframes = [{ name: 'df', repr: 'rows', rows: 1 }] as unknown as Execution['dataframes'];
  expect(await collect({ logs: { stdout: 'out', stderr: 'err' }, dataframes })).toEqual({
    stdout: 'out',
    stderr: 'err',
    files: [],
    plots: [],
    dataframes: [{ name: 'df', repr: 'rows' }],
  });
});

test('S-43 files are sorted by path, images are plots, and each path can be opened', async () => {
  const files = [
    await produced('z.txt', 'zz'),
    await produced('deep/a.csv', 'a'),
    await produced('b.png', 'png', 'image/png'),
    await produced('a.svg', 'svg', 'image/svg+xml'),
  ];
  const payload = await collect({ files });
  expect(names(payload.files)).toEqual(['deep/a.csv', 'z.txt']);
  expect(names(payload.plots)).toEqual(['a.svg', 'b.png']);
  expect(payload.files.map(({ size }) => size)).toEqual([1, 2]);
  expect(await readFile(payload.files[1]?.path ?? '', 'utf8')).toBe('zz');
});

test('SB-08 a figure that was saved is one plot under its own name, and comes before other images', async () => {
  const files = [await produced('a.png', 'other', 'image/png'), await produced('z.png', 'figure', 'image/png')];
  const figures: ProducedFigure[] = [{ path: 'z.png', mime: 'image/png', sizeBytes: 6 }];
  expect(names((await collect({ files, figures })).plots)).toEqual(['z.png', 'a.png']);
});

test('a figure without a file gets the next free number', async () => {
  const data = { 'image/png': Buffer.from('shown').toString('base64') };
  const results = [{ kind: 'figure', data }] as const;
  const figure: ProducedFigure = { result: 0, mime: 'image/png', sizeBytes: 5 };
  const files = [await produced('plots/plot_2.png', 'mine', 'image/png')];
  const { plots } = await collect({ results, figures: [figure, figure, { ...figure, result: 9 }], files });
  expect(names(plots)).toEqual(['plots/plot_1.png', 'plots/plot_3.png', 'plots/plot_2.png']);
  expect(await readFile(plots[0]?.path ?? '', 'utf8')).toBe('shown');
});

test('SB-08 plots are listed under files too on request, sorted with them', async () => {
  const files = [await produced('b.txt', 'b'), await produced('a.png', 'a', 'image/png')];
  const { files: listed, plots } = await collect({ files }, true);
  expect(names(listed)).toEqual(['a.png', 'b.txt']);
  expect(names(plots)).toEqual(['a.png']);
});

test('SB-09 the full text of long output is a file', async () => {
  const { id = '', sizeBytes } = await produced('x', 'everything');
  const { files } = await collect({ spills: { stdout: { id, sizeBytes } } });
  expect(names(files)).toEqual(['output/stdout.txt']);
  expect(await readFile(files[0]?.path ?? '', 'utf8')).toBe('everything');
});

test('a file without a copy is missing from the list, and stderr says why', async () => {
  const gone = await produced('gone.txt', 'x');
  await store.remove(gone.id ?? '');
  const files: ProducedFile[] = [
    gone,
    { path: 'big.bin', sizeBytes: 9, mime: 'a/b', change: 'created', notKept: 'it is too large' },
    { path: 'no.bin', sizeBytes: 9, mime: 'a/b', change: 'created' },
    { ...(await produced('x', 'hostile')), path: '../../escape' },
  ];
  const payload = await collect({ files, logs: { stdout: '', stderr: 'warning' } });
  expect(payload.files).toEqual([]);
  const lines = payload.stderr.split('\n');
  expect(lines[0]).toBe('warning');
  expect(lines[1]).toMatch(/^The file \.\.\/\.\.\/escape was not kept: /);
  expect(lines[2]).toBe('The file big.bin was not kept: it is too large.');
  expect(lines[3]).toMatch(/^The file gone\.txt was not kept: /);
  expect(lines[4]).toBe('The file no.bin was not kept: no copy was made.');
});

test('at most five missing files are named', async () => {
  const lost = (count: number): ProducedFile[] =>
    Array.from({ length: count }, (_, n) => ({ path: `f${n}`, sizeBytes: 1, mime: 'a/b', change: 'created' as const }));
  expect((await collect({ files: lost(5) })).stderr).not.toContain('more files');
  const { stderr } = await collect({ files: lost(7) });
  expect(stderr.split('\n')).toHaveLength(6);
  expect(stderr).toMatch(/\n2 more files were not kept\.$/);
});

test.for<[Execution['outcome'], string | null]>([
  [{ status: 'succeeded' }, null],
  [{ status: 'raised' }, 'ValueError: bad'],
  [{ status: 'timed-out', limit: 'wall', limitMs: 5000 }, 'Code execution timed out after 5.0 seconds'],
  [{ status: 'out-of-memory', limitMb: 64 }, 'Memory limit exceeded during code execution'],
  [{ status: 'crashed', signal: null, exitCode: 3, reason: 'it left' }, 'Code execution failed unexpectedly: it left'],
  [{ status: 'cancelled' }, 'Code execution was cancelled'],
])('the outcome %o has these words', ([outcome, words]) => {
  const error = { name: 'ValueError', value: 'bad', traceback: '' };
  expect(errorOf({ ...QUIET, outcome, error })).toBe(words);
});

test.for([
  ['', null, 'log'],
  ['0', null, 'log'],
  ['None', null, 'log'],
  ['1', 'SystemExit: 1', 'log\nTraceback'],
  ['False', 'SystemExit: False', 'log\nTraceback'],
] as const)('SB-05 sys.exit with %j is an error: %j', ([value, words, stderr]) => {
  const error = { name: 'SystemExit', value, traceback: 'Traceback' };
  const run = { ...QUIET, outcome: { status: 'raised' }, error, logs: { stdout: '', stderr: 'log' } } as const;
  expect(errorOf(run)).toBe(words);
  expect(stderrOf(run)).toBe(stderr);
});

test('a result with an error still has its output, and a result without one is its output', () => {
  expect(String(new ToolResult('out', 'E: bad'))).toBe('out\nE: bad');
  expect([new ToolResult('', 'E').isError, new ToolResult('', 'E').is_error]).toEqual([true, true]);
  const fine = new ToolResult('out');
  expect([String(fine), fine.isError, fine.error, fine.metadata]).toEqual(['out', false, null, {}]);
});
