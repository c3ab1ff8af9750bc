/** Clients with keys side by side: each has its own things, quotas and rate. */
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from '../../../src/server.ts';
import { serve, type Served } from './served.ts';

let served: Served;

beforeAll(async () => {
  served = await serve();
});
afterAll(() => served[Symbol.asyncDispose]());

/** The id of what was made. */
function idOf(answer: { readonly body: unknown }): string {
  return (answer.body as { id: string }).id;
}

describe('Two clients', () => {
  test('see their own sessions, and an admin sees all', async () => {
    const alice = await served.clientOf('alice');
    const bob = await served.clientOf('bob');
    const admin = await served.clientOf('root', { role: 'admin' });
    const own = await alice('POST', '/v1/sessions', { body: {} });
    expect(own).toMatchObject({ status: 201, body: { clientId: alice.id } });
    const other = await bob('POST', '/v1/sessions', { body: {} });
    const listed = async (ask: typeof alice, query = ''): Promise<string[]> => {
      const { body } = await ask('GET', `/v1/sessions${query}`);
      return (body as { sessions: { id: string }[] }).sessions.map(({ id }) => id).toSorted();
    };
    expect(await listed(alice)).toEqual([idOf(own)]);
    expect(await listed(bob)).toEqual([idOf(other)]);
    expect(await listed(admin)).toEqual([idOf(own), idOf(other)].toSorted());
    expect(await listed(admin, `?clientId=${bob.id}`)).toEqual([idOf(other)]);
    expect(await bob('GET', `/v1/sessions?clientId=${alice.id}`)).toMatchObject({
      status: 400,
      body: { code: 'CONFIG_INVALID' },
    });
  });

  test('do not learn where on the machine anything is', async () => {
    const client = await served.clientOf('curious');
    const made = await client('POST', '/v1/sessions', { body: {} });
    const where = `/v1/sessions/${idOf(made)}`;
    expect(made.body).toMatchObject({ workspace: `${where}/files`, filesLocation: `${where}/files` });
    for (const answer of [
      made,
      await client('GET', where),
      await client('GET', '/v1/sessions'),
      await client('GET', '/v1/host'),
    ])
      expect(JSON.stringify(answer.body)).not.toContain(served.dataDir);
  });

  test('with the same chat get a session each', async () => {
    const carol = await served.clientOf('carol');
    const dave = await served.clientOf('dave');
    const run = { code: 'n = globals().get("n", 0) + 1; print(n)', chatId: 'chat' };
    const printed = async (ask: typeof carol): Promise<string> => {
      const { body } = await ask('POST', '/v1/runs', { body: run });
      return (body as { logs: { stdout: string } }).logs.stdout.trim();
    };
    expect([await printed(carol), await printed(carol), await printed(dave)]).toEqual(['1', '2', '1']);
  });

  test.for([
    ['POST', '/v1/sessions', {}],
    ['POST', '/v1/runs', { code: '1' }],
    ['POST', '/v1/runs/once', { code: '1' }],
  ] as const)('cannot speak for each other in %s %s', async ([method, where, body]) => {
    const eve = await served.clientOf(`eve-${where.replaceAll('/', '-')}`);
    expect(await eve(method, where, { body: { ...body, clientId: 'somebody' } })).toMatchObject({
      status: 400,
      body: { code: 'CONFIG_INVALID', message: expect.stringContaining('clientId') as string },
    });
    expect(await eve(method, where, { body: { ...body, clientId: eve.id } })).toMatchObject({
      status: where === '/v1/sessions' ? 201 : 200,
    });
  });
});

describe('The quotas of a key', () => {
  test('limit its sessions, of chats as well, and no others', async () => {
    const small = await served.clientOf('small', { maxSessions: 2 });
    const free = await served.clientOf('free');
    const first = await small('POST', '/v1/sessions', { body: {} });
    expect(await small('POST', '/v1/runs', { body: { code: '1', chatId: 'a' } })).toMatchObject({ status: 200 });
    const refused = { status: 429, body: { code: 'SESSION_LIMIT' } };
    expect(await small('POST', '/v1/sessions', { body: {} })).toMatchObject(refused);
    expect(await small('POST', '/v1/runs', { body: { code: '1', chatId: 'b' } })).toMatchObject(refused);
    expect(await small('POST', '/v1/runs', { body: { code: '1', chatId: 'a' } })).toMatchObject({ status: 200 });
    expect(await free('POST', '/v1/sessions', { body: {} })).toMatchObject({ status: 201 });
    await small('DELETE', `/v1/sessions/${idOf(first)}`);
    const attempts = await Promise.all(Array.from({ length: 4 }, () => small('POST', '/v1/sessions', { body: {} })));
    expect(attempts.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 429, 429, 429]);
  });

  test('limit what it runs at the same time', async () => {
    const one = await served.clientOf('one-run', { maxRuns: 1 });
    const session = idOf(await one('POST', '/v1/sessions', { body: {} }));
    const where = `/v1/sessions/${session}/runs`;
    const long = await one('POST', where, { body: { code: 'import time; time.sleep(60)', background: true } });
    expect(long.status).toBe(202);
    for (const route of [where, '/v1/runs', '/v1/runs/once']) {
      const refused = await one('POST', route, { body: { code: '1' } });
      expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
      expect(refused.headers.get('retry-after')).toBe('1');
    }
    const command = { argv: ['true'] };
    expect(await one('POST', `/v1/sessions/${session}/commands`, { body: command })).toMatchObject({ status: 429 });
    await one('POST', `/v1/runs/${idOf(long)}/cancel`);
    await expect.poll(async () => (await one('POST', where, { body: { code: '1' } })).status).toBe(200);
  });

  test('limit its requests, while another key goes on', async () => {
    const slow = await served.clientOf('slow', { requestsPerSecond: 1, burst: 5 });
    const free = await served.clientOf('fast');
    const ask = (client: typeof slow): Promise<number[]> =>
      Promise.all(Array.from({ length: 20 }, async () => (await client('GET', '/v1/sessions')).status));
    const [limited, all] = await Promise.all([ask(slow), ask(free)]);
    expect(limited.filter((status) => status === 429).length).toBeGreaterThanOrEqual(14);
    expect(new Set(all)).toEqual(new Set([200]));
    const refused = await slow('GET', '/v1/sessions');
    expect(refused.headers.get('retry-after')).toBe('1');
    await expect.poll(async () => (await slow('GET', '/v1/sessions')).status, { timeout: 5000 }).toBe(200);
  });
});

describe('The ceiling', () => {
  test('holds for a client and not for an admin', async () => {
    const client = await served.clientOf('low');
    const admin = await served.clientOf('high', { role: 'admin' });
    const source = path.join(served.dataDir, 'shared');
    await writeFile(source, 'shared');
    const asked = [
      { mounts: [{ source, target: '/shared' }] },
      { network: true },
      { network: { allow: ['example.com'] } },
      { packages: 'any' },
      { limits: { memoryMb: 2048 } },
      { limits: { timeoutMs: 600_001 } },
    ];
    for (const body of asked) {
      const refused = {
        status: 403,
        body: { code: 'FORBIDDEN', message: expect.stringContaining('allowed') as string },
      };
      expect(await client('POST', '/v1/sessions', { body })).toMatchObject(refused);
      expect(await client('POST', '/v1/runs/once', { body: { ...body, code: '1' } })).toMatchObject(refused);
    }
    const session = idOf(await client('POST', '/v1/sessions', { body: {} }));
    const run = { code: '1', timeoutMs: 600_001 };
    expect(await client('POST', `/v1/sessions/${session}/runs`, { body: run })).toMatchObject({ status: 403 });
    expect(await client('POST', '/v1/runs', { body: run })).toMatchObject({ status: 403 });
    const packages = { body: { requirements: 'polars' } };
    expect(await client('POST', `/v1/sessions/${session}/packages`, packages)).toMatchObject({ status: 403 });
    expect(await admin('POST', '/v1/sessions', { body: { limits: { memoryMb: 2048 } } })).toMatchObject({
      status: 201,
    });
    const code = 'print(open("/shared").read())';
    expect(await admin('POST', '/v1/runs/once', { body: { ...asked[0], code } })).toMatchObject({
      body: { logs: { stdout: 'shared\n' } },
    });
  });

  test('can be raised for all when the server is started', async () => {
    await using open = await serve({
      ceiling: { mounts: [{ source: '/usr/share', target: '/x' }], limits: { memoryMb: 2048 } },
    });
    const body = { mounts: [{ source: '/usr/share/zoneinfo', target: '/zones' }], limits: { memoryMb: 1500 } };
    expect(await open.ask('POST', '/v1/sessions', { body })).toMatchObject({ status: 201 });
    const escape = path.join(open.dataDir, 'link');
    await symlink('/etc', escape);
    for (const source of ['/etc', escape, '/usr/share/../../etc'])
      expect(await open.ask('POST', '/v1/sessions', { body: { mounts: [{ source, target: '/x' }] } })).toMatchObject({
        status: 403,
      });
    expect(await open.ask('POST', '/v1/sessions', { body: { limits: { memoryMb: 2049 } } })).toMatchObject({
      status: 403,
    });
  });
});

describe('A removed key', () => {
  test('stops working at once, and what goes on with it ends within a second', async () => {
    const gone = await served.clientOf('gone');
    const session = idOf(await gone('POST', '/v1/sessions', { body: {} }));
    const streaming = await fetch(`${served.url}/v1/sessions/${session}/runs`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gone.secret}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ code: 'import time\nwhile True: print(".", flush=True); time.sleep(0.05)' }),
    });
    const reading = streaming.text();
    reading.catch(() => undefined); // it is awaited below
    const removedAt = performance.now();
    await served.keys.remove('gone');
    expect(await gone('GET', '/v1/sessions')).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } });
    await expect(reading).rejects.toThrow('terminated');
    expect(performance.now() - removedAt).toBeLessThan(1500);
  });
});

describe('Without keys', () => {
  test('a server that others could reach does not start', async () => {
    await using _ = await serve(); // only for its data directory
    for (const hostname of ['0.0.0.0', '::']) {
      await expect(startServer({ hostname, hostOptions: { dataDir: _.dataDir } })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('vivarium keys add') as string,
      });
    }
  });
});
