/** Builds an environment from a lock file: create, install, move to its directory, compile, try out. */
import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { findProgram, run } from './command.ts';
import { takeInventory, type PythonInventory } from './inventory.ts';
import { moduleOf } from './library-sets.ts';
import { BUILDING_PREFIX, pythonIn, removeTree, type Lock } from './managed.ts';

export interface EnvironmentBuild {
  readonly base: PythonInventory;
  readonly lock: Pick<Lock, 'file' | 'packageCount' | 'directory'>;
  readonly cacheDir: string;
  /** How long the installers may take together. */
  readonly waitMs?: number | undefined;
  readonly tools: BuildTools;
}

/** What every step of set-up needs. */
export interface BuildTools {
  /** The result of `scrubEnvironment`. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal | undefined;
  readonly report: (line: string) => void;
}

/** Leaves no part of an environment in the lock's directory. Throws `SETUP_FAILED` on failure. */
export async function buildEnvironment(build: EnvironmentBuild): Promise<PythonInventory> {
  const { lock, cacheDir, tools } = build;
  await install(build); // if it fails, what was in the directory stays
  try {
    const python = pythonIn(lock.directory);
    tools.report('compiling the libraries');
    // Errors are ignored here: the next step imports the libraries and would find them.
    await runTool(
      [python, '-I', '-m', 'compileall', '-q', '-j', '0', '-x', TESTS, path.join(lock.directory, 'lib')],
      tools,
    );
    const inventory = await takeInventory(python, tools);
    await warm(inventory, cacheDir, tools);
    return inventory;
  } catch (error) {
    await removeTree(lock.directory);
    throw error;
  }
}

/** Imports each promised library once, to check that it works and to fill its caches. */
export async function warm(inventory: PythonInventory, cacheDir: string, tools: BuildTools): Promise<void> {
  const modules = Object.keys(inventory.libraries).map((library) => moduleOf(library));
  if (modules.length === 0) return;
  tools.report('importing each library once');
  const matplotlibDir = path.join(cacheDir, 'matplotlib');
  if (modules.includes('matplotlib')) modules.push('matplotlib.font_manager');
  const env = { ...tools.env, MPLCONFIGDIR: matplotlibDir, MPLBACKEND: 'agg' };
  const command = [inventory.python, '-I', '-c', IMPORT_ALL, ...modules];
  const { succeeded, errors } = await runTool(command, { ...tools, env });
  if (!succeeded) throw failed(`a library of ${inventory.python} cannot be imported`, errors, 'Install what it lacks');
}

const IMPORT_ALL = 'import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)';

/** Test suites are half of the files, and are never imported. */
const TESTS = '/site-packages/.*/tests/';

/** Tries all installers: they may be configured with different indexes. */
async function install(build: EnvironmentBuild): Promise<void> {
  const { base, lock, waitMs, tools } = build;
  const deadline = waitMs === undefined ? undefined : AbortSignal.timeout(waitMs);
  const building = path.join(path.dirname(lock.directory), `${BUILDING_PREFIX}${randomUUID()}`);
  const installers = await listInstallers(base, lock, { building, env: tools.env });
  let failure = noInstaller(base);
  for (const [index, installer] of installers.entries()) {
    try {
      await installWith(installer, { ...build, tools: { ...tools, signal: either(tools.signal, deadline) } }, building);
      await removeTree(lock.directory);
      // Only `bin/python` is ever run, and it finds its environment relative to itself.
      await rename(building, lock.directory);
      return;
    } catch (error) {
      await removeTree(building);
      if (deadline?.aborted && !tools.signal?.aborted) throw tooSlow(installer, waitMs ?? 0);
      if (!(error instanceof VivariumError)) throw error;
      failure = error;
      if (index + 1 < installers.length) tools.report(error.message); // the caller reports the last one
    }
  }
  throw failure;
}

const CHECK_DIRECTORY = 'Check that the data directory is on a disk with free space and belongs to you';
const CHECK_INDEX = 'Check that a package index is reachable and that the disk has 3 GB free (1 GB for the set core)';

interface Installer {
  readonly name: string;
  readonly create: readonly string[];
  readonly install: readonly string[];
}

async function installWith(
  installer: Installer,
  { base, lock, tools }: EnvironmentBuild,
  building: string,
): Promise<void> {
  const cwd = path.dirname(building); // not the caller's directory: a project file there would change what the installer does
  tools.report(`creating environment with Python ${base.version} (${installer.name})`);
  const created = await runTool(installer.create, tools, { cwd });
  if (!created.succeeded)
    throw failed(`${installer.name} could not create an environment`, created.errors, CHECK_DIRECTORY);
  tools.report(
    `installing ${lock.packageCount} ${lock.packageCount === 1 ? 'package' : 'packages'} (${installer.name})`,
  );
  const onLine = (line: string): void => {
    const progress = describeProgress(line);
    if (progress !== undefined) tools.report(progress);
  };
  const installed = await runTool(installer.install, tools, { cwd, onLine });
  if (!installed.succeeded)
    throw failed(`${installer.name} could not install the libraries`, installed.errors, CHECK_INDEX);
}

/** uv if available; else pip from outside of the environment, which then has no pip; else pip inside of it. */
async function listInstallers(
  base: PythonInventory,
  lock: EnvironmentBuild['lock'],
  { building, env }: { building: string; env: NodeJS.ProcessEnv },
): Promise<Installer[]> {
  const python = pythonIn(building);
  const exactly = ['--require-hashes', '--only-binary', ':all:', '--no-deps', '-r', lock.file];
  const pip = ['install', '--disable-pip-version-check', '--no-input', '--no-compile', '--no-warn-script-location'];
  const create = [base.base, '-I', '-m', 'venv', building];
  const installers: Installer[] = [];
  const uv = await findProgram('uv', env);
  if (uv !== undefined) {
    installers.push({
      name: 'uv',
      create: [uv, 'venv', '--no-project', '--quiet', '--python', base.base, building],
      // Copies files: with links, a change in uv's cache would change the environment.
      install: [uv, 'pip', 'install', '--python', python, '--link-mode', 'copy', ...exactly],
    });
  }
  if (canServeOthers(base.pipVersion)) {
    const outside = [base.python, '-I', '-m', 'pip', '--python', python];
    installers.push({ name: 'pip', create: [...create, '--without-pip'], install: [...outside, ...pip, ...exactly] });
  } else if (base.hasEnsurepip) {
    installers.push({ name: 'pip', create, install: [python, '-I', '-m', 'pip', ...pip, ...exactly] });
  }
  return installers;
}

/** `pip --python` needs version 22.3. */
export function canServeOthers(pipVersion: string | null): boolean {
  const [major = 0, minor = 0] = (pipVersion ?? '').split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 3);
}

/** Sets the usual umask: sessions may run as another user, who must be able to read the files. */
function runTool(
  command: readonly string[],
  { env, signal }: BuildTools,
  options: { cwd?: string; onLine?: (line: string) => void } = {},
): ReturnType<typeof run> {
  return run(['/bin/sh', '-c', 'umask 022 && exec "$@"', 'sh', ...command], { env, signal, ...options });
}

function either(signal: AbortSignal | undefined, deadline: AbortSignal | undefined): AbortSignal | undefined {
  return signal && deadline ? AbortSignal.any([signal, deadline]) : (signal ?? deadline);
}

/** The progress of an installer: the large files that it fetches, without their URLs. */
function describeProgress(line: string): string | undefined {
  const text = line
    .trim()
    .replace(/ \(from -r .*/, '')
    .replaceAll(/https?:\/\/\S*\/(\S+)/g, '$1');
  return /^(Downloading|Using cached) .*\b\d[\d.]* ?Mi?B\b|^Installing collected packages/.test(text)
    ? text.replace(/^(Installing collected packages).*/, '$1')
    : undefined;
}

export function failed(what: string, errors: string, advice: string): VivariumError {
  const lines = errors
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const why =
    lines
      .slice(-3)
      .join(' ')
      .replaceAll(/\/\/[^/@\s]*@/g, '//')
      .slice(-600) || 'no reason was given';
  return new VivariumError('SETUP_FAILED', `${what}: ${why.replace(/\.$/, '')}. ${advice}, then try again.`);
}

function tooSlow({ name }: Installer, waitMs: number): VivariumError {
  return new VivariumError(
    'SETUP_FAILED',
    `${name} did not install the libraries within ${Math.round(waitMs / 1000)} s: the package index or the network is slow. ` +
      'Run `vivarium setup`, which waits longer and continues with what was fetched; `--set core` installs less.',
  );
}

export function noInstaller(base: PythonInventory): VivariumError {
  return new VivariumError(
    'SETUP_FAILED',
    `Libraries cannot be installed: there is no uv on PATH, and ${base.python} has neither pip 22.3 or newer nor ensurepip. ` +
      'Install uv, or the pip or venv package of that Python (python3-pip or python3-venv on Debian and Ubuntu), then try again.',
  );
}
