/** Builds an environment from a lock: create, install, move into place, compile, try out, mark complete. */
import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { findProgram, run } from './command.ts';
import { moduleOf, takeInventory, type Inventory } from './inventory.ts';
import { BUILDING_PREFIX, markComplete, pythonIn, removeTree, type Lock } from './managed.ts';

export interface Build {
  readonly base: Inventory;
  readonly lock: Lock;
  readonly cacheDir: string;
  readonly tools: Tools;
}

/** What every step of a set-up needs. */
export interface Tools {
  /** Scrubbed. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal | undefined;
  readonly report: (line: string) => void;
}

/** Leaves a complete environment in the lock's directory, or nothing there. Throws `SETUP_FAILED` when it cannot. */
export async function buildEnvironment(build: Build): Promise<void> {
  const { base, lock, cacheDir, tools } = build;
  try {
    await install(build);
    const python = pythonIn(lock.directory);
    tools.report('compiling the libraries');
    // A file that cannot be compiled is found out when it is imported, which the next step does.
    await runTool(
      [python, '-I', '-m', 'compileall', '-q', '-j', '0', '-x', TESTS, path.join(lock.directory, 'lib')],
      tools,
    );
    const inventory = await takeInventory(python, tools);
    await warm(inventory, cacheDir, tools);
    await markComplete(lock, inventory);
    tools.report(`environment ready: Python ${base.version}, ${Object.keys(inventory.libraries).length} libraries`);
  } catch (error) {
    await removeTree(lock.directory);
    throw error;
  }
}

/** Imports every promised library once, which proves that they work and fills the caches slow to fill. */
export async function warm(inventory: Inventory, cacheDir: string, tools: Tools): Promise<void> {
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

/** Test suites are half of the files and are never imported. */
const TESTS = '/site-packages/.*/tests/';

/** Tries the installers in turn: one may know an index that another does not. */
async function install({ base, lock, tools }: Build): Promise<void> {
  const building = path.join(path.dirname(lock.directory), `${BUILDING_PREFIX}${randomUUID()}`);
  const installers = await listInstallers(base, lock, { building, env: tools.env });
  let failure = noInstaller(base);
  for (const [index, installer] of installers.entries()) {
    try {
      await installWith(installer, { base, lock, tools }, building);
      await removeTree(lock.directory);
      // Nothing but `bin/python` is ever run, and that finds its environment by its own place.
      await rename(building, lock.directory);
      return;
    } catch (error) {
      await removeTree(building);
      if (!(error instanceof VivariumError)) throw error;
      failure = error;
      if (index + 1 < installers.length) tools.report(error.message); // the last one is told by whoever catches it
    }
  }
  throw failure;
}

const CHECK_PLACE = 'Check that the data directory is on a disk with room and belongs to you';
const CHECK_INDEX = 'Check that a package index can be reached and that the disk has 1 GB free';

interface Installer {
  readonly name: string;
  readonly create: readonly string[];
  readonly install: readonly string[];
}

async function installWith(
  installer: Installer,
  { base, lock, tools }: Omit<Build, 'cacheDir'>,
  building: string,
): Promise<void> {
  const cwd = path.dirname(building); // not the caller's: a project file there must not steer the installer
  tools.report(`creating environment with Python ${base.version} (${installer.name})`);
  const created = await runTool(installer.create, tools, { cwd });
  if (!created.succeeded)
    throw failed(`${installer.name} could not create an environment`, created.errors, CHECK_PLACE);
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

/** uv where there is one; else pip from outside the environment, so that the environment stays free of it; else its own. */
async function listInstallers(
  base: Inventory,
  lock: Lock,
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
      // Copies: with links into uv's cache, whoever changes a file there would change the environment.
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

/** `pip --python` came with 22.3. */
function canServeOthers(pipVersion: string | null): boolean {
  const [major = 0, minor = 0] = (pipVersion ?? '').split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 3);
}

/** Runs with the usual file mode whatever the caller's: sessions may run as another user and must be able to read. */
function runTool(
  command: readonly string[],
  { env, signal }: Tools,
  options: { cwd?: string; onLine?: (line: string) => void } = {},
): ReturnType<typeof run> {
  return run(['/bin/sh', '-c', 'umask 022 && exec "$@"', 'sh', ...command], { env, signal, ...options });
}

/** The lines of an installer that name a package, without the address it comes from. */
function describeProgress(line: string): string | undefined {
  const text = line
    .trim()
    .replace(/ \(from -r .*/, '')
    .replaceAll(/https?:\/\/\S*\/(\S+)/g, '$1');
  return /^(Collecting|Downloading|Downloaded|Using cached|Installing collected|\+) /.test(text) ? text : undefined;
}

function failed(what: string, errors: string, advice: string): VivariumError {
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
  return new VivariumError(
    'SETUP_FAILED',
    `${what}: ${why.replace(/\.$/, '')}. ${advice}, then run \`vivarium setup\` again.`,
  );
}

function noInstaller(base: Inventory): VivariumError {
  return new VivariumError(
    'SETUP_FAILED',
    `There is nothing to install libraries with: no uv on PATH, and ${base.python} has neither pip 22.3 or newer nor ensurepip. ` +
      'Install uv, or the pip or venv package of that Python (python3-pip or python3-venv on Debian and Ubuntu), then run `vivarium setup` again.',
  );
}
