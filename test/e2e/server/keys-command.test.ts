/** `vivarium keys`, and a server that asks for them, as a shell runs both. */
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { scratch, start, vivarium } from '../../support/command-line.ts';

test('keys are printed once, listed without their secrets, and removed', async () => {
  await using home = await scratch();
  const keys = (...args: string[]) => vivarium(['keys', ...args, '--data-dir', home.path]);
  const none = await keys('list');
  expect(none).toMatchObject({ code: 0, stdout: '' });
  expect(none.stderr).toContain('there are no keys');

  const made = await keys('add', 'alice', '--max-sessions', '3', '--requests-per-second', '0.5', '--burst', '2');
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(/^vvm_[\w-]{43}\n$/);
  expect(made.stderr).not.toContain('vvm_');
  expect((await keys('add', 'root', '--admin')).code).toBe(0);

  const { stdout } = await keys('list');
  expect(stdout).toMatch(/^NAME +ROLE +CLIENT +SESSIONS +RUNS +REQUESTS\/S +BURST +ADDED +LAST USED$/m);
  expect(stdout).toMatch(/^alice +client +key-\w{16} +3 +16 +0\.5 +2 +20\S+ +-$/m);
  expect(stdout).toMatch(/^root +admin +- +- +- +- +- +20\S+ +-$/m);
  const listed = await keys('list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { name: 'alice', role: 'client', usedAt: null, quotas: { maxSessions: 3, burst: 2 } },
    { name: 'root', role: 'admin', quotas: { maxSessions: null } },
  ]);
  expect(listed.stdout + stdout).not.toContain(made.stdout.trim());

  expect(await keys('remove', 'root')).toMatchObject({ code: 0, stderr: 'removed the key of "root"\n' });
  expect((await keys('remove', 'alice')).stderr).toContain('it was the last one');
  expect(await keys('remove', 'alice')).toMatchObject({ code: 4 });
});

test.for([
  [['add'], 'missing required argument'],
  [['add', 'a b'], 'name'],
  [['add', 'alice', '--max-runs', '0'], 'maxRuns'],
  [['add', 'alice', '--max-runs', 'many'], 'whole number'],
  [['add', 'alice', '--requests-per-second', '-1'], 'number'],
  [['remove'], 'missing required argument'],
] as const)('%j is wrong usage', async ([args, words]) => {
  await using home = await scratch();
  const { code, stderr } = await vivarium(['keys', ...args, '--data-dir', home.path]);
  expect(code).toBe(2);
  expect(stderr).toContain(words);
});

test('a server that others could reach needs a key, and stops taking it when it is removed', async () => {
  await using home = await scratch();
  const where = ['--data-dir', home.path];
  const open = await vivarium(['serve', '--host', '0.0.0.0', '--port', '0', ...where]);
  expect(open.code).toBe(2);
  expect(open.stderr).toContain('open to everybody who can reach 0.0.0.0');
  expect(open.stderr).toContain('vivarium keys add');

  const key = (await vivarium(['keys', 'add', 'alice', ...where])).stdout.trim();
  const serving = start(['serve', '--host', '0.0.0.0', '--port', '0', ...where]);
  try {
    let said = '';
    serving.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => /http:\/\/[^\s:]+:(\d+)/.exec(said)?.[1]).toBeDefined();
    const url = `http://127.0.0.1:${/http:\/\/[^\s:]+:(\d+)/.exec(said)?.[1]}/v1/sessions`;
    const ask = async (): Promise<number> => (await fetch(url, { headers: { 'x-api-key': key } })).status;
    expect((await fetch(url)).status).toBe(401);
    expect(await ask()).toBe(200);
    await vivarium(['keys', 'remove', 'alice', ...where]);
    expect(await ask()).toBe(401);
  } finally {
    const ended = once(serving, 'exit');
    serving.kill('SIGTERM');
    await ended;
  }
});
