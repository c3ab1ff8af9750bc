import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createInstance, INSTANCE_NAMES, OWNER_SOCKET } from './instance.ts';
import { occupancyOf } from './lease.ts';

function scratch(): { dataDir: string; cacheDir: string } {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-instance-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return { dataDir: path.join(base, 'new', 'data'), cacheDir: path.join(base, 'new', 'cache') };
}

test('an instance makes its directories, marks them as its own, and removes them with all they hold', async () => {
  const { dataDir, cacheDir } = scratch();
  await using stack = new AsyncDisposableStack();
  const { name, sessionsRoot, sessionsDir, workerSocket } = await createInstance(dataDir, cacheDir, stack);
  expect(name).toMatch(INSTANCE_NAMES);
  expect(sessionsDir).toBe(path.join(dataDir, 'sessions', name));
  expect(statSync(sessionsDir).mode & 0o777).toBe(0o711);
  expect(existsSync(cacheDir)).toBe(true);
  expect(await occupancyOf(sessionsDir, OWNER_SOCKET)).toBe('occupied');
  mkdirSync(path.join(sessionsDir, 's1', 'workspace'), { recursive: true });
  writeFileSync(path.join(sessionsDir, 's1', 'workspace', 'file'), '');
  await stack.disposeAsync();
  expect(readdirSync(sessionsRoot)).toEqual([]);
  expect(existsSync(path.dirname(workerSocket.socketPath))).toBe(false);
  expect(existsSync(cacheDir)).toBe(true);
});

test('instances of one process share a data directory and nothing else', async () => {
  const { dataDir, cacheDir } = scratch();
  await using stack = new AsyncDisposableStack();
  const [one, other] = await Promise.all([1, 2].map(() => createInstance(dataDir, cacheDir, stack)));
  expect(one?.name).not.toBe(other?.name);
  expect(one?.workerSocket.socketPath).not.toBe(other?.workerSocket.socketPath);
  expect(new Set(readdirSync(path.join(dataDir, 'sessions')))).toEqual(new Set([one?.name, other?.name]));
});

test('a data directory that cannot be made is an error, and nothing is left open', async () => {
  const { dataDir, cacheDir } = scratch();
  mkdirSync(path.dirname(dataDir), { recursive: true });
  writeFileSync(dataDir, 'a file stands in the way');
  await using stack = new AsyncDisposableStack();
  await expect(createInstance(dataDir, cacheDir, stack)).rejects.toMatchObject({ code: 'ENOTDIR' });
});
