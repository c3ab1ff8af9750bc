/** Who is let in, asked over real sockets. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { beforeEach, describe, expect, test } from 'vitest';
import { Limits, parse } from '../../config.ts';
import { describeError } from '../http/errors.ts';
import { Admission, isLoopback } from './admission.ts';
import type { Client } from './client.ts';
import { KeyStore, type NewKey } from './keys.ts';

const CEILING = { mounts: [], network: false, packages: 'none', limits: parse(Limits, {}) } as const;

let dataDir: string;
let keys: KeyStore;

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'viv-admission-'));
  keys = await KeyStore.open(dataDir);
  return async () => {
    keys[Symbol.dispose]();
    await rm(dataDir, { recursive: true, force: true });
  };
});

function open(address = '127.0.0.1'): Promise<Admission> {
  return Admission.open({ dataDir, address, names: { hosts: [], domains: [] }, ceiling: CEILING });
}

async function makeKey(name: string, more: Partial<NewKey> = {}): Promise<string> {
  return (await keys.add({ name, role: 'client', ...more })).secret;
}

/** A server that says who asks. `/wait` never ends, and `/again` lets in those who were let in before. */
async function serve(admission: Admission): Promise<AsyncDisposable & { ask: Ask; url: string }> {
  const remembered: Client[] = [];
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.onError((error, c) => c.json(describeError(error).body, describeError(error).status as 400));
  app.all('*', async (c) => {
    admission.inspect(c.env.incoming);
    if (c.req.path === '/again') {
      await Promise.all(remembered.map((one) => admission.readmit(one, c.env.outgoing)));
      return c.json({});
    }
    const client = await admission.admit(c.env);
    remembered.splice(0, 1, client);
    if (c.req.path === '/wait') await new Promise(() => undefined);
    return c.json(client);
  });
  const respond = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server: Server = createServer((incoming, outgoing) => void respond(incoming, outgoing));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask: Ask = async (headers = {}, where = '/v1/sessions') => {
    const answer = await fetch(url + where, { headers });
    return { status: answer.status, headers: answer.headers, ...((await answer.json()) as Client & { code?: string }) };
  };
  return {
    url,
    ask,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

type Ask = (
  headers?: Record<string, string>,
  where?: string,
) => Promise<{ status: number; headers: Headers; code?: string } & Partial<Client>>;

describe('Without keys', () => {
  test('everybody on this machine is the owner, within the ceiling', async () => {
    using admission = await open();
    await using server = await serve(admission);
    const owner = { id: null, name: 'local', isAdmin: true, ceiling: CEILING, quotas: null };
    expect(await server.ask()).toMatchObject({ status: 200, ...owner });
    expect(await server.ask({ authorization: 'Bearer vvm_anything' })).toMatchObject({ status: 200, ...owner });
  });

  test('the first key closes the server to those without, and removing it does not open it again', async () => {
    using admission = await open();
    await using server = await serve(admission);
    const secret = await makeKey('alice');
    expect(await server.ask()).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
    expect(await server.ask({ 'x-api-key': secret })).toMatchObject({ status: 200, name: 'alice' });
    await keys.remove('alice');
    expect(await server.ask()).toMatchObject({ status: 401 });
    expect(await server.ask({ 'x-api-key': secret })).toMatchObject({ status: 401 });
  });

  test.for(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('a server cannot be bound to %s', async (address) => {
    await expect(open(address)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('vivarium keys add') as string,
    });
    await makeKey('alice');
    (await open(address))[Symbol.dispose]();
  });

  test('only addresses of loopback count as such', () => {
    for (const address of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) expect(isLoopback(address)).toBe(true);
    for (const address of ['0.0.0.0', '::', '10.0.0.1', 'localhost.example', '', '128.0.0.1', '::2', 'fe80::1'])
      expect(isLoopback(address)).toBe(false);
  });
});

describe('With keys', () => {
  test('a client has its id, the ceiling and its quotas; an admin sees all', async () => {
    const client = await makeKey('alice', { maxRuns: 3 });
    const admin = await makeKey('root', { role: 'admin' });
    using admission = await open();
    await using server = await serve(admission);
    const [{ id } = { id: '' }] = await keys.list();
    const seen = { id, name: 'alice', isAdmin: false, ceiling: CEILING, quotas: { maxRuns: 3 } };
    expect(await server.ask({ authorization: `Bearer ${client}` })).toMatchObject({ status: 200, ...seen });
    expect(await server.ask({ authorization: `bearer  ${client}` })).toMatchObject({ status: 200 });
    expect(await server.ask({ 'X-API-Key': client })).toMatchObject({ status: 200, ...seen });
    expect(await server.ask({ 'X-API-Key': admin })).toMatchObject({ id: null, isAdmin: true, ceiling: null });
  });

  test('credentials of other kinds do not count, and do not get in the way', async () => {
    const secret = await makeKey('alice');
    using admission = await open();
    await using server = await serve(admission);
    const basic = `Basic ${Buffer.from('user:').toString('base64')}`;
    expect(await server.ask({ authorization: basic })).toMatchObject({ status: 401 });
    expect(await server.ask({ authorization: basic, 'x-api-key': secret })).toMatchObject({ status: 200 });
  });

  test.for(['', 'Bearer', 'Bearer ', 'Bearer vvm_', 'Token KEY', 'Bearer KEY KEY', 'KEY', 'Bearer KEYx', 'Bearer kEY'])(
    'the header "Authorization: %s" lets nobody in',
    async (header) => {
      const secret = await makeKey('alice');
      using admission = await open();
      await using server = await serve(admission);
      const refused = await server.ask({
        authorization: header.replaceAll('KEY', secret).replace('kEY', secret.toUpperCase()),
      });
      expect(refused).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    },
  );

  test('everybody may see that the server is there and how it is used', async () => {
    await makeKey('alice');
    using admission = await open();
    await using server = await serve(admission);
    for (const where of ['/health', '/docs', '/openapi.json?a=b'])
      expect(await server.ask({}, where)).toMatchObject({ status: 200, name: 'nobody', isAdmin: false });
    for (const where of ['/metrics', '/health/', '/v1/health', '/docs/x', '//health', '/openapi.json%2f'])
      expect(await server.ask({}, where)).toMatchObject({ status: 401 });
    expect((await fetch(`${server.url}/health`, { method: 'POST' })).status).toBe(401);
  });

  test('a client that sends too many requests has to wait, and is told for how long; others do not', async () => {
    const slow = await makeKey('slow', { requestsPerSecond: 0.1, burst: 2 });
    const other = await makeKey('other');
    using admission = await open();
    await using server = await serve(admission);
    await server.ask({ 'x-api-key': slow });
    await server.ask({ 'x-api-key': slow });
    const refused = await server.ask({ 'x-api-key': slow });
    expect(refused).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(5);
    expect(await server.ask({ 'x-api-key': other })).toMatchObject({ status: 200 });
  });

  test('a request that goes on is ended when its key is removed', async () => {
    const alice = await makeKey('alice');
    using admission = await open();
    await using server = await serve(admission);
    const waiting = server.ask({ 'x-api-key': alice }, '/wait').catch((error: unknown) => error);
    await expect.poll(async () => (await keys.list())[0]?.usedAt).not.toBeNull();
    const removedAt = performance.now();
    await keys.remove('alice');
    expect(await waiting).toBeInstanceOf(Error);
    expect(performance.now() - removedAt).toBeLessThan(1000);
  });

  test.for(['client', 'admin'] as const)(
    'who was let in as %s is let in again until the key is removed',
    async (role) => {
      const secret = await makeKey('alice', { role });
      await makeKey('other');
      using admission = await open();
      await using server = await serve(admission);
      await server.ask({ 'x-api-key': secret });
      expect(await server.ask({}, '/again')).toMatchObject({ status: 200 });
      await keys.remove('alice');
      expect(await server.ask({}, '/again')).toMatchObject({ status: 401 });
    },
  );

  test('who was let in before there were keys is not let in again', async () => {
    using admission = await open();
    await using server = await serve(admission);
    await server.ask();
    expect(await server.ask({}, '/again')).toMatchObject({ status: 200 });
    await makeKey('alice');
    expect(await server.ask({}, '/again')).toMatchObject({ status: 401 });
  });

  test('a request is refused if the keys cannot be read', async () => {
    const secret = await makeKey('alice');
    const admission = await open();
    await using server = await serve(admission);
    admission[Symbol.dispose]();
    expect(await server.ask({ 'x-api-key': secret })).toMatchObject({ status: 503, code: 'STORAGE_FAILED' });
  });
});
