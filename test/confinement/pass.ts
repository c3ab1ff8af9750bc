/** One pass over the table in a process of its own, as one user. */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Attempt } from './attempts.ts';
import type { Line, Row } from './verdict.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const RUNNER = 'test/confinement/runner.ts';
/** What a runner needs besides Node, should the project lie where its user cannot read. */
const NEEDED = ['package.json', 'python', 'src', 'test/confinement', 'node_modules/zod'];

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

export interface PassOptions {
  readonly name: string;
  readonly attempts: readonly Attempt[];
  readonly python: string;
  /** Another user than the one who tests. */
  readonly identity?: Identity;
  readonly cgroups: boolean;
  /** Whether attempts are made without walls too. */
  readonly plain: boolean;
  readonly isolation?: 'namespaces' | 'landlock';
  /** Whether the session that attacks may use the network, or what is on a list. */
  readonly network?: boolean | 'list';
  /** Whether attempts are made by commands of the session instead of its Python. */
  readonly byCommands?: boolean;
  /** Attempts that are known to get out, with the reason. */
  readonly open?: Readonly<Record<string, string>>;
}

/** A machine that cannot build the walls at all. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

export class Pass {
  readonly options: PassOptions;
  readonly #rows: Map<string, PromiseWithResolvers<Row>>;
  #finished: Promise<void> | null = null;
  #isPrivileged = false;
  #guards: readonly string[] = [];
  #leftovers: readonly string[] | null = null;

  constructor(options: PassOptions) {
    this.options = options;
    this.#rows = new Map(options.attempts.map(({ id }) => [id, Promise.withResolvers<Row>()]));
    for (const { promise } of this.#rows.values()) promise.catch(() => undefined); // reported by the test that awaits it
  }

  /** Begins, if that has not been done; resolves when everything was tried. */
  run(): Promise<void> {
    return (this.#finished ??= this.#run());
  }

  /** What was found for an attempt, as soon as it is known. */
  row(attempt: Attempt): Promise<Row> {
    const row = this.#rows.get(attempt.id);
    return row === undefined ? Promise.reject(new TypeError(`${attempt.id} is not part of this pass`)) : row.promise;
  }

  async rows(): Promise<Row[]> {
    return Promise.all(this.options.attempts.map((attempt) => this.row(attempt)));
  }

  /** Whether the user who attacks has every power outside of the walls. */
  get isPrivileged(): boolean {
    return this.#isPrivileged;
  }

  /** Whether this machine has what it takes to hold an attempt. */
  isGuarded({ guard }: Attempt): boolean {
    return guard === null || this.#guards.includes(guard);
  }

  /** What the engine left in its directory when it was closed. */
  get leftovers(): readonly string[] | null {
    return this.#leftovers;
  }

  async #run(): Promise<void> {
    const directory = makeDirectory(this.options.identity);
    try {
      const problem = await this.#listen(directory);
      this.#fail(new Error(`the runner ended early: ${problem}`));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }

  /** Runs the table in a process; what it said on stderr. */
  async #listen(directory: string): Promise<string> {
    const { identity, python, attempts, cgroups, plain } = this.options;
    const { isolation = 'namespaces', network = false, byCommands = false } = this.options;
    const { node, runner } = place(directory, identity);
    const only = attempts.flatMap(({ id }) => ['--only', id]);
    const flags = [
      '--directory',
      directory,
      '--python',
      python,
      '--cgroups',
      cgroups ? 'yes' : 'no',
      '--plain',
      plain ? 'yes' : 'no',
      '--isolation',
      isolation,
      '--network',
      network === 'list' ? 'list' : network ? 'yes' : 'no',
      '--commands',
      byCommands ? 'yes' : 'no',
    ];
    const child = spawn(node, [runner, ...flags, ...only], {
      cwd: directory,
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: directory,
        TMPDIR: path.join(directory, 'tmp'),
        HOST_SECRET: `host-secret-${randomBytes(16).toString('hex')}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...identity,
    });
    let problems = '';
    child.stderr.on('data', (chunk) => (problems += String(chunk)));
    const exited = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(`${code ?? signal}`));
    });
    for await (const text of createInterface(child.stdout)) this.#onLine(JSON.parse(text) as Line);
    return `${await exited}\n${problems}`;
  }

  #onLine(line: Line): void {
    switch (line.type) {
      case 'unavailable':
        this.#fail(new Unavailable(line.problem));
        break;
      case 'ready':
        this.#isPrivileged = line.hasAllCapabilities;
        this.#guards = line.guards;
        break;
      case 'row':
        this.#rows.get(line.row.id)?.resolve(line.row);
        break;
      case 'end':
        this.#leftovers = line.leftovers;
    }
  }

  #fail(error: Error): void {
    for (const row of this.#rows.values()) row.reject(error);
  }
}

/** A directory of the user's own; not below /tmp, which every session has one of. */
function makeDirectory(identity: Identity | undefined): string {
  const directory = mkdtempSync(path.join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'confinement-'));
  mkdirSync(path.join(directory, 'tmp'));
  chmodSync(directory, 0o755);
  for (const each of [directory, path.join(directory, 'tmp')])
    if (identity) chownSync(each, identity.uid, identity.gid);
  return directory;
}

/** Node and the runner where the user can read them: where they are, or copies. */
function place(directory: string, identity: Identity | undefined): { node: string; runner: string } {
  const here = { node: process.execPath, runner: path.join(ROOT, RUNNER) };
  if (identity === undefined || canRead(here, identity)) return here;
  const copy = path.join(directory, 'project');
  for (const name of NEEDED) cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  cpSync(process.execPath, path.join(copy, 'node'));
  return { node: path.join(copy, 'node'), runner: path.join(copy, RUNNER) };
}

function canRead({ node, runner }: { node: string; runner: string }, identity: Identity): boolean {
  const readable = [
    runner,
    path.join(ROOT, 'python/_vivarium/zygote/__main__.py'),
    path.join(ROOT, 'node_modules/zod/package.json'),
  ];
  try {
    execFileSync(node, ['-e', 'for (const f of process.argv.slice(1)) fs.readFileSync(f)', ...readable], {
      ...identity,
      cwd: '/',
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false; // a home that only its owner may enter
  }
}
