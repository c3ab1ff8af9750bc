/** Hosts whose sessions reach listed hosts, names that lead to servers of this machine, and these servers. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { LocalHost } from '../../src/host/local/local-host.ts';
import { startLocal } from '../../src/host/local/engines.ts';
import type { HostOptions } from '../../src/host/options.ts';
import type { Host } from '../../src/index.ts';

/** A host whose sessions' names are looked up at this name server. It ends with the test. */
export async function startListedHost(
  resolver: readonly [string, number],
  options: HostOptions = {},
  defer: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Host> {
  const given = { preload: [], poolSize: 0, ...options };
  const { initCode: _, engine: __, signal: ___, ...input } = given;
  const starting = startLocal(parseConfig(input), { resolver });
  const host = await LocalHost.start(given, { starting, runsOnce: false, keepsNothing: false });
  defer(() => host.close());
  return host;
}

export interface TestServer {
  readonly port: number;
  /** Its entries for a list, for a name that leads to this machine. */
  allow(name: string): string[];
}

/** A server of this machine. */
export async function startServer(listener: RequestListener, tls?: Certificate): Promise<TestServer> {
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, allow: (name) => [`${name}:${port}`, `127.0.0.1:${port}`] };
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate that a client trusts if it is told to. */
export function makeCertificate(name: string): Certificate {
  const directory = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => path.join(directory, file)) as [string, string];
    const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', ...kind, '-keyout', key, '-out', cert, ...names], { stdio: 'pipe' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
