/** Lists are kept: when the gate, a worker or the zygote is lost, by every user, and where none can be enforced. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startListedHost, startServer } from '../../support/listed-host.ts';
import { said } from '../../support/said.ts';
import { descendants, isRunning, roleOf, type Process, type Role } from '../engine/processes.ts';
import { FETCH, ListedHost, one } from './list-scene.ts';

const shared = new ListedHost();

test('a gate that is killed is replaced, and sessions go on with their lists', async () => {
  const { session, port } = await shared.open(one);
  for (let times = 0; times < 2; times += 1) {
    expect(said(await session.runCode(`print(get("http://api.test:${port}/"))`))).toBe('hello');
    const gate = processIn('gate');
    process.kill(gate.pid, 'SIGKILL');
    await expect.poll(() => isRunning(gate)).toBe(false);
    const refused = await session.runCode('get("https://evil.test/")');
    expect(refused.error?.traceback).toContain('evil.test:443 is not on the list');
  }
});

test('a session keeps its list after a crash, a reset and the loss of its zygote', async () => {
  const { session, port } = await shared.open(one);
  const both = async (): Promise<void> => {
    const reach = async (): Promise<string> =>
      said(await session.runCode(`${FETCH}print(get("http://api.test:${port}/"))`));
    await expect.poll(reach, { timeout: 30_000 }).toBe('hello'); // a run may be lost with the zygote
    expect((await session.runCode('get("https://evil.test/")')).error?.traceback).toContain('not on the list');
  };
  await session.runCode('import os; os.abort()');
  await both();
  await session.reset();
  await both();
  const zygote = processIn('zygote');
  process.kill(zygote.pid, 'SIGKILL');
  await expect.poll(() => isRunning(zygote)).toBe(false);
  await both();
});

test('lists that cannot be read, or enforced, are refused', async () => {
  for (const entry of ['http://a.test/', 'a.*.test', '0x7f.1', '127.1', 'a.test:0', 'ä.test', '', '::1:80:x', 'a b']) {
    const opening = shared.host.createSession({ network: { allow: [entry] } });
    await expect(opening, entry).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  }
  const secrets = { KEY: { value: 'x', hosts: ['a.test'] } };
  await expect(shared.host.createSession({ secrets })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const weak = await startListedHost(shared.names.address, { isolation: 'none' });
  const opening = weak.createSession({ network: { allow: ['a.test'] } });
  await expect(opening).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
  const starting = startListedHost(shared.names.address, { isolation: 'none', network: { allow: ['a.test'] } });
  await expect(starting).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
});

test('sessions of the pool have the list of the host', async () => {
  const server = await startServer((_, response) => response.end('hello'));
  const network = { allow: server.allow('api.test') };
  const warm = await startListedHost(shared.names.address, { poolSize: 1, network });
  expect(warm.isolation.network).toBe('list');
  for (let times = 0; times < 3; times += 1) {
    await using session = await warm.createSession();
    expect(said(await session.runCode(`${FETCH}print(get("http://api.test:${server.port}/"))`))).toBe('hello');
  }
});

function processIn(role: Role): Process {
  const found = descendants().find((candidate) => roleOf(candidate) === role);
  if (found === undefined) throw new Error(`there is no ${role}`);
  return found;
}

const SYSTEM_PYTHON = '/usr/bin/python3';

test.runIf(process.getuid?.() === 0 && canRun(SYSTEM_PYTHON))('an ordinary user has lists as well', async () => {
  const script = path.join(import.meta.dirname, 'listed-session.ts');
  const user = { uid: 65_534, gid: 65_534, env: { PATH: process.env['PATH'], HOME: '/nonexistent' } };
  const { stdout } = await promisify(execFile)(process.execPath, [script, SYSTEM_PYTHON], { ...user, cwd: '/' });
  expect(JSON.parse(stdout)).toEqual({ allowed: 'hello', refused: 'evil.test', uid: 'shared' });
});

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return createRequire(import.meta.url).resolve('zod') !== '';
  } catch {
    return false;
  }
}
