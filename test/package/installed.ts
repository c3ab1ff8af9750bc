/** The package as users get it: built, packed by npm, and installed in an empty project. The clone's `dist` is left alone. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { defaultDataDir } from '../../src/data-dir.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const BIN = path.join(ROOT, 'node_modules', '.bin');
const PACKED = [
  'src',
  'python',
  'tools',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'LICENSE',
  'README.md',
];
const RUN_TIMEOUT_MS = 60_000;
const execute = promisify(execFile);

/** What packages that are installed together need to be compiled by an ordinary project. */
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    skipLibCheck: true,
    module: 'nodenext',
    target: 'esnext',
    noEmit: true,
    types: [path.join(ROOT, 'node_modules/@types/node')],
  },
  include: ['*.ts'],
};

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class InstalledPackage implements AsyncDisposable {
  readonly directory: string;
  readonly #scratch: string;

  private constructor(scratch: string, project: string) {
    this.#scratch = scratch;
    this.directory = path.join(scratch, project);
  }

  static async create(): Promise<InstalledPackage> {
    const scratch = await mkdtemp(path.join(tmpdir(), 'vivarium-package-'));
    const installed = new InstalledPackage(scratch, 'project');
    const archive = await pack(path.join(scratch, 'clone'));
    await mkdir(installed.directory);
    await writeFile(path.join(installed.directory, 'package.json'), '{ "type": "module" }');
    await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', archive], installed.directory);
    await mkdir(installed.dataDir);
    const record = 'environment.json'; // the Python environment is the one that was set up
    await copyFile(path.join(defaultDataDir(process.env), record), path.join(installed.dataDir, record));
    return installed;
  }

  get modules(): string {
    return path.join(this.directory, 'node_modules');
  }

  get dataDir(): string {
    return path.join(this.#scratch, 'data');
  }

  /** Another project in which these packages are installed too: those of the clone. It is removed with this one. */
  async beside(project: string, packages: readonly string[]): Promise<InstalledPackage> {
    const other = new InstalledPackage(this.#scratch, project);
    await cp(this.directory, other.directory, { recursive: true, verbatimSymlinks: true });
    for (const name of packages) {
      await mkdir(path.dirname(path.join(other.modules, name)), { recursive: true });
      await symlink(path.join(ROOT, 'node_modules', name), path.join(other.modules, name));
    }
    return other;
  }

  async write(name: string, content: string): Promise<void> {
    await writeFile(path.join(this.directory, name), content);
  }

  /** What the compiler says of all programs of the project. */
  async typeCheck(): Promise<string> {
    await this.write('tsconfig.json', JSON.stringify(TSCONFIG));
    return (await this.run([path.join(BIN, 'tsc'), '-p', '.'])).stdout;
  }

  /** Runs a program of the project. */
  async run(
    args: readonly string[],
    { node = process.execPath, env = {} }: { node?: string; env?: Readonly<Record<string, string>> } = {},
  ): Promise<Ended> {
    const { HOME = this.#scratch } = process.env;
    const child = spawn(node, args, {
      cwd: this.directory,
      env: { PATH: `${path.dirname(node)}:/usr/bin:/bin`, HOME, VIVARIUM_HOME: this.dataDir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { exitCode: child.exitCode, stdout, stderr };
  }

  /** Runs the installed command line. */
  vivarium(args: readonly string[], options: { node?: string; env?: Readonly<Record<string, string>> } = {}) {
    return this.run(['node_modules/vivarium/dist/bin/vivarium.js', ...args], options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#scratch, { recursive: true, force: true });
  }
}

/** Builds in copies, since a test must not change the files of the clone. */
async function pack(directory: string): Promise<string> {
  await mkdir(directory);
  for (const name of PACKED) await cp(path.join(ROOT, name), path.join(directory, name), { recursive: true });
  await symlink(path.join(ROOT, 'node_modules'), path.join(directory, 'node_modules'));
  const options = { cwd: directory };
  await execute(path.join(BIN, 'tsc'), ['-p', 'tsconfig.build.json'], options);
  for (const tool of ['tools/bundle.ts', 'tools/entries.ts']) await execute(process.execPath, [tool], options);
  const printed = await npm(['pack', '--ignore-scripts'], directory);
  return path.join(directory, printed.trim());
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  return (await execute('npm', [...args, '--loglevel=error'], { cwd })).stdout;
}
