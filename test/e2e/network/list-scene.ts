/** Sessions of one host whose network is a list, names of our own, and servers that they may reach or not. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Host, NetworkInput, Session, SessionOptions } from '../../../src/index.ts';
import { startListedHost, startServer } from '../../support/listed-host.ts';
import { startNameServer, type NameServer } from '../../support/name-server.ts';

const PRIVATE = { 'ten.test': ['10.0.0.1'], 'meta.test': ['169.254.169.254'], 'loop.test': ['127.0.0.1'] };
export const FETCH = 'import urllib.request as u\ndef get(url): return u.urlopen(url, timeout=20).read().decode()\n';

/** The server of a test, and what else it has of this machine, listed. */
export const one = (port: number): NetworkInput => ({ allow: [`api.test:${port}`, `127.0.0.1:${port}`] });

export interface Scene {
  readonly session: Session;
  readonly port: number;
  readonly heads: readonly Record<string, unknown>[];
}

/** A host for all tests of a file. */
export class ListedHost {
  host!: Host;
  names!: NameServer;

  constructor() {
    const ends: (() => Promise<void> | void)[] = [];
    beforeAll(async () => {
      const changing = { 'rebind.test': ['127.0.0.1', '10.0.0.1'] };
      const defer = (end: () => Promise<void> | void): void => void ends.push(end);
      this.names = await startNameServer({ 'api.test': ['127.0.0.1'], ...changing, ...PRIVATE }, defer);
      this.host = await startListedHost(this.names.address, {}, defer);
    });
    afterAll(async () => {
      for (const end of ends.toReversed()) await end();
    });
  }

  /** A session with a list, and the server that the list may have. */
  async open(
    network: (port: number) => NetworkInput,
    more: (port: number) => Partial<SessionOptions> = () => ({}),
  ): Promise<Scene> {
    const heads: Record<string, unknown>[] = [];
    const server = await startServer((request, response) => {
      heads.push(request.headers);
      if (request.url === '/away')
        response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end();
      else response.end('hello');
    });
    const session = await this.host.createSession({ network: network(server.port), ...more(server.port) });
    onTestFinished(() => session.close());
    await session.runCode(FETCH);
    return { session, port: server.port, heads };
  }
}
