import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Quota } from './quota.ts';

async function setUp(): Promise<{ quota: Quota; onExcess: ReturnType<typeof vi.fn>; at: (name: string) => string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-quota-'));
  const at = (name: string): string => path.join(directory, name);
  for (const name of ['home', 'tmp', 'trash']) await mkdir(at(name));
  const onExcess = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const place = { home: at('home'), temporary: at('tmp'), trash: at('trash') };
  const quota = new Quota({ place, limits: { workspaceMb: 2 }, isBusy: () => true, onExcess });
  onTestFinished(async () => {
    quota[Symbol.dispose]();
    await rm(directory, { recursive: true });
  });
  return { quota, onExcess, at };
}

const MEBIBYTE = Buffer.alloc(1 << 20, 1);

test('files of both directories are counted by what they take on disk', async () => {
  const { quota, at } = await setUp();
  writeFileSync(at('home/a'), MEBIBYTE);
  writeFileSync(at('tmp/b'), 'x');
  writeFileSync(at('trash/c'), MEBIBYTE);
  writeFileSync(at('home/holes'), '');
  truncateSync(at('home/holes'), 1 << 30);
  const { usedBytes, maxBytes } = await quota.measure();
  expect(maxBytes).toBe(2 << 20);
  expect(usedBytes).toBeGreaterThan(1 << 20);
  expect(usedBytes).toBeLessThan(1.2 * (1 << 20));
  await quota.assertRoom();
});

test('too much is noticed by itself, once, until some of it is removed', async () => {
  const { quota, onExcess, at } = await setUp();
  for (const name of ['a', 'b', 'c']) writeFileSync(at(`home/${name}`), MEBIBYTE);
  await vi.waitFor(() => expect(onExcess).toHaveBeenCalledOnce(), { timeout: 10_000 });
  await expect(quota.assertRoom()).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
  rmSync(at('home/a'));
  rmSync(at('home/b'));
  await quota.assertRoom();
  expect(onExcess).toHaveBeenCalledOnce();
});
