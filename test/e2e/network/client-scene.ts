/** Sessions for clients: an environment with the clients in it, and a host `api.test` that they may reach. */
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { parseConfig } from '../../../src/config.ts';
import { choosePython } from '../../../src/host/local/python.ts';
import type { Session } from '../../../src/index.ts';
import { installBeside } from '../../../tools/side-environment.ts';
import { makeCertificate, startListedHost, startServer, type TestServer } from '../../support/listed-host.ts';
import { startNameServer } from '../../support/name-server.ts';

export const INSTALL_TIMEOUT_MS = 300_000;
const REQUIREMENTS = path.join(import.meta.dirname, '../../support/network-requirements.txt');
const CERTIFICATE = '/workspace/ca.pem';
const CA_VARIABLES = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'PIP_CERT'];

/** The Python that has the clients. The first call installs them, and the files that run side by side wait for each other. */
export async function installClients(): Promise<string> {
  const config = parseConfig({});
  const sessions = await choosePython(config);
  const side = { name: 'test-network', requirementsFile: REQUIREMENTS, dataDir: config.dataDir, sessions };
  const installed = await installBeside({ ...side, say: () => {} });
  if ('problem' in installed) throw new Error(installed.problem);
  return installed.python;
}

export interface Scene {
  readonly session: Session;
  readonly http: TestServer;
  readonly https: TestServer;
}

/** A session that reaches `api.test` by HTTP and HTTPS; `listener` answers there. Null is the Python of all sessions. */
export async function openScene(python: string | null, listener: RequestListener): Promise<Scene> {
  const certificate = makeCertificate('api.test');
  const http = await startServer(listener);
  const https = await startServer(listener, certificate);
  const names = await startNameServer({ 'api.test': ['127.0.0.1'], 'evil.test': ['127.0.0.1'] });
  const host = await startListedHost(names.address, python === null ? {} : { python });
  const session = await host.createSession({
    network: { allow: [...http.allow('api.test'), ...https.allow('api.test')] },
    env: Object.fromEntries(CA_VARIABLES.map((name) => [name, CERTIFICATE])),
  });
  await session.files.upload('ca.pem', certificate.cert);
  return { session, http, https };
}
