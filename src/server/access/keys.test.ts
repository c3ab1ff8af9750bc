import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { KeyStore, USUAL_QUOTAS } from './keys.ts';
import { KeyWatch } from './key-watch.ts';

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'viv-keys-'));
  return () => rm(dataDir, { recursive: true, force: true });
});

describe('A key', () => {
  test('is shown once and stored as a hash, in a file that only its owner reads', async () => {
    using keys = await KeyStore.open(dataDir);
    const { secret, record } = await keys.add({ name: 'alice', role: 'client' });
    expect(secret).toMatch(/^vvm_[\w-]{43}$/);
    expect(await keys.find(secret)).toMatchObject({ ...record, usedAt: null });
    expect((await keys.list())[0]).not.toHaveProperty('sha256');
    const file = path.join(dataDir, 'keys.sqlite');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const stored = Buffer.concat([await readFile(file), await readFile(`${file}-wal`)]);
    expect(stored.includes(secret.slice(4))).toBe(false);
    expect(stored.includes(createHash('sha256').update(secret).digest())).toBe(true);
  });

  test('is found by its whole secret only', async () => {
    using keys = await KeyStore.open(dataDir);
    const { secret } = await keys.add({ name: 'alice', role: 'client' });
    for (const wrong of [
      '',
      'vvm_',
      secret.slice(0, -1),
      `${secret}x`,
      secret.toUpperCase(),
      'vvm_'.padEnd(10_000, 'x'),
    ])
      expect(await keys.find(wrong)).toBeUndefined();
  });

  test('has the usual quotas of a client, or those that are given', async () => {
    using keys = await KeyStore.open(dataDir);
    await keys.add({ name: 'usual', role: 'client' });
    await keys.add({ name: 'small', role: 'client', maxRuns: 1, requestsPerSecond: 0.5, maxSessions: null });
    await keys.add({ name: 'admin', role: 'admin' });
    await keys.add({ name: 'slow-admin', role: 'admin', requestsPerSecond: 2, burst: 3 });
    const free = { maxSessions: null, maxRuns: null, requestsPerSecond: null, burst: 200 };
    expect((await keys.list()).map(({ name, quotas }) => [name, quotas])).toEqual([
      ['usual', USUAL_QUOTAS],
      ['small', { ...USUAL_QUOTAS, maxRuns: 1, requestsPerSecond: 0.5, maxSessions: null }],
      ['admin', free],
      ['slow-admin', { ...free, requestsPerSecond: 2, burst: 3 }],
    ]);
  });

  test.for([
    [{ name: '' }, 'name'],
    [{ name: 'a b' }, 'name'],
    [{ name: '-a' }, 'name'],
    [{ name: 'a'.repeat(101) }, 'name'],
    [{ name: 'a\u202Eb' }, 'name'],
    [{ maxRuns: 0 }, 'maxRuns'],
    [{ maxSessions: 1.5 }, 'maxSessions'],
    [{ requestsPerSecond: 0 }, 'requestsPerSecond'],
    [{ burst: -1 }, 'burst'],
  ] as const)('cannot be made with %j', async ([wrong, what]) => {
    using keys = await KeyStore.open(dataDir);
    await expect(keys.add({ name: 'a', role: 'client', ...wrong })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(what) as string,
    });
    expect(await keys.isEmpty()).toBe(true);
  });

  test('has a name of its own, and another id if the name is used again', async () => {
    using keys = await KeyStore.open(dataDir);
    const first = await keys.add({ name: 'alice', role: 'client' });
    await expect(keys.add({ name: 'alice', role: 'admin' })).rejects.toThrow('There is a key "alice" already');
    await keys.remove('alice');
    const second = await keys.add({ name: 'alice', role: 'client' });
    expect(second.record.id).not.toBe(first.record.id);
    expect(await keys.find(first.secret)).toBeUndefined();
  });

  test('tells when it was used, to the minute', async () => {
    using keys = await KeyStore.open(dataDir);
    const { secret } = await keys.add({ name: 'alice', role: 'client' });
    await keys.find(secret);
    await expect.poll(async () => (await keys.list())[0]?.usedAt?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  test('that is not there cannot be removed', async () => {
    using keys = await KeyStore.open(dataDir);
    await expect(keys.remove('alice')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('Several processes', () => {
  test('see at once what another one adds and removes', async () => {
    using here = await KeyStore.open(dataDir);
    const other = new URL('./keys.ts', import.meta.url).href;
    const program = `
      const { KeyStore } = await import(${JSON.stringify(other)});
      using keys = await KeyStore.open(${JSON.stringify(dataDir)});
      const { secret } = await keys.add({ name: 'bob', role: 'client' });
      process.send(secret);
      await new Promise((resolve) => process.once('message', resolve));
      await keys.remove('bob');
      process.send('removed');
      process.disconnect();`;
    const child = fork('-', [], { execArgv: ['--input-type=module', '-e', program], stdio: 'inherit' });
    const [secret] = (await once(child, 'message')) as [string];
    expect(await here.find(secret)).toMatchObject({ name: 'bob' });
    child.send('go on');
    await once(child, 'message');
    expect(await here.find(secret)).toBeUndefined();
    expect(await here.isEmpty()).toBe(true);
  });

  test('can make keys at the same time', async () => {
    using one = await KeyStore.open(dataDir);
    using other = await KeyStore.open(dataDir);
    const names = Array.from({ length: 10 }, (_, index) => `key-${index}`);
    await Promise.all(names.map((name, index) => (index % 2 ? one : other).add({ name, role: 'client' })));
    expect((await one.list()).map(({ name }) => name).toSorted()).toEqual(names);
  });
});

describe('A request that is going on with a key', () => {
  test('is ended within a second when the key is removed, and others are not', async () => {
    using keys = await KeyStore.open(dataDir);
    const alice = await keys.add({ name: 'alice', role: 'client' });
    const bob = await keys.add({ name: 'bob', role: 'client' });
    using watch = new KeyWatch(keys);
    const ended: string[] = [];
    const request = (name: string): { destroy: () => void } => ({ destroy: () => void ended.push(name) });
    watch.watch(alice.record.id, request('of alice'));
    watch.watch(bob.record.id, request('of bob'));
    watch.watch(alice.record.id, request('that has ended'))[Symbol.dispose]();
    await keys.remove('alice');
    await expect.poll(() => ended, { timeout: 1000 }).toEqual(['of alice']);
  });

  test('goes on if the keys cannot be read for a moment', async () => {
    let looks = 0;
    const keys = { list: () => Promise.reject(new Error(`look ${(looks += 1)}`)) };
    using watch = new KeyWatch(keys);
    let isEnded = false;
    watch.watch('key', { destroy: () => (isEnded = true) });
    await expect.poll(() => looks).toBeGreaterThan(1);
    expect(isEnded).toBe(false);
  });
});
