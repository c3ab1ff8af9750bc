/** What no SDK sends: every answer is an error of the caller's, and the sandbox goes on. */
import { Sandbox } from '@e2b/code-interpreter';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

const BODIES = ['', 'null', '[]', '{', '"x"', '{"code":7}', '{"path":7}', '{"process":{}}', '[['.repeat(50_000), '\0'];
const ROUTES = [
  [49_999, 'POST', '/execute'],
  [49_999, 'POST', '/contexts'],
  [49_999, 'DELETE', '/contexts/none'],
  [49_999, 'POST', '/contexts/none/restart'],
  [49_999, 'POST', '/contexts/%2e%2e/restart'],
  [49_983, 'GET', '/files'],
  [49_983, 'GET', '/files?path=%00'],
  [49_983, 'GET', '/files?path=..%2f..%2f..%2fetc%2fpasswd'],
  [49_983, 'POST', '/files?path=a'],
  ...['Stat', 'ListDir', 'MakeDir', 'Move', 'Remove', 'CreateWatcher', 'GetWatcherEvents', 'RemoveWatcher'].map(
    (name) => [49_983, 'POST', `/filesystem.Filesystem/${name}`] as const,
  ),
  ...['SendInput', 'SendSignal', 'CloseStdin', 'Update', 'toString', '__proto__'].map(
    (name) => [49_983, 'POST', `/process.Process/${name}`] as const,
  ),
] as const;

let server: E2bTestbed;
let sandbox: Sandbox;
let tokens: Record<string, string>;
beforeAll(async () => {
  server = await startE2bServer();
  sandbox = await Sandbox.create(server.connection);
  const { url } = server;
  const answer = await fetch(`${url}/v2/sandboxes/${sandbox.sandboxId}/connect`, { method: 'POST' });
  const { envdAccessToken } = (await answer.json()) as { envdAccessToken: string };
  tokens = { 'x-access-token': envdAccessToken, 'e2b-sandbox-id': sandbox.sandboxId };
});
afterAll(() => server[Symbol.asyncDispose]());

async function send(
  port: number,
  method: string,
  path: string,
  body: NonNullable<RequestInit['body']>,
  type: string,
): Promise<Response> {
  const headers = { ...tokens, 'e2b-sandbox-port': String(port), 'content-type': type };
  return fetch(server.url + path, { method, headers, ...(method !== 'GET' && { body }) });
}

test.each(ROUTES)('port %d, %s %s refuses what it does not understand', async (port, method, path) => {
  for (const body of BODIES) {
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'application/proto']) {
      const { status } = await send(port, method, path, body, type);
      const isMade = path === '/contexts' && (body === '' || body.startsWith('{"'));
      expect([status, isMade || (status >= 400 && status < 500) || status === 501]).toEqual([status, true]);
    }
  }
  expect((await sandbox.runCode('1 + 1')).text).toBe('2');
});

test.each(['/process.Process/Start', '/process.Process/Connect', '/filesystem.Filesystem/WatchDir'])(
  '%s ends a stream that it does not understand with the reason',
  async (path) => {
    const junk = [Buffer.alloc(0), Buffer.from([0, 0, 0, 0, 9, 1]), Buffer.from([1, 0, 0, 0, 0]), Buffer.alloc(5, 255)];
    const messages = ['{}', 'null', '[[', '{"process":{"cmd":""}}', '{"path":""}'].map((text) =>
      Buffer.concat([Buffer.from([0, 0, 0, 0, text.length]), Buffer.from(text)]),
    );
    for (const body of [...junk, ...messages]) {
      const answer = await send(49_983, 'POST', path, body, 'application/connect+json');
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(bytes[0]).toBe(2);
      expect(JSON.parse(bytes.toString('utf8', 5))).toMatchObject({
        error: { code: expect.stringMatching(/^(invalid_argument|unimplemented)$/) as string },
      });
    }
  },
);

test.each([
  ['POST', '/v2/sandboxes'],
  ['POST', '/v2/sandboxes/none/connect'],
  ['POST', '/sandboxes/none/timeout'],
  ['GET', '/v2/sandboxes?limit=-1'],
  ['GET', '/v2/sandboxes?metadata=%25'],
  ['GET', '/sandboxes/..%2f..'],
  ['DELETE', '/sandboxes/__proto__'],
])('the control plane refuses %s %s with any body', async (method, path) => {
  for (const body of BODIES) {
    const answer = await fetch(server.url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(method !== 'GET' && { body }),
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(await answer.json()).toMatchObject({ code: answer.status, message: expect.any(String) as string });
  }
});
