import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { defaultDataDir } from '../../src/data-dir.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import type { HostOptions } from '../../src/host/options.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { startServer, type Server } from '../../src/server/server.ts';

type TestServerOptions = Omit<ServerOptions, 'host' | 'hostOptions'> & { readonly settings?: HostOptions };

/** A server with a data directory of its own, on the Python that set-up made. Whoever starts it closes it. */
export async function openTestServer({ settings, ...options }: TestServerOptions = {}): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-server-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const { python } = environment;
  const hostOptions = { preload: [], poolSize: 0, dataDir, python, ...settings };
  const server = stack.use(await startServer({ drainMs: 0, ...options, hostOptions }));
  const all = stack.move();
  const close = (): Promise<void> => all.disposeAsync();
  return { url: server.url, close, [Symbol.asyncDispose]: close };
}

/** One that lives as long as the test. */
export async function startTestServer(options: TestServerOptions = {}): Promise<Server> {
  const server = await openTestServer(options);
  onTestFinished(() => server.close());
  return server;
}
