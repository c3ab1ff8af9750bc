import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RunStore, resultOf, type StoredStep, type StoreRetention } from './run-store.ts';

const DAY_MS = 86_400_000;
const PLENTY: StoreRetention = { maxAgeMs: 7 * DAY_MS, maxTotalBytes: 1 << 20 };

async function openStore(retention = PLENTY, directory = makeDirectory()): Promise<RunStore> {
  const store = await RunStore.open(path.join(directory, 'runs.sqlite'), retention);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

function makeDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'viv-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function step(id: string, more: Partial<StoredStep> = {}): StoredStep {
  return {
    id,
    owner: null,
    sessionId: 's',
    kind: 'run',
    startedAt: new Date(),
    code: '1',
    echo: 'last',
    mayHaveWritten: true,
    status: 200,
    body: '{"id":"x"}',
    ...more,
  };
}

test('a run comes back as it was, to its owner and to nobody else', async () => {
  const store = await openStore();
  const own = step('a', { owner: 'ada' });
  await store.add(own);
  expect(await store.find('a', 'ada')).toEqual(own);
  expect(await store.find('a', null)).toEqual(own);
  expect(await store.find('a', 'bob')).toBeUndefined();
  expect(await store.find('b', null)).toBeUndefined();
  expect(await store.ofSession('s', 'bob')).toEqual([]);
});

test('nobody can replace a run', async () => {
  const store = await openStore();
  await store.add(step('a', { owner: 'ada' }));
  await store.add(step('a', { owner: 'bob', code: 'other' }));
  expect(await store.find('a', null)).toMatchObject({ owner: 'ada', code: '1' });
});

test('the steps of a session come in order, and only runs are found by their ids', async () => {
  const store = await openStore();
  await store.add(step('late', { startedAt: new Date(2000) }));
  await store.add(step('early', { startedAt: new Date(1000) }));
  await store.add(step('reset', { startedAt: new Date(1500), kind: 'reset' }));
  await store.add(step('other', { sessionId: 't' }));
  expect((await store.ofSession('s', null)).map(({ id }) => id)).toEqual(['early', 'reset', 'late']);
  expect(await store.find('reset', null)).toBeUndefined();
});

test('a result is an execution or an error', () => {
  expect(resultOf(step('a'))).toEqual({ execution: { id: 'x' } });
  expect(resultOf(step('a', { status: 410, body: '{"code":"SESSION_CLOSED"}' }))).toEqual({
    error: { code: 'SESSION_CLOSED' },
  });
});

test('a key stands for its first request until it is let go, for each client by itself', async () => {
  const store = await openStore();
  const claim = { owner: 'ada', key: 'k', sha256: 'one', runId: 'r1' };
  expect(await store.claim(claim)).toBeUndefined();
  expect(await store.claim({ ...claim, sha256: 'two', runId: 'r2' })).toEqual({ sha256: 'one', runId: 'r1' });
  expect(await store.claim({ ...claim, owner: 'bob', runId: 'r3' })).toBeUndefined();
  expect(await store.claim({ ...claim, owner: null, runId: 'r4' })).toBeUndefined();
  await store.release('ada', 'k');
  expect(await store.claim({ ...claim, runId: 'r5' })).toBeUndefined();
});

test('a key is known however it was noted', async () => {
  const store = await openStore();
  const claim = { owner: 'ada', key: 'k', sha256: 'one', runId: 'r1' };
  expect(await store.claim(claim, { outlivesPowerCuts: false })).toBeUndefined();
  expect(await store.claim(claim)).toEqual({ sha256: 'one', runId: 'r1' });
  expect(await store.claim({ ...claim, key: 'l' })).toBeUndefined();
  expect(await store.claim({ ...claim, key: 'l' }, { outlivesPowerCuts: false })).toEqual({
    sha256: 'one',
    runId: 'r1',
  });
});

test('what is too old is removed when the store is opened', async () => {
  const directory = makeDirectory();
  const first = await openStore({ maxAgeMs: 100 * DAY_MS, maxTotalBytes: 1 << 20 }, directory);
  const old = new Date(Date.now() - 8 * DAY_MS);
  for (let index = 0; index < 250; index += 1) await first.add(step(`old ${index}`, { startedAt: old }));
  await first.add(step('new'));
  const second = await openStore(PLENTY, directory);
  expect((await second.ofSession('s', null)).map(({ id }) => id)).toEqual(['new']);
});

test('when there is too much, the oldest of the client with most go first', async () => {
  const store = await openStore({ ...PLENTY, maxTotalBytes: 50_000 });
  const body = JSON.stringify('x'.repeat(100));
  for (let index = 0; index < 10; index += 1) await store.add(step(`few ${index}`, { owner: 'few', body }));
  for (let index = 0; index < 1000; index += 1) {
    await store.add(
      step(`many ${index}`, { owner: 'many', body, sessionId: 'm', startedAt: new Date(Date.now() + index) }),
    );
  }
  await store.sweep();
  expect(await store.ofSession('s', null)).toHaveLength(10);
  const left = (await store.ofSession('m', null)).map(({ id }) => id);
  expect(left.length).toBeLessThan(500);
  expect(left.at(-1)).toBe('many 999');
});
