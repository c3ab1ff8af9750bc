/** A project of a user: a temporary directory in which `vivarium` is installed, and is the sources of this clone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { defaultDataDir } from '../../src/data-dir.ts';
import type { Environment } from '../../src/environment/environment.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import { startServer } from '../../src/server.ts';
import { ensureUv } from '../../src/environment/uv.ts';
import { ROOT, type Page, type Snippet } from './pages.ts';
import { withoutSetUpLines } from './set-up-lines.ts';

const TSC = path.join(ROOT, 'node_modules', '.bin', 'tsc');
const TIMEOUT_MS = 60_000;
/** Packages of others that a page uses. */
const USED = ['@e2b/code-interpreter', 'ai', 'openai', 'zod'];

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly types: string } | string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** How a program ended and what it printed. */
export interface Printed {
  readonly exitCode: number | null;
  /** Standard output; of a shell script also its errors, as a terminal shows them. */
  readonly output: string;
  readonly errors: string;
}

export class Project implements AsyncDisposable {
  readonly directory: string;
  readonly #environment: NodeJS.ProcessEnv;
  /** Addresses by the names of pages. */
  readonly #servers = new Map<string, string>();
  readonly #stack = new AsyncDisposableStack();

  private constructor(directory: string, environment: NodeJS.ProcessEnv) {
    this.directory = directory;
    this.#environment = environment;
  }

  /** `variables` are what the pages tell their reader to set: a model, a Jupyter server, a database. */
  static async create(variables: Readonly<Record<string, string>>): Promise<Project> {
    const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-docs-'));
    await chmod(directory, 0o755);
    await Promise.all([installPackages(directory), writeCommands(directory), fetchUv()]);
    const { PATH, HOME, CI } = process.env;
    return new Project(directory, {
      PATH: `${path.join(directory, 'bin')}:${path.dirname(process.execPath)}:${PATH}`,
      ...(HOME !== undefined && { HOME }),
      ...(CI !== undefined && { CI }),
      LC_ALL: 'C.UTF-8', // what `sort` prints is on the pages
      ...variables,
    });
  }

  /** The directory that the snippets of a page share: a later one finds the files of an earlier one. */
  async directoryOf({ name }: Page): Promise<string> {
    const directory = path.join(this.directory, 'pages', name);
    await mkdir(directory, { recursive: true });
    await this.makeDataDirectory(name);
    return directory;
  }

  /** Records and approvals of a page are its own; the Python environment and uv are those that were set up. */
  async makeDataDirectory(name: string): Promise<string> {
    const directory = path.join(this.directory, 'data', name);
    const record = 'environment.json';
    await mkdir(directory, { recursive: true });
    const usual = defaultDataDir(process.env);
    await copyFile(path.join(usual, record), path.join(directory, record));
    const uv = path.join(directory, 'uv');
    if (!existsSync(uv)) await symlink(path.join(usual, 'uv'), uv);
    return directory;
  }

  /** Checks all programs in TypeScript at once; gives what the compiler says of them. */
  async typeCheck(pages: readonly Page[]): Promise<string> {
    for (const page of pages) {
      const directory = await this.directoryOf(page);
      const programs = page.snippets.filter(({ language }) => language === 'ts');
      await Promise.all(programs.map((snippet) => writeFile(fileOf(directory, snippet), snippet.code)));
    }
    await writeFile(path.join(this.directory, 'tsconfig.json'), TSCONFIG);
    return (await this.#run(TSC, ['-p', this.directory], this.directory)).output;
  }

  async runTypeScript(page: Page, snippet: Snippet): Promise<Printed> {
    const directory = await this.directoryOf(page);
    const file = fileOf(directory, snippet);
    await writeFile(file, snippet.code);
    return this.#run(process.execPath, [file], directory);
  }

  /** A program of the machine, outside of every session, with the libraries of the environment. */
  async runPython(page: Page, { code }: Snippet): Promise<Printed> {
    const { python } = await findOwnEnvironment();
    return this.#run(python, ['-c', code], await this.directoryOf(page));
  }

  /** Starts the server that the page tells its reader to start. */
  async serve(page: Page): Promise<void> {
    const hostOptions = { dataDir: await this.makeDataDirectory(page.name) };
    const server = this.#stack.use(await startServer({ hostOptions }));
    this.#servers.set(page.name, server.url);
  }

  /** A command that fails ends the script. */
  async runShell(page: Page, { code }: Snippet): Promise<Printed> {
    const script = `exec 2>&1\n${withoutSetUpLines(code)}`;
    return this.#run('bash', ['-e', '-o', 'pipefail', '-c', script], await this.directoryOf(page));
  }

  /** Has snippets find a program by this name. */
  async addCommand(name: string, program: string): Promise<void> {
    await writeFile(path.join(this.directory, 'bin', name), `#!/bin/sh\nexec '${program}' "$@"\n`, { mode: 0o755 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
    await rm(this.directory, { recursive: true, force: true });
  }

  async #run(command: string, args: readonly string[], cwd: string): Promise<Printed> {
    const page = path.basename(cwd);
    const url = this.#servers.get(page);
    const child = spawn(command, args, {
      cwd,
      env: {
        ...this.#environment,
        VIVARIUM_HOME: path.join(this.directory, 'data', page),
        ...(url !== undefined && { VIVARIUM_URL: url }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { exitCode: child.exitCode, output, errors };
  }
}

const TSCONFIG = JSON.stringify({
  extends: path.join(ROOT, 'tsconfig.json'),
  compilerOptions: {
    noPropertyAccessFromIndexSignature: false,
    types: [path.join(ROOT, 'node_modules/@types/node')],
    paths: {}, // `vivarium` is installed here
  },
  include: ['pages/*/*.ts'],
});

function fileOf(directory: string, { line }: Snippet): string {
  return path.join(directory, `line-${line}.ts`);
}

/** Entry points are those of package.json, with sources in place of what is built from them. */
async function installPackages(directory: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const modules = path.join(directory, 'node_modules');
  const names = [...Object.keys(manifest.peerDependencies), ...USED];
  await writePackage(directory, { type: 'module' });
  await writePackage(path.join(modules, 'vivarium'), {
    name: 'vivarium',
    type: 'module',
    exports: Object.fromEntries(
      Object.entries(manifest.exports).flatMap(([name, entry]) =>
        typeof entry === 'string'
          ? []
          : [[name, entry.types.replace(/^\.\/dist\/(?<file>.*)\.d\.ts$/u, './src/$<file>.ts')]],
      ),
    ),
  });
  await symlink(path.join(ROOT, 'src'), path.join(modules, 'vivarium', 'src'));
  for (const name of names) {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
    await symlink(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  }
}

async function writePackage(directory: string, manifest: object): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, 'package.json'), JSON.stringify(manifest));
}

/** `vivarium` and `npx vivarium`, run from the sources. */
async function writeCommands(directory: string): Promise<void> {
  const bin = path.join(directory, 'bin');
  const main = `exec '${process.execPath}' '${path.join(ROOT, 'src', 'cli', 'main.ts')}' "$@"\n`;
  await mkdir(bin);
  await writeFile(path.join(bin, 'vivarium'), `#!/bin/sh\n${main}`, { mode: 0o755 });
  await writeFile(path.join(bin, 'npx'), `#!/bin/sh\n[ "$1" = vivarium ] || exit 127\nshift\n${main}`, { mode: 0o755 });
}

/** Pages have a package index of their own, which lacks it. */
async function fetchUv(): Promise<void> {
  const { python } = await findOwnEnvironment();
  await ensureUv({ dataDir: defaultDataDir(process.env), python });
}

async function findOwnEnvironment(): Promise<Environment> {
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('there is no environment; run `npm run setup`');
  return environment;
}
