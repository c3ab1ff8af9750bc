import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultDataDir } from '../../src/data-dir.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import { createHost, type HostOptions } from '../../src/index.ts';
import type { Testbed } from './context.ts';

/** A host with a data directory of its own, on the Python that set-up made. Whatever else it needs, `owned` owns. */
export async function hostTestbed(options: HostOptions, owned?: AsyncDisposable): Promise<Testbed> {
  await using stack = new AsyncDisposableStack();
  stack.use(owned);
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-conformance-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const { python } = environment;
  const host = stack.use(await createHost({ preload: [], poolSize: 0, dataDir, python, ...options }));
  const all = stack.move();
  return { host, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
