/** A server of the make of E2B's code interpreter, as the benchmark sees it. See execute_server.py. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ServerProcess } from '../server/server-process.ts';
import { kernelEnvironment } from './kernel-environment.ts';

const PROGRAM = path.join(import.meta.dirname, 'execute_server.py');

export interface ExecuteServer extends AsyncDisposable {
  readonly url: string;
}

export async function startExecuteServer(python: string, cacheDir: string): Promise<ExecuteServer> {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(path.join(tmpdir(), 'vivarium-bench-'));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const program = { command: [python, PROGRAM], env: kernelEnvironment(home, cacheDir), cwd: home };
  const { url } = stack.use(await ServerProcess.start(program));
  const owned = stack.move();
  return { url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
