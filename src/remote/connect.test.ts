/** Servers that are no servers of ours, or not there. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Host } from '../host/host.ts';
import { connect } from './connect.ts';

const ISOLATION = {
  level: 'namespaces',
  uid: 'own',
  files: 'private-root',
  network: 'none',
  proc: 'private',
  memory: [],
  processes: [],
  cpus: [],
  disk: [],
  seccomp: true,
  landlock: 4,
  missing: [],
};
const HOST = {
  version: '9.9.9',
  environment: { version: '3.13.0', libraries: { numpy: '2.0' }, missing: [], source: 'managed', set: 'core' },
  limits: {},
  access: { mounts: [{ target: '/data', writable: false }], network: false, env: {}, packages: 'none' },
  isolation: ISOLATION,
  news: 'of a newer server',
};
const SESSION = {
  id: 's',
  key: 'id:s',
  clientId: null,
  status: 'idle',
  createdAt: '2026-01-02T03:04:05.678Z',
  lastUsedAt: '2026-01-02T03:04:05.678Z',
  executions: 0,
  queued: 0,
  workspace: '/w',
  isolation: ISOLATION,
  filesLocation: '/w',
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

function json(value: unknown, status = 200): Answer {
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function events(text: string): Answer {
  return (_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
}

/** A server that answers like this; `others` is for all paths that are not listed. */
async function pretend(answers: Readonly<Record<string, Answer>>, others: Answer = json(SESSION)): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    (answers[`${request.method} ${request.url}`] ?? others)(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function connected(answers: Readonly<Record<string, Answer>>, others?: Answer): Promise<Host> {
  const host = await connect(await pretend({ 'GET /v1/host': json(HOST), ...answers }, others));
  onTestFinished(() => host.close());
  return host;
}

test.for([
  ['text', (_, response) => void response.end('<html>hello</html>')],
  ['other JSON', json({ hello: 1 })],
  ['null', json(null)],
  ['nothing', (_, response) => void response.writeHead(204).end()],
  ['a redirection', (_, response) => void response.writeHead(302, { location: 'https://elsewhere' }).end()],
  ['an error that is none of ours', json({ error: 'no' }, 404)],
  ['an error of its own', json({ code: 7 }, 400)],
  ['a failing proxy', (_, response) => void response.writeHead(502).end('bad gateway')],
  ['a closed connection', (request) => void request.socket.destroy()],
] satisfies [string, Answer][])('a server that answers with %s is none of ours', async ([, answer]) => {
  const url = await pretend({}, answer);
  await expect(connect(url)).rejects.toMatchObject({ name: 'VivariumError', code: 'HOST_UNREACHABLE' });
});

test('a server that is not there is unreachable, and the message says where', async () => {
  const failure = { code: 'HOST_UNREACHABLE', message: expect.stringContaining('http://127.0.0.1:9') as string };
  await expect(connect('http://127.0.0.1:9')).rejects.toMatchObject(failure);
  await expect(connect('http://no-such-name.invalid')).rejects.toMatchObject({ code: 'HOST_UNREACHABLE' });
});

test.for([
  'localhost:8000',
  'ftp://localhost',
  'http://user:password@localhost',
  'http://localhost/?a=1',
  'http://localhost/#a',
  '',
])('"%s" is no address', async (url) => {
  await expect(connect(url)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('a key is not repeated in messages, and must be one', async () => {
  await expect(connect('http://127.0.0.1:9', { key: 'a b\n' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const failure = await connect('http://127.0.0.1:9', { key: 'vvm_secret' }).catch(String);
  expect(failure).not.toContain('vvm_secret');
});

test('connecting can be given up', async () => {
  const url = await pretend({}, () => undefined);
  const controller = new AbortController();
  const connecting = connect(url, { signal: controller.signal });
  controller.abort();
  await expect(connecting).rejects.toMatchObject({ name: 'AbortError' });
});

test('what a newer server adds is ignored, and what it hides has a default', async () => {
  const { environment, limits, access } = await connected({});
  expect(environment).toMatchObject({ version: '3.13.0', set: 'core', source: 'remote', python: '' });
  expect(limits.timeoutMs).toBe(60_000);
  expect(access.mounts).toEqual([{ source: '', target: '/data', writable: false }]);
});

test('the address may have a path, and the key is sent', async () => {
  const seen: string[] = [];
  const url = await pretend({}, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    json(HOST)(request, response);
  });
  await using _ = await connect(`${url}/behind/a/proxy/`, { key: 'vvm_1' });
  expect(seen).toEqual(['GET /behind/a/proxy/v1/host Bearer vvm_1']);
});

const CALLS: Readonly<Record<string, (host: Host) => Promise<unknown>>> = {
  runCode: async (host) => (await host.getSession('s')).runCode('1'),
  stream: async (host) => (await host.getSession('s')).stream('1').next(),
  inspect: async (host) => (await host.getSession('s')).inspect(),
  complete: async (host) => (await host.getSession('s')).complete('1'),
  rollback: async (host) => (await host.getSession('s')).rollback(),
  exportTable: async (host) => (await host.getSession('s')).exportTable('t'),
  exportNotebook: async (host) => (await host.getSession('s')).exportNotebook(),
  install: async (host) => (await host.getSession('s')).install('polars'),
  exec: async (host) => (await host.getSession('s')).exec(['true']),
  list: async (host) => (await host.getSession('s')).files.list(),
  upload: async (host) => (await host.getSession('s')).files.upload('a', 'b'),
  listSessions: (host) => host.listSessions(),
  createSession: (host) => host.createSession(),
  artifact: (host) => host.artifacts.get('a'),
  artifacts: (host) => host.artifacts.list({ sessionId: 's' }),
};

test.for(Object.entries(CALLS))('nonsense in the answer to %s is an error of ours', async ([, call]) => {
  const nonsense: readonly Answer[] = [
    json({ outcome: 'fine', results: null, sessions: 1, variables: {}, id: 5 }),
    json([]),
    events('data: {"type":"done"}\n\n'),
    events('id: 1\nevent: done\ndata: {"type":"done","summary":null}\n\n'),
    events('id: 1\nevent: error\ndata: {}\n\n'),
    events('id: 5\nevent: output\ndata: {}\n\n'),
  ];
  for (const answer of nonsense) {
    const isOther = (path: string): boolean => path !== 'GET /v1/sessions/s';
    const host = await connected({ 'GET /v1/sessions/s': json(SESSION) }, (request, response) =>
      isOther(`${request.method} ${request.url}`) ? answer(request, response) : undefined,
    );
    await expect(call(host)).rejects.toMatchObject({ name: 'VivariumError' });
  }
});

test('an error of a newer server is an error of ours', async () => {
  const host = await connected({ 'POST /v1/sessions': json({ code: 'QUITE_NEW', message: 'Too new.' }, 400) });
  await expect(host.createSession()).rejects.toMatchObject({ code: 'ENGINE_FAILED', message: 'Too new. (QUITE_NEW)' });
});

test('what must not be sent twice is not, and what may be is', async () => {
  const seen: string[] = [];
  const host = await connected({ 'GET /v1/sessions/s': json(SESSION) }, (request) => {
    seen.push(`${request.method} ${request.url}`);
    request.socket.destroy();
  });
  const session = await host.getSession('s');
  await expect(session.reset()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(seen.splice(0)).toEqual(['POST /v1/sessions/s/reset']);
  await expect(session.inspect()).rejects.toMatchObject({ code: 'HOST_UNREACHABLE' });
  expect(seen).toHaveLength(4);
});

test('what JSON cannot say is refused here', async () => {
  const session = await (await connected({})).getSession('s');
  const loop: Record<string, never> = {};
  Object.assign(loop, { loop });
  await expect(session.setVariables({ loop })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
