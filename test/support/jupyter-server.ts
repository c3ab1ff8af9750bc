/** A real Jupyter server on loopback, in a home of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultDataDir } from '../../src/data-dir.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import { installBeside, type Installation } from '../../tools/side-environment.ts';

const START_TIMEOUT_MS = 60_000;
const ASK_AGAIN_MS = 50;
/** The server loses a signal that comes while it writes to its log: its handler logs first, which fails in there. */
const END_AGAIN_MS = 5000;
const KEPT_LOG_CHARS = 4000;
/** Far above what a test prints: without these the server drops output of more than a megabyte per second. */
const UNLIMITED = ['--ServerApp.iopub_data_rate_limit=1e10', '--ServerApp.iopub_msg_rate_limit=1e6'];

/** Installs the server once; later calls find it. */
export async function installJupyter(): Promise<Installation> {
  const dataDir = defaultDataDir(process.env);
  const sessions = await findEnvironment(dataDir);
  if (sessions === undefined) return { problem: 'no Python environment was set up: run `npm run setup` first' };
  return installBeside({
    name: 'test-jupyter',
    requirementsFile: path.join(import.meta.dirname, 'jupyter-requirements.txt'),
    dataDir,
    sessions,
    say: (text) => void process.stderr.write(`${text}\n`),
  });
}

export interface ServerOptions {
  /** Whether the server keeps the limits on output that it has by default. */
  readonly hasRateLimits?: boolean;
  readonly hasToken?: boolean;
  /** Names of kernels that it has beside `python3`. */
  readonly kernels?: readonly string[];
  /** By default any free port. */
  readonly port?: number;
}

export class TestJupyterServer implements AsyncDisposable {
  /** What an engine needs to reach it. Without a token the server takes code from anybody. */
  readonly access: { readonly url: string; readonly token: string };
  /** Where its files are. */
  readonly root: string;
  readonly #child: ChildProcess;
  readonly #home: string;

  private constructor(child: ChildProcess, home: string, address: { port: number; token: string }) {
    this.#child = child;
    this.#home = home;
    this.access = { url: `http://127.0.0.1:${address.port}`, token: address.token };
    this.root = path.join(home, 'root');
  }

  static async start(python: string, options: ServerOptions = {}): Promise<TestJupyterServer> {
    const home = await mkdtemp(path.join(tmpdir(), 'viv-jupyter-'));
    await mkdir(path.join(home, 'root'));
    for (const name of options.kernels ?? []) await installKernel(python, home, name);
    const token = options.hasToken === false ? '' : randomBytes(16).toString('hex');
    const child = spawn(python, ['-m', 'jupyter_server', ...flags(home, options)], {
      cwd: home,
      env: environmentOf(home, token),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-KEPT_LOG_CHARS)));
    try {
      const address = { port: await portOf(child, home), token };
      await answering(address.port);
      return new TestJupyterServer(child, home, address);
    } catch (error) {
      child.kill('SIGKILL');
      await rm(home, { recursive: true, force: true });
      throw new Error(`The Jupyter server did not start:\n${log}`, { cause: error });
    }
  }

  /** Something of its REST API, as anybody with the token sees it. */
  async get(where: string): Promise<unknown> {
    const { url, token } = this.access;
    const response = await fetch(`${url}/api/${where}`, { headers: { authorization: `token ${token}` } });
    return response.json();
  }

  /** Takes it down without a word to its clients. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM');
    await rm(this.#home, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    const again = setInterval(() => this.#child.kill(signal), END_AGAIN_MS);
    await exited;
    clearInterval(again);
  }
}

async function installKernel(python: string, home: string, name: string): Promise<void> {
  const directory = path.join(home, 'data', 'kernels', name);
  const argv = [python, '-m', 'ipykernel_launcher', '-f', '{connection_file}'];
  await mkdir(directory, { recursive: true });
  await writeFile(
    path.join(directory, 'kernel.json'),
    JSON.stringify({ argv, display_name: name, language: 'python' }),
  );
}

function flags(home: string, { hasRateLimits = false, hasToken = true, port = 0 }: ServerOptions): string[] {
  return [
    '--ServerApp.ip=127.0.0.1',
    `--ServerApp.port=${port}`,
    '--ServerApp.port_retries=0',
    '--ServerApp.open_browser=False',
    '--KernelManager.shutdown_wait_time=1', // how long a kernel that does not end is waited for; five seconds by default
    `--ServerApp.root_dir=${path.join(home, 'root')}`,
    ...(process.getuid?.() === 0 ? ['--ServerApp.allow_root=True'] : []),
    ...(hasRateLimits ? [] : UNLIMITED),
    ...(hasToken ? [] : ['--IdentityProvider.token=']), // an empty JUPYTER_TOKEN would give it one of its own
  ];
}

async function answering(port: number): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await fetch(`http://127.0.0.1:${port}/api`).catch(() => null))?.ok) {
    if (performance.now() > deadline) throw new Error('it does not answer');
    await sleep(ASK_AGAIN_MS);
  }
}

/** Nothing of the user's settings, and nothing left in them. */
function environmentOf(home: string, token: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return {
    ...(PATH !== undefined && { PATH }),
    LANG: 'C.UTF-8',
    HOME: home,
    IPYTHONDIR: home,
    JUPYTER_RUNTIME_DIR: path.join(home, 'runtime'),
    JUPYTER_CONFIG_DIR: path.join(home, 'config'),
    JUPYTER_DATA_DIR: path.join(home, 'data'),
    JUPYTER_TOKEN: token,
    MPLCONFIGDIR: path.join(home, 'matplotlib'),
  };
}

/** The server writes where it will listen into a file. */
async function portOf(child: ChildProcess, home: string): Promise<number> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && performance.now() < deadline) {
    const text = await readFile(path.join(home, 'runtime', `jpserver-${child.pid}.json`), 'utf8').catch(() => '');
    const port = /"port": (\d+)/.exec(text)?.[1];
    if (port !== undefined) return Number(port);
    await sleep(ASK_AGAIN_MS);
  }
  throw new Error(child.exitCode === null ? 'it took too long' : `it ended with exit code ${child.exitCode}`);
}
