/** A PostgreSQL server of the tests' own: fresh, on a socket in a temporary directory, gone with them. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, chownSync, constants } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findPostgresPrograms } from './binaries.ts';

const run = promisify(execFile);

/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const START_TIMEOUT_MS = 60_000;
const INITDB_OPTIONS = ['-U', 'vivarium', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
const SETPRIV = '/usr/bin/setpriv';

const isRoot = process.getuid?.() === 0;

export class PostgresServer implements AsyncDisposable {
  readonly #directory: string;
  readonly #process: ChildProcess;

  private constructor(directory: string, server: ChildProcess) {
    this.#directory = directory;
    this.#process = server;
  }

  static async start(): Promise<PostgresServer> {
    const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-postgres-'));
    try {
      await chmod(directory, 0o755);
      const programs = await findPostgresPrograms(directory);
      const data = await makeOwnDirectory(directory, 'data');
      const socket = await makeOwnDirectory(directory, 'socket');
      const initialize = asOrdinaryUser(path.join(programs, 'initdb'), ['-D', data, ...INITDB_OPTIONS]);
      await run(initialize.program, initialize.args, { timeout: START_TIMEOUT_MS, cwd: directory });
      return new PostgresServer(directory, await launch(path.join(programs, 'postgres'), data, socket));
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Of the database that is always there. */
  get url(): string {
    return `postgres://vivarium@localhost/postgres?host=${encodeURIComponent(path.join(this.#directory, 'socket'))}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGINT'); // does not wait for clients to leave
      await once(this.#process, 'exit');
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function launch(postgres: string, data: string, socket: string): Promise<ChildProcess> {
  const settings = ['listen_addresses=', 'fsync=off', 'max_connections=200', 'log_min_messages=log'];
  const options = settings.flatMap((setting) => ['-c', setting]);
  const { program, args } = asOrdinaryUser(postgres, ['-D', data, '-k', socket, ...options]);
  const server = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: data,
    env: { ...process.env, LC_ALL: 'C' },
  });
  const log: string[] = [];
  for await (const line of createInterface({ input: server.stderr, signal: AbortSignal.timeout(START_TIMEOUT_MS) })) {
    log.push(line);
    if (!line.includes('ready to accept connections')) continue;
    server.stderr.resume();
    return server;
  }
  server.kill('SIGKILL');
  throw new Error(`PostgreSQL did not start:\n${log.slice(-10).join('\n')}`);
}

/** Also ends it when we die, however that happens. */
function asOrdinaryUser(program: string, args: readonly string[]): { program: string; args: string[] } {
  const identity = isRoot ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  if (!isRoot && !isThere(SETPRIV)) return { program, args: [...args] };
  return { program: SETPRIV, args: [...identity, '--pdeathsig', 'QUIT', program, ...args] };
}

function isThere(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // a system without it
  }
}

async function makeOwnDirectory(parent: string, name: string): Promise<string> {
  const directory = path.join(parent, name);
  await mkdir(directory, { mode: 0o700 });
  if (isRoot) chownSync(directory, NOBODY, NOBODY);
  return directory;
}
