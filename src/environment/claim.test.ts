import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { claim } from './claim.ts';

test('a second claim waits until the first is given back', async () => {
  const file = await claimFile();
  const first = await claim(file, { onWait: () => {} });
  const waiting = Promise.withResolvers<void>();
  const second = claim(file, { onWait: waiting.resolve });
  await waiting.promise;
  first[Symbol.dispose]();
  using held = await second;
  expect(held).toBeDefined();
});

test('waiting for a claim ends with the signal', async () => {
  const file = await claimFile();
  using held = await claim(file, { onWait: () => {} });
  const controller = new AbortController();
  const second = claim(file, { signal: controller.signal, onWait: () => controller.abort(new Error('enough')) });
  await expect(second).rejects.toThrow('enough');
  expect(held).toBeDefined();
});

test('a claim ends with its owner, even one killed with SIGKILL', async () => {
  const file = await claimFile();
  const module = new URL('claim.ts', import.meta.url).href;
  const program = `const { claim } = await import(${JSON.stringify(module)});
    await claim(${JSON.stringify(file)}, { onWait() {} }); console.log('held'); setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void owner.kill('SIGKILL'));
  await once(owner.stdout, 'data');
  const waiting = Promise.withResolvers<void>();
  const second = claim(file, { onWait: waiting.resolve });
  await waiting.promise;
  owner.kill('SIGKILL');
  using held = await second;
  expect(held).toBeDefined();
});

async function claimFile(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'claim-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return path.join(directory, '.claim');
}
