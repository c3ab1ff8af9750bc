import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../../../artifact/store.ts';
import { parseConfig, type Limits } from '../../../config.ts';
import type { Summary } from '../../../execution/event.ts';
import { TOLD_CHARS } from '../../../execution/output-budget.ts';
import { DirectoryWorkspace } from '../../../workspace/directory-workspace.ts';
import { HostedFiles } from './files.ts';
import { OutputFiles } from './output-files.ts';

type Output = Readonly<Partial<Record<'stdout' | 'stderr', string>>>;

test('output has a file from the first byte on that a model would not be told', async () => {
  const { run } = await scratch();
  expect(await run(1, { stdout: 'x'.repeat(TOLD_CHARS), stderr: 'y'.repeat(TOLD_CHARS) })).toBeUndefined();
  expect(await run(2, { stdout: 'x'.repeat(TOLD_CHARS + 1) })).toMatchObject({ stdout: { sizeBytes: TOLD_CHARS + 1 } });
});

test('a smaller limit on output makes files of shorter outputs', async () => {
  const { run } = await scratch({ limits: { outputBytes: 1024 } });
  expect(await run(1, { stdout: 'x'.repeat(1024) })).toBeUndefined();
  expect(await run(2, { stdout: 'x'.repeat(1025) })).toMatchObject({ stdout: { sizeBytes: 1025 } });
});

test('each stream has its own file, named after the run, where the session finds it from any directory', async () => {
  const { run, store, inside } = await scratch();
  const spills = await run(7, { stdout: 'o'.repeat(5000), stderr: 'e'.repeat(6000) });
  expect(spills).toEqual({
    stdout: { path: '/workspace/.output/run-7.stdout.txt', id: expect.any(String) as unknown, sizeBytes: 5000 },
    stderr: { path: '/workspace/.output/run-7.stderr.txt', id: expect.any(String) as unknown, sizeBytes: 6000 },
  });
  expect(readFileSync(inside('.output/run-7.stdout.txt'), 'utf8')).toBe('o'.repeat(5000));
  expect(await text(await store.open(spills?.stderr?.id ?? ''))).toBe('e'.repeat(6000));
  expect(await store.get(spills?.stderr?.id ?? '')).toMatchObject({
    name: '.output/run-7.stderr.txt',
    mime: 'text/plain',
    sessionId: 'session',
    executionId: 'execution-7',
  });
});

test('a run does not count as the writer of the files with its output', async () => {
  const { run, files } = await scratch();
  await files.beginRun();
  await run(1, { stdout: 'x'.repeat(5000) });
  expect(await files.collect('later')).toEqual([]);
});

test('in a session for one run nothing is written to the workspace, but a copy is kept', async () => {
  const { run, store, inside } = await scratch({ isForOneRun: true });
  const spills = await run(1, { stdout: 'x'.repeat(5000) });
  expect(spills?.stdout).not.toHaveProperty('path');
  expect(existsSync(inside('.output'))).toBe(false);
  expect(await text(await store.open(spills?.stdout?.id ?? ''))).toHaveLength(5000);
});

const HALF_MB = 'x'.repeat(2 ** 19);

test('files that together are exactly as large as the limit all stay; one byte more removes the oldest', async () => {
  const { run, store, inside } = await scratch({ limits: { spillMb: 1 } });
  const first = await run(1, { stdout: HALF_MB });
  await run(2, { stdout: HALF_MB });
  expect(existsSync(inside('.output/run-1.stdout.txt'))).toBe(true);
  await run(3, { stdout: 'x'.repeat(4001) });
  expect(existsSync(inside('.output/run-1.stdout.txt'))).toBe(false);
  expect(existsSync(inside('.output/run-2.stdout.txt'))).toBe(true);
  expect(existsSync(inside('.output/run-3.stdout.txt'))).toBe(true);
  expect(await text(await store.open(first?.stdout?.id ?? ''))).toHaveLength(HALF_MB.length);
});

test('a file that is as large as the limit removes all others, also that of the same run', async () => {
  const { run, inside } = await scratch({ limits: { spillMb: 1 } });
  await run(1, { stdout: 'x'.repeat(5000) });
  const spills = await run(2, { stdout: 'x'.repeat(5000), stderr: 'e'.repeat(2 ** 20 + 1) });
  expect(spills?.stderr).toMatchObject({ sizeBytes: 2 ** 20, isCut: true });
  expect(spills?.stdout).not.toHaveProperty('isCut');
  expect(existsSync(inside('.output/run-1.stdout.txt'))).toBe(false);
  expect(existsSync(inside('.output/run-2.stdout.txt'))).toBe(false);
  expect(existsSync(inside('.output/run-2.stderr.txt'))).toBe(true);
});

test('a program that removes such a file, or puts a directory there, stops nothing', async () => {
  const { run, inside } = await scratch({ limits: { spillMb: 1 } });
  await run(1, { stdout: HALF_MB });
  await run(2, { stdout: HALF_MB });
  rmSync(inside('.output/run-1.stdout.txt'));
  rmSync(inside('.output/run-2.stdout.txt'));
  mkdirSync(inside('.output/run-2.stdout.txt/full'), { recursive: true });
  const spills = await run(3, { stdout: `${HALF_MB}!` });
  expect(spills?.stdout?.path).toBe('/workspace/.output/run-3.stdout.txt');
});

test('a workspace that refuses the file costs the path and nothing else, and does not last', async () => {
  const { run, store, inside } = await scratch();
  writeFileSync(inside('.output'), 'a file where the directory should be');
  const refused = await run(1, { stdout: 'x'.repeat(5000) });
  expect(refused?.stdout).toEqual({ id: expect.any(String) as unknown, sizeBytes: 5000 });
  expect(await text(await store.open(refused?.stdout?.id ?? ''))).toHaveLength(5000);
  rmSync(inside('.output'));
  expect(await run(2, { stdout: 'x'.repeat(5000) })).toMatchObject({ stdout: { path: expect.any(String) as unknown } });
});

test('with a limit of 0 nothing is written anywhere', async () => {
  const { run, store, inside } = await scratch({ limits: { spillMb: 0 } });
  expect(await run(1, { stdout: 'x'.repeat(50_000) })).toBeUndefined();
  expect(existsSync(inside('.output'))).toBe(false);
  expect(await store.list({ sessionId: 'session' })).toEqual([]);
});

test('events other than output take no time and write nothing', async () => {
  const { outputFiles } = await scratch();
  const run = outputFiles.beginRun();
  expect(run.onEvent({ type: 'clear' })).toBeUndefined();
  const result = { kind: 'display', data: { 'text/plain': 'x'.repeat(50_000) } } as const;
  expect(run.onEvent({ type: 'result', result })).toBeUndefined();
  expect(await run.keep(outputFiles, { number: 1, sessionId: 's', executionId: 'e' })).toBeUndefined();
});

interface Scratch {
  readonly store: ArtifactStore;
  readonly files: HostedFiles;
  readonly outputFiles: OutputFiles;
  readonly inside: (name: string) => string;
  readonly run: (number: number, output: Output) => Promise<Summary['spills']>;
}

async function scratch(options: { limits?: Partial<Limits>; isForOneRun?: boolean } = {}): Promise<Scratch> {
  const base = await mkdtemp(path.join(tmpdir(), 'output-files-'));
  const workspacePath = path.join(base, 'workspace');
  mkdirSync(workspacePath);
  const { limits } = parseConfig({ dataDir: base, limits: options.limits ?? {} });
  const uid = process.getuid?.() ?? 0;
  const workspace = new DirectoryWorkspace({ path: workspacePath, uid, sessionPath: '/workspace' });
  const store = new ArtifactStore(path.join(base, 'artifacts'));
  onTestFinished(async () => {
    await store.close();
    await rm(base, { recursive: true, force: true });
  });
  const files = new HostedFiles({ id: 'session', workspace }, store.writerFor(null), { limits }, options.isForOneRun);
  const outputFiles = new OutputFiles(store.writerFor(null), files, limits);
  return {
    store,
    files,
    outputFiles,
    inside: (name) => path.join(workspacePath, name),
    run: async (number, output) => {
      await using run = outputFiles.beginRun();
      for (const stream of ['stdout', 'stderr'] as const) {
        const printed = output[stream] ?? '';
        await run.onEvent({ type: 'output', stream, text: printed.slice(0, 3000) });
        await run.onEvent({ type: 'output', stream, text: printed.slice(3000) });
      }
      return await run.keep(outputFiles, { number, sessionId: 'session', executionId: `execution-${number}` });
    },
  };
}
