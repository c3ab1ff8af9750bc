import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../../../artifact/store.ts';
import { parseConfig } from '../../../config.ts';
import type { Event, Summary } from '../../../execution/event.ts';
import type { Outcome } from '../../../execution/outcome.ts';
import { DirectoryWorkspace } from '../../../workspace/directory-workspace.ts';
import { SessionArtifacts, type RunArtifacts } from './artifacts.ts';
import { HostedFiles } from './files.ts';

const PNG = 'iVBORw0KGgo=';
const REASON = 'the workspace holds 3 MB, which is more than the 1 MB that it may hold';
const CRASHED: Outcome = { status: 'crashed', signal: null, exitCode: null, reason: REASON };

test('files come before figures, and spills after both', async () => {
  const { begin, inside } = await scratch();
  const run = await begin();
  await run.onEvent({ type: 'output', stream: 'stdout', text: 'x'.repeat(5000) });
  await run.onEvent({ type: 'result', result: { kind: 'figure', data: { 'image/png': PNG } }, picture: 1 });
  writeFileSync(inside('b.png'), 'x');
  writeFileSync(inside('a.txt'), 'x');
  const end = summary({ savedFigures: [{ path: 'b.png', title: 'Saved' }] });
  const events = await collected(run, end);
  expect(events.map((event) => (event.type === 'file' ? event.file.path : event.type))).toEqual([
    'a.txt',
    'b.png',
    'figure',
    'figure',
  ]);
  expect(run.complete(end)).toMatchObject({
    spills: { stdout: { sizeBytes: 5000 } },
    outcome: { status: 'succeeded' },
  });
});

test('a run that only looked is not asked for files, and a quiet one has no spills', async () => {
  const { begin, inside } = await scratch();
  const run = await begin();
  writeFileSync(inside('by somebody else'), 'x');
  const end = summary({ mayHaveWritten: false });
  expect(await collected(run, end)).toEqual([]);
  expect(run.complete(end)).toEqual(end);
});

test('only a long output takes time', async () => {
  const { begin } = await scratch();
  const run = await begin();
  expect(run.onEvent({ type: 'clear' })).toBeUndefined();
  expect(run.onEvent({ type: 'output', stream: 'stderr', text: 'short' })).toBeUndefined();
  const writing = run.onEvent({ type: 'output', stream: 'stderr', text: 'x'.repeat(5000) });
  expect(writing).toBeInstanceOf(Promise);
  await writing;
  await run.close();
});

test.for<[outcome: Outcome, hasGrown: boolean, expected: Outcome]>([
  [{ status: 'succeeded' }, true, CRASHED],
  [{ status: 'raised' }, true, CRASHED],
  [{ status: 'succeeded' }, false, { status: 'succeeded' }],
  [{ status: 'raised' }, false, { status: 'raised' }],
  [{ status: 'cancelled' }, true, { status: 'cancelled' }],
  [{ status: 'timed-out', limit: 'wall', limitMs: 5 }, true, { status: 'timed-out', limit: 'wall', limitMs: 5 }],
])('in a workspace that is too large, %j after growing: %s ends as %j', async ([outcome, hasGrown, expected]) => {
  const { begin, inside } = await scratch();
  if (!hasGrown) writeFileSync(inside('large'), Buffer.alloc(3 << 20));
  const run = await begin();
  if (hasGrown) writeFileSync(inside('large'), Buffer.alloc(3 << 20));
  const end = summary({ outcome });
  await collected(run, end);
  const complete = run.complete(end);
  expect(complete.outcome).toEqual(expected);
  const isRemarked = expected.status !== 'crashed';
  expect(complete.state).toEqual(isRemarked ? { ...end.state, reason: REASON } : end.state);
});

test('a receipt that has a reason keeps it, and a run that only looked hears nothing of the size', async () => {
  const { begin, inside } = await scratch();
  writeFileSync(inside('large'), Buffer.alloc(3 << 20));
  const run = await begin();
  const lost = summary({ state: { ...summary().state, status: 'lost', reason: 'it was lost' } });
  await collected(run, lost);
  expect(run.complete(lost).state.reason).toMatch(/^it was lost; the workspace holds 3 MB/);
  const looked = summary({ mayHaveWritten: false });
  expect(run.complete(looked)).toEqual(looked);
});

function summary(more: Partial<Summary> = {}): Summary {
  return {
    id: 'e',
    sessionId: 's',
    outcome: { status: 'succeeded' },
    dataframes: [],
    state: { status: 'preserved', generation: 1, variables: { added: [], changed: [], removed: [] } },
    durationMs: 1,
    isolation: {} as Summary['isolation'],
    outputBytes: { stdout: 0, stderr: 0 },
    mayHaveWritten: true,
    ...more,
  };
}

async function collected(run: RunArtifacts, end: Summary): Promise<Event[]> {
  const events: Event[] = [];
  await run.collect(end, (event) => void events.push(event));
  await run.close();
  return events;
}

async function scratch(): Promise<{ begin: () => Promise<RunArtifacts>; inside: (name: string) => string }> {
  const base = await mkdtemp(path.join(tmpdir(), 'run-artifacts-'));
  const workspace = new DirectoryWorkspace({ path: path.join(base, 'workspace'), uid: process.getuid?.() ?? 0 });
  mkdirSync(workspace.path);
  const store = new ArtifactStore(path.join(base, 'artifacts'));
  onTestFinished(async () => {
    await store.close();
    await rm(base, { recursive: true, force: true });
  });
  const { limits } = parseConfig({ dataDir: base, limits: { workspaceMb: 1 } });
  const writer = store.writerFor(null);
  const files = new HostedFiles({ id: 's', workspace }, writer, { limits });
  const artifacts = new SessionArtifacts({ sessionId: 's', store: writer, files, limits });
  return {
    begin: async () => {
      await files.beginRun();
      return artifacts.beginRun({ number: 1, executionId: 'e' });
    },
    inside: (name) => path.join(workspace.path, name),
  };
}
