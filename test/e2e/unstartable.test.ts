/** Programs that cannot be started: that is told, and nothing is thrown later. */
import { expect, test } from 'vitest';
import { configureZygote, spawnZygote } from '../../src/engine/local/zygote/process.ts';
import { run } from '../../src/environment/command.ts';
import { countDescriptors, exhaustDescriptors } from '../support/faults/descriptors.ts';

const CONFIG = {
  level: 'namespaces',
  instance: 'i',
  sessions: '/s',
  socket: '/x',
  cache: '/c',
  cgroups: false,
  preload: [],
  ahead: 0,
  twinDelayMs: 0,
  limits: {},
};

test('a zygote without a Python is one that has ended, and says why', async () => {
  const zygote = spawnZygote('/nowhere/python', '/tmp');
  configureZygote(zygote, CONFIG);
  expect(await zygote.ended).toContain('ENOENT');
});

test('so is a zygote without descriptors', async () => {
  using _ = exhaustDescriptors();
  const zygote = spawnZygote(process.execPath, '/tmp');
  configureZygote(zygote, CONFIG);
  expect(zygote.control.destroyed).toBe(true);
  expect(await zygote.ended).toContain('EMFILE');
});

test('a program that cannot be started for want of descriptors costs none', async () => {
  for (let left = 0; left < 14; left += 1) {
    const before = countDescriptors();
    const exhausted = exhaustDescriptors(left);
    const zygote = spawnZygote('/bin/true', '/tmp');
    const command = run(['true'], { env: process.env });
    exhausted[Symbol.dispose]();
    await Promise.all([zygote.ended, command]);
    zygote.control.destroy();
    zygote.surveyor.destroy();
    await expect.poll(countDescriptors, { message: `with ${left} left` }).toBe(before);
  }
});

test('without descriptors, a command fails with the reason', async () => {
  using _ = exhaustDescriptors();
  const { succeeded, errors } = await run(['true'], { env: process.env });
  expect(succeeded).toBe(false);
  expect(errors).toContain('EMFILE');
});
