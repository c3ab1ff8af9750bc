/** A server with a data directory of its own, and how E2B's SDKs reach it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import type { HostOptions } from '../../../src/host/options.ts';
import type { ServerOptions } from '../../../src/server/options.ts';
import { startServer } from '../../../src/server/server.ts';

export interface E2bTestbed extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  /** Closes the server and leaves the data directory. */
  close(): Promise<void>;
  /** Options of every call of the SDK. */
  readonly connection: { readonly apiUrl: string; readonly sandboxUrl: string; readonly apiKey: string };
}

interface TestbedOptions extends Omit<ServerOptions, 'host' | 'hostOptions'> {
  readonly hostOptions?: HostOptions;
  /** Prepares the data directory. */
  readonly prepare?: (dataDir: string) => Promise<void>;
}

export async function startE2bServer({ hostOptions, prepare, ...options }: TestbedOptions = {}): Promise<E2bTestbed> {
  await using stack = new AsyncDisposableStack();
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-e2b-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  await prepare?.(dataDir);
  const { python } = environment;
  const server = stack.use(
    await startServer({ ...options, hostOptions: { preload: [], poolSize: 0, dataDir, python, ...hostOptions } }),
  );
  const { url } = server;
  const all = stack.move();
  return {
    url,
    dataDir,
    close: () => server.close(),
    connection: { apiUrl: url, sandboxUrl: url, apiKey: 'any key will do' },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
