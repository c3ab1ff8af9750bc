import { expect, test } from 'vitest';
import type { Client, Quotas } from './client.ts';
import { Usage } from './usage.ts';

function client(id: string | null, quotas: Partial<Quotas> | null): Client {
  const none = { maxSessions: null, maxRuns: null, requestsPerSecond: null, burst: 1 };
  const who = { id, keyId: id, name: id ?? 'root', isAdmin: id === null };
  return { ...who, ceiling: null, quotas: quotas && { ...none, ...quotas } };
}

test('runs are counted for each client, and their places are free when they have ended', () => {
  const usage = new Usage();
  const alice = client('alice', { maxRuns: 2 });
  const first = usage.beginRun(alice);
  usage.beginRun(alice);
  expect(() => usage.beginRun(alice)).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }) as Error);
  usage.beginRun(client('bob', { maxRuns: 1 }));
  first[Symbol.dispose]();
  first[Symbol.dispose](); // counts once
  usage.beginRun(alice);
  expect(() => usage.beginRun(alice)).toThrow('has 2 runs and commands going on');
});

test('what is done for a client without its key, such as its tasks, counts as well', () => {
  const usage = new Usage();
  usage.beginRun(client('alice', { maxRuns: 1 }));
  expect(() => usage.beginRun(client('alice', null))).toThrow('has 1 runs');
  usage.beginRun(client('bob', null));
});

test('requests are counted for each client', () => {
  const usage = new Usage();
  const alice = client('alice', { requestsPerSecond: 0.01, burst: 1 });
  expect(usage.countRequest(alice)).toBe(0);
  expect(usage.countRequest(alice)).toBeGreaterThan(90_000);
  expect(usage.countRequest(client('bob', { requestsPerSecond: 0.01, burst: 1 }))).toBe(0);
});

test('nothing limits the owner, nor a key without quotas', async () => {
  const usage = new Usage();
  for (const free of [client(null, null), client('alice', {})]) {
    for (let times = 0; times < 1000; times += 1) {
      expect(usage.countRequest(free)).toBe(0);
      usage.beginRun(free);
      await usage.openSession(free, `${times}`, () => Promise.reject(new Error('nobody has to look')));
    }
  }
});

test('of sessions that are opened at once, exactly as many are admitted as there are places', async () => {
  const usage = new Usage();
  const alice = client('alice', { maxSessions: 3 });
  const open = new Set(['id:there']);
  const attempts = await Promise.allSettled(
    [...Array(10).keys()].map(async (index) => {
      using _ = await usage.openSession(alice, `id:${index}`, async () => [...open]);
      await Promise.resolve();
      open.add(`id:${index}`);
    }),
  );
  const refused = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason as unknown] : []));
  expect(open.size).toBe(3);
  expect(refused).toHaveLength(8);
  expect(refused[0]).toMatchObject({
    code: 'SESSION_LIMIT',
    message: expect.stringContaining('has 3 sessions') as string,
  });
});

test('a session that is there already, or is being opened, needs no other place', async () => {
  const usage = new Usage();
  const alice = client('alice', { maxSessions: 1 });
  await usage.openSession(alice, 'chat:a', async () => ['chat:a']);
  await usage.openSession(alice, 'chat:a', async () => []);
  await expect(usage.openSession(alice, 'chat:b', async () => [])).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
});

test('a place is free again when opening has failed, or when nobody could look', async () => {
  const usage = new Usage();
  const alice = client('alice', { maxSessions: 1 });
  (await usage.openSession(alice, 'a', async () => []))[Symbol.dispose]();
  await expect(usage.openSession(alice, 'b', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  await usage.openSession(alice, 'c', async () => []);
});
