/** Who may use which sandbox, and how requests find it. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { Sandbox } from '@e2b/code-interpreter';
import { AuthenticationError, SandboxNotFoundError } from 'e2b';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyStore } from '../../../src/server/access/keys.ts';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

const DOMAIN = 'sandboxes.test';

let server: E2bTestbed;
let keys: Readonly<Record<'one' | 'other' | 'removed' | 'former' | 'admin', string>>;
beforeAll(async () => {
  server = await startE2bServer({
    domain: DOMAIN,
    prepare: async (dataDir) => {
      using store = await KeyStore.open(dataDir);
      const add = async (name: string, role: 'client' | 'admin' = 'client') => (await store.add({ name, role })).secret;
      keys = {
        one: await add('one'),
        other: await add('other'),
        removed: await add('removed'),
        former: await add('former', 'admin'),
        admin: await add('admin', 'admin'),
      };
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const as = (apiKey: string) => ({ ...server.connection, apiKey });

test('a key of the server is an API key, and nothing else is', async () => {
  await expect(Sandbox.create(as('e2b_0123456789abcdef'))).rejects.toThrow(AuthenticationError);
  const sandbox = await Sandbox.create(as(keys.one));
  expect((await sandbox.runCode('1 + 1')).text).toBe('2');
  expect((await sandbox.commands.run('echo hi')).stdout).toBe('hi\n');
  expect((await sandbox.createCodeContext()).language).toBe('python');
  await sandbox.kill();
});

test('to another client a sandbox does not exist', async () => {
  const sandbox = await Sandbox.create(as(keys.one));
  const { sandboxId } = sandbox;
  await expect(Sandbox.connect(sandboxId, as(keys.other))).rejects.toThrow(SandboxNotFoundError);
  await expect(Sandbox.getInfo(sandboxId, as(keys.other))).rejects.toThrow(SandboxNotFoundError);
  await expect(Sandbox.setTimeout(sandboxId, 1, as(keys.other))).rejects.toThrow(SandboxNotFoundError);
  await expect(Sandbox.getMetrics(sandboxId, as(keys.other))).rejects.toThrow(SandboxNotFoundError);
  expect(await Sandbox.kill(sandboxId, as(keys.other))).toBe(false);
  expect(await Sandbox.list(as(keys.other)).nextItems()).toEqual([]);
  expect(await Sandbox.list(as(keys.one)).nextItems()).toHaveLength(1);
  expect(await Sandbox.list(as(keys.admin)).nextItems()).toHaveLength(1);
  expect(await sandbox.isRunning()).toBe(true);
  await sandbox.kill();
});

test('requests into a sandbox need its token, whatever key they have', async () => {
  const sandbox = await Sandbox.create(as(keys.one));
  const call = (port: number, path: string, headers: Record<string, string>, body = '{}') =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'e2b-sandbox-id': sandbox.sandboxId,
        'e2b-sandbox-port': String(port),
        ...headers,
      },
    });
  for (const headers of [{}, { 'x-api-key': keys.one }, { 'x-access-token': 'wrong' }]) {
    for (const [port, path] of [
      [49_999, '/execute'],
      [49_999, '/contexts'],
      [49_983, '/files?path=a'],
      [49_983, '/process.Process/List'],
      [49_983, '/filesystem.Filesystem/Stat'],
    ] as const) {
      expect((await call(port, path, headers as Record<string, string>)).status).toBe(401);
    }
  }
  expect((await call(3000, '/', {})).status).toBe(502);
  await sandbox.kill();
  expect((await call(49_999, '/execute', {})).status).toBe(502);
});

test.each(['removed', 'former'] as const)('a sandbox answers no more when its key "%s" is removed', async (name) => {
  const sandbox = await Sandbox.create(as(keys[name]));
  expect((await sandbox.runCode('1')).text).toBe('1');
  using store = await KeyStore.open(server.dataDir);
  await store.remove(name);
  await expect(sandbox.runCode('1')).rejects.toThrow('401');
  await expect(sandbox.commands.run('id')).rejects.toThrow('not one of this server');
  expect(await Sandbox.kill(sandbox.sandboxId, as(keys.admin))).toBe(true);
});

/** As a proxy with TLS passes it on. */
async function callByName(host: string, path: string, { headers = {}, body = '' } = {}): Promise<[number, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, string]>();
  const sent = request(server.url + path, {
    method: body === '' ? 'GET' : 'POST',
    headers: { host, ...(body !== '' && { 'content-type': 'application/json' }), ...headers },
  });
  sent.once('error', reject);
  sent.once('response', (answer) => void text(answer).then((said) => resolve([answer.statusCode ?? 0, said]), reject));
  sent.end(body);
  return promise;
}

test('names of a domain lead to the control plane and to sandboxes', async () => {
  const key = { 'x-api-key': keys.one };
  const [status, created] = await callByName(`api.${DOMAIN}`, '/v2/sandboxes', {
    headers: key,
    body: '{"templateID":"base"}',
  });
  expect(status).toBe(201);
  const { sandboxID: id, envdAccessToken } = JSON.parse(created) as { sandboxID: string; envdAccessToken: string };
  const token = { 'x-access-token': envdAccessToken };
  const [, lines] = await callByName(`49999-${id}.${DOMAIN}`, '/execute', { headers: token, body: '{"code":"6 * 7"}' });
  expect(lines).toContain('"text":"42"');
  expect((await callByName(`49983-${id}.${DOMAIN}`, '/health'))[0]).toBe(204);
  expect((await callByName(`49983-${id}.elsewhere.test`, '/health'))[0]).toBe(421);
  expect((await callByName(`8080-${id}.${DOMAIN}`, '/'))[0]).toBe(502);
  await Sandbox.kill(id, as(keys.one));
  expect((await callByName(`49983-${id}.${DOMAIN}`, '/health'))[0]).toBe(502);
});
