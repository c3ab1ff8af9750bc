/** A program for any user: opens a session that may reach one server, and prints what became of two attempts. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createHost } from '../../../src/index.ts';

const server = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const dataDir = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
await using host = await createHost({ dataDir, python: process.argv[2], preload: [], poolSize: 0 });
await using session = await host.createSession({ network: { allow: [`127.0.0.1:${port}`] } });
const fetch = `u.urlopen("http://127.0.0.1:${port}/").read().decode()`;
const { logs } = await session.runCode(`import urllib.request as u\nprint(${fetch}, end="")`);
const { network } = await session.runCode('u.urlopen("https://evil.test/")');
const refused = network?.find(({ decision }) => decision === 'refused')?.host;
process.stdout.write(JSON.stringify({ allowed: logs.stdout, refused, uid: session.isolation.uid }));
server.close();
