/** `vivarium serve` as a shell runs it. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { expect, onTestFinished, test } from 'vitest';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { finish, scratch, start, vivarium } from '../../support/command-line.ts';

async function startServing(flags: readonly string[]) {
  const directory = await scratch();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const environment = await findEnvironment(defaultDataDir(process.env));
  const machine = ['--data-dir', directory.path, '--python', environment?.python ?? '', '--pool-size', '0'];
  const child = start(['serve', '--port', '0', ...machine, ...flags]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const told: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    told.push(line);
    if (line.startsWith('stop it')) break; // the last line
  }
  const [url = ''] = /http:\/\/[\d.:]+/.exec(told[0] ?? '') ?? [];
  return { child, url, told };
}

function run(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify(body) });
}

test('it says where it listens, what to try and how to stop it, and does these things', async () => {
  const { child, url, told } = await startServing(['--log']);
  expect(told[0]).toBe(`Vivarium listens on ${url} (what it can do: ${url}/docs)`);
  const answer = await run(url, { code: 'print("private")\n1 + 1' });
  expect(await answer.json()).toMatchObject({ results: [{ data: { 'text/plain': '2' } }] });
  expect(told.join('\n')).toContain(`curl ${url}/v1/runs`);
  expect(told.join('\n')).toContain(`createHost({ url: '${url}' })`);
  expect(told.join('\n')).toContain(`kill ${child.pid}`);
  const slow = run(url, { code: 'import time\ntime.sleep(1)\n"ended"' });
  await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toMatch(/^vivarium_runs_running 1$/m);
  child.kill('SIGTERM');
  expect(await (await slow).json()).toMatchObject({ outcome: { status: 'succeeded' } });
  const { code, stderr } = await finish(child);
  expect(code).toBe(0);
  const entries = stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as object);
  expect(entries).toEqual(
    expect.arrayContaining([expect.objectContaining({ event: 'request', path: '/v1/runs', status: 200 })]),
  );
  expect(entries[0]).toMatchObject({ time: expect.stringMatching(/^\d{4}-/) as unknown, event: 'session-opened' });
  expect(stderr).not.toContain('private');
});

test('what does not end in time is cancelled, and a second signal ends everything at once', async () => {
  const { child, url } = await startServing(['--drain-ms', '0']);
  const stuck = run(url, { code: 'import time\ntime.sleep(60)' });
  await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toMatch(/^vivarium_runs_running 1$/m);
  child.kill('SIGINT');
  expect(await (await stuck).json()).toMatchObject({ outcome: { status: 'cancelled' } });
  expect((await finish(child)).code).toBe(0);

  const other = await startServing(['--drain-ms', '60000']);
  const lost = run(other.url, { code: 'import time\ntime.sleep(60)' }).catch(() => 'lost');
  await expect.poll(async () => (await fetch(`${other.url}/metrics`)).text()).toMatch(/^vivarium_runs_running 1$/m);
  other.child.kill('SIGTERM');
  const [said] = (await once(other.child.stderr, 'data')) as [Buffer];
  expect(said.toString()).toContain('stopping');
  other.child.kill('SIGTERM');
  expect((await finish(other.child)).code).toBe(143);
  expect(await lost).toBe('lost');
});

test('requests may ask for what was allowed at the start', async () => {
  const flags = [
    '--allow-mount',
    '/usr/share',
    '--allow-host',
    'example.org',
    '--packages',
    'six',
    '--memory-mb',
    '256',
  ];
  const { child, url } = await startServing(flags);
  const host = await (await fetch(`${url}/v1/host`)).json();
  expect(host).toMatchObject({
    limits: { memoryMb: 256 },
    access: { mounts: [], network: false, packages: 'none' },
    ceiling: {
      mounts: [{ source: '/usr/share', writable: false }],
      network: { allow: ['example.org'] },
      packages: ['six'],
      limits: { memoryMb: 256 },
    },
  });
  const open = (body: object) =>
    fetch(`${url}/v1/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await open({ mounts: [{ source: '/usr/share', target: '/data' }] })).status).toBe(201);
  expect((await open({ mounts: [{ source: '/usr/share', target: '/data', writable: true }] })).status).toBe(403);
  expect((await open({ mounts: [{ source: '/etc', target: '/data' }] })).status).toBe(403);
  expect((await open({ network: true })).status).toBe(403);
  expect((await open({ limits: { memoryMb: 512 } })).status).toBe(403);
  child.kill('SIGTERM');
  expect((await finish(child)).code).toBe(0);
});

test.for([
  ['--port', '99999999'],
  ['--deny-host', 'a.example'],
  ['--host', '0.0.0.0'],
])('%s %s is refused', async ([flag, value]) => {
  await using directory = await scratch();
  const environment = await findEnvironment(defaultDataDir(process.env));
  const machine = ['--data-dir', directory.path, '--python', environment?.python ?? '', '--pool-size', '0'];
  const { code, stderr, stdout } = await vivarium(['serve', ...machine, flag ?? '', value ?? '']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('error: ');
});

test('a port that is in use is told', async () => {
  const { url } = await startServing([]);
  await using directory = await scratch();
  const environment = await findEnvironment(defaultDataDir(process.env));
  const machine = ['--data-dir', directory.path, '--python', environment?.python ?? '', '--pool-size', '0'];
  const { code, stderr } = await vivarium(['serve', ...machine, '--port', new URL(url).port]);
  expect(code).toBe(2);
  expect(stderr).toContain(`port ${new URL(url).port}: listen EADDRINUSE`);
});
