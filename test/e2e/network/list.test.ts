/** A session whose network is a list: what gets past it, what is told, and where secrets go. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { forModel, type Event, type NetworkInput } from '../../../src/index.ts';
import { said } from '../../support/said.ts';
import { ListedHost, one } from './list-scene.ts';

const shared = new ListedHost();

test('everything that is not listed is refused, whatever way a program takes', async () => {
  const { session, port } = await shared.open((number) => ({
    allow: [`api.test:${number}`, `127.0.0.1:${number}`, 'ten.test', 'meta.test', 'loop.test', `rebind.test:${number}`],
  }));
  const refused = async (code: string, words: string | RegExp): Promise<void> => {
    const { outcome, error } = await session.runCode(code);
    expect.soft(`${outcome.status} ${error?.traceback ?? ''}`, code).toMatch(words);
  };
  await refused('get("https://evil.test/")', /evil\.test:443 is not on the list/u);
  await refused(
    'get("http://ten.test/")',
    /raised .*HTTP Error 403: refused by the sandbox: ten\.test leads to 10\.0\.0\.1/su,
  );
  await refused('get("https://meta.test/")', /meta\.test leads to 169\.254\.169\.254 \(metadata\)/u);
  await refused('get("https://loop.test/")', /add the address 127\.0\.0\.1:443 to network\.allow/u);
  await refused(`get("http://api.test:${port}/away")`, /169\.254\.169\.254:80 is not on the list/u);
  await refused('get("http://[::ffff:169.254.169.254]/")', /169\.254\.169\.254:80 is not on the list/u);
  await refused('get("http://2130706433:80/")', /403: refused/u);
  await refused('get("http://0x7f.1/")', /403: refused/u);
  await refused(`get("http://api.test:${port + 1}/")`, new RegExp(`api.test is allowed on ${port} only`, 'u'));
  expect(said(await session.runCode(`print(get("http://rebind.test:${port}/"))`))).toBe('hello');
  await refused(`get("http://rebind.test:${port}/")`, /rebind\.test leads to 10\.0\.0\.1/u);
  await refused('import socket; socket.create_connection(("169.254.169.254", 80), 2)', /raised .*listed hosts only/su);
  await refused('socket.getaddrinfo("example.com", 443)', /raised .*listed hosts only/su);
  await refused(
    'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("10.0.0.1", 53))',
    /raised .*unreachable/su,
  );
  await refused('socket.create_connection(("::1", 80), 2)', /raised/u);
  expect(shared.names.asked).not.toContain('evil.test');
});

test('services of the machine cannot be reached through the loopback of the session', async () => {
  const { session } = await shared.open(one);
  const listener = createServer((socket) => socket.end('of the machine')).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  const direct = await session.runCode(`import socket; socket.create_connection(("127.0.0.1", ${port}), 2)`);
  expect(direct.error?.name).toBe('ConnectionRefusedError');
  const through = await session.runCode(`
proxy = socket.create_connection(("127.0.0.1", 3128))
proxy.sendall(b"CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\n\\r\\n")
print(proxy.recv(100))`);
  expect(said(through)).toContain('403 refused');
});

test('attempts are events while they happen, are in the execution with their bytes, and a model reads of refused ones', async () => {
  const { session, port } = await shared.open(one);
  const events: Event[] = [];
  const code = `print(get("http://api.test:${port}/"))\ntry: get("https://evil.test/")\nexcept OSError: pass`;
  for await (const event of session.stream(code)) events.push(event);
  expect(events.map(({ type }) => type).filter((type) => type !== 'output')).toEqual(['network', 'network', 'done']);
  expect(events.find(({ type }) => type === 'network')).toMatchObject({
    connection: { host: 'api.test', port, address: '127.0.0.1', decision: 'allowed' },
  });
  const execution = await session.runCode(code);
  expect(execution.network).toMatchObject([
    { host: 'api.test', port, decision: 'allowed' },
    { host: 'evil.test', port: 443, decision: 'refused' },
  ]);
  expect(execution.network?.[0]?.sentBytes).toBeGreaterThan(0);
  expect(forModel(execution)).toContain('[network refused: evil.test:443 (evil.test:443 is not on the list');
  expect((await session.runCode('1 + 1')).network).toBeUndefined();
  const cells = (await session.exportNotebook()).cells.map(({ metadata }) => metadata.vivarium?.network.hosts);
  expect(cells.at(-2)).toMatchObject([
    { host: 'api.test', port, decision: 'allowed', connections: 1 },
    { host: 'evil.test', port: 443, decision: 'refused', connections: 1 },
  ]);
});

test('what happens between runs belongs to the next one', async () => {
  const { session, port, heads } = await shared.open(one);
  await session.runCode(`
import os, threading
def later():
    while not os.path.exists("go"): threading.Event().wait(0.02)
    get("http://api.test:${port}/")
thread = threading.Thread(target=later); thread.start()`);
  await session.files.upload('go', '');
  await expect.poll(() => heads.length, { timeout: 20_000 }).toBe(1);
  const { network } = await session.runCode('thread.join()');
  expect(network).toMatchObject([{ host: 'api.test', port, decision: 'allowed' }]);
});

test('allowed connections are not told where the list says so', async () => {
  const { session, port } = await shared.open((number) => ({ ...(one(number) as object), log: false }) as NetworkInput);
  const execution = await session.runCode(
    `get("http://api.test:${port}/")\ntry: get("https://evil.test/")\nexcept OSError: pass`,
  );
  expect(execution.network).toMatchObject([{ host: 'evil.test', decision: 'refused' }]);
});

test('clients that know no proxies reach hosts that are listed with a port', async () => {
  const echo = createServer((socket) => socket.on('error', () => socket.destroy()).pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  onTestFinished(() => void echo.close());
  const { port } = echo.address() as AddressInfo;
  const { session } = await shared.open(() => ({ allow: [`api.test:${port}`, `127.0.0.1:${port}`] }));
  for (const host of ['api.test', '127.0.0.1']) {
    const execution = await session.runCode(`
import socket
with socket.create_connection(("${host}", ${port})) as connection:
    connection.sendall(b"ping")
    print(connection.recv(4))`);
    expect(said(execution)).toBe("b'ping'");
    expect(execution.network).toMatchObject([{ host, port, decision: 'allowed', sentBytes: 4, receivedBytes: 4 }]);
  }
});

test('secrets are never in the session, and reach their host in headers', async () => {
  const { session, port, heads } = await shared.open(one, (number) => ({
    secrets: { API_KEY: { value: 's3cret-value', hosts: [`api.test:${number}`] } },
    env: { NO_PROXY: '', no_proxy: '' }, // else 127.0.0.1 would not be asked of the proxy
  }));
  const seen = await session.runCode('import os; key = os.environ["API_KEY"]; print(key, "s3cret" in str(os.environ))');
  expect(said(seen)).toMatch(/^vivarium-secret-\S+ False$/u);
  const ask = (url: string): string =>
    `print(u.urlopen(u.Request("${url}", headers={"Authorization": f"Bearer {key}"})).read().decode())`;
  expect(said(await session.runCode(ask(`http://api.test:${port}/`)))).toBe('hello');
  expect(heads.at(-1)).toMatchObject({ authorization: 'Bearer s3cret-value' });
  expect(said(await session.runCode(ask(`http://127.0.0.1:${port}/`)))).toBe('hello'); // not one of its hosts
  expect(heads.at(-1)?.['authorization']).toMatch(/^Bearer vivarium-secret-/u);
});
