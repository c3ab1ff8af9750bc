/** HTTP servers in processes of their own, so that nobody else's work is in their times and their memory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { KeyStore } from '../../src/server/access/keys.ts';
import type { Bench } from '../bench.ts';

const COMMAND_LINE = path.resolve(import.meta.dirname, '../../src/cli/main.ts');
const KEPT_STDERR_BYTES = 4096;

interface Program {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** A server that says its address on its standard output. SIGTERM stops it. */
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
    this.pid = child.pid ?? 0;
  }

  static async start({ command, env, cwd }: Program): Promise<ServerProcess> {
    const [file = '', ...args] = command;
    const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString('utf8')).slice(-KEPT_STDERR_BYTES);
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const [url] = /http:\/\/[\w.:]+/.exec(line) ?? [];
      if (url !== undefined) return new ServerProcess(child, url);
    }
    throw new Error(`${command.join(' ')} has ended: ${errors.trim()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
  }
}

/** `vivarium serve` with a data directory of its own, and the keys of its clients. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Of ordinary clients, as many as were asked for. */
  readonly keys: readonly string[];
  readonly adminKey: string;
}

export async function startOwn({ python }: Bench, clients: number): Promise<OwnServer> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(path.join(tmpdir(), 'vivarium-bench-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const keys: string[] = [];
  using store = await KeyStore.open(dataDir);
  for (let index = 0; index < clients; index += 1) {
    keys.push((await store.add({ name: `client-${index}`, role: 'client' })).secret);
  }
  const { secret: adminKey } = await store.add({ name: 'admin', role: 'admin' });
  const options = ['--port', '0', '--data-dir', dataDir, '--python', python, '--max-sessions', String(clients + 10)];
  const command = [process.execPath, COMMAND_LINE, 'serve', ...options];
  const { url, pid } = stack.use(await ServerProcess.start({ command, env: process.env, cwd: dataDir }));
  const owned = stack.move();
  return { url, pid, keys, adminKey, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
