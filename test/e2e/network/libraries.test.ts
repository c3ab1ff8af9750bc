/** Libraries that read from the network, in a session whose network is a list: what works, and what a refusal looks like. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { forModel } from '../../../src/index.ts';
import { startListedHost, startServer } from '../../support/listed-host.ts';
import { said } from '../../support/said.ts';
import { startNameServer } from '../../support/name-server.ts';
import { INSTALL_TIMEOUT_MS, installClients, openScene } from './client-scene.ts';

let python = '';
beforeAll(async () => {
  python = await installClients();
}, INSTALL_TIMEOUT_MS);

const TABLES: Readonly<Record<string, string>> = {
  '/t.csv': 'a,b\n1,42\n',
  '/t.html': '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>42</td></tr></table>',
};
const serveTables: RequestListener = (request, response) => {
  const whole = TABLES[request.url ?? ''] ?? '';
  const [, from, to] = /bytes=(\d+)-(\d*)/u.exec(request.headers.range ?? '') ?? []; // polars and DuckDB read parts
  const text = from === undefined ? whole : whole.slice(Number(from), to ? Number(to) + 1 : undefined);
  const part = { 'Content-Range': `bytes ${from}-${Number(from) + text.length - 1}/${whole.length}` };
  response.writeHead(from === undefined ? 200 : 206, { ...(from && part), 'Content-Length': text.length });
  response.end(request.method === 'HEAD' ? undefined : text);
};

const LOAD_HTTPFS = `import duckdb, duckdb_extension_httpfs as package, os
duckdb.sql(f"LOAD '{os.path.dirname(package.__file__)}/extensions/v{duckdb.__version__}/httpfs.duckdb_extension'")`;
const OF_ALL_SESSIONS: Readonly<Record<string, string>> = {
  'pandas.read_csv': 'import pandas; print(pandas.read_csv("URL/t.csv").b[0])',
  'pandas.read_html': 'import pandas; print(pandas.read_html("URL/t.html")[0].b[0])',
  'polars.read_csv': 'import polars; print(polars.read_csv("URL/t.csv")["b"][0])',
  'polars.scan_csv': 'import polars; print(polars.scan_csv("URL/t.csv").collect()["b"][0])',
  'urllib3 directly': 'import urllib3; print(urllib3.PoolManager().request("GET", "URL/t.csv").data)',
  'curl by SOCKS': `import subprocess
print(subprocess.check_output(["curl", "-sS", "--noproxy", "", "--socks5-hostname", "127.0.0.1:1080", "URL/t.csv"], text=True))`,
};
const INSTALLED: Readonly<Record<string, string>> = {
  'aiohttp directly': `import aiohttp
async with aiohttp.ClientSession() as client, client.get("URL/t.csv") as answer: print(await answer.text())`,
  'aiohttp by proxy': `import aiohttp
async with aiohttp.ClientSession(trust_env=True) as client, client.get("URL/t.csv") as answer: print(await answer.text())`,
  'DuckDB with httpfs': `${LOAD_HTTPFS}\nprint(duckdb.sql("SELECT b FROM 'URL/t.csv'").fetchall()[0][0])`,
};

test.for([
  ['pandas, polars, urllib3 and curl by SOCKS', OF_ALL_SESSIONS, false],
  ['aiohttp and DuckDB with httpfs', INSTALLED, true],
] as const)('%s read from the listed host, and a model reads what was refused', async ([, readers, areInstalled]) => {
  const { session, http } = await openScene(areInstalled ? python : null, serveTables);
  for (const [reader, code] of Object.entries(readers)) {
    const execution = await session.runCode(code.replaceAll('URL', `http://api.test:${http.port}`));
    expect.soft(said(execution), reader).toContain('42');
    expect.soft(execution.network?.at(-1), reader).toMatchObject({ host: 'api.test', decision: 'allowed' });
  }
  for (const [reader, code] of Object.entries(readers).filter(([name]) => !name.endsWith(' directly'))) {
    const execution = await session.runCode(code.replaceAll('URL', 'http://evil.test'));
    expect.soft(forModel(execution), reader).toMatch(/evil\.test:80 is not on the list of allowed hosts|403: refused/u);
    expect.soft(execution.network?.at(-1), reader).toMatchObject({ host: 'evil.test', decision: 'refused' });
  }
});

test('DuckDB without httpfs says what it lacks, and what to do', async () => {
  const server = await startServer(serveTables);
  const names = await startNameServer({ 'api.test': ['127.0.0.1'] });
  const host = await startListedHost(names.address); // the environment of sessions, which has no httpfs
  await using session = await host.createSession({ network: { allow: server.allow('api.test') } });
  const url = `http://api.test:${server.port}/t.csv`;
  const refused = await session.runCode(`import duckdb\nduckdb.sql("SELECT * FROM '${url}'").show()`);
  expect(refused.error?.traceback).toMatch(
    /DuckDB reads addresses with its extension httpfs, .*extensions\.duckdb\.org/su,
  );
  expect(refused.network).toMatchObject([{ host: 'extensions.duckdb.org', port: 80, decision: 'refused' }]);
  const instead = await session.runCode(
    `import pandas\nt = pandas.read_csv("${url}")\nprint(duckdb.sql("SELECT b FROM t").fetchall()[0][0])`,
  );
  expect(said(instead)).toBe('42');
});

test('websockets talks to the listed host', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  server.on('upgrade', ({ headers }, socket) => {
    const key = `${headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`);
    socket.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n\u0081\u0005hello`, 'latin1');
    socket.on('error', () => socket.destroy()).on('data', () => socket.end()); // it says good-bye
  });
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const names = await startNameServer({ 'api.test': ['127.0.0.1'] });
  const host = await startListedHost(names.address, { python });
  await using session = await host.createSession({ network: { allow: [`api.test:${port}`, `127.0.0.1:${port}`] } });
  const code = `import websockets
async with websockets.connect("ws://api.test:${port}/") as connection: print(await connection.recv())`;
  expect(said(await session.runCode(code))).toBe('hello');
});
