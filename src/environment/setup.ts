/** Sets up the Python environment: builds one, adopts a given one, or falls back to the best one on the machine. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { buildEnvironment, warm, type BuildTools } from './build.ts';
import { claim } from './claim.ts';
import { scrubEnvironment } from './command.ts';
import {
  describeMissing,
  dataPathsIn,
  isEnvironment,
  readJson,
  writeJson,
  type Environment,
  type DataPaths,
} from './environment.ts';
import { bestOf, chooseBase, discoverPythons, findEnvironment, minorOf } from './find.ts';
import { supportedVersions, takeInventory, type PythonInventory } from './inventory.ts';
import { DEFAULT_SET, missingFrom, type LibrarySet } from './library-sets.ts';
import { findComplete, LOCKS_DIR, markComplete, readLock, sweep, type LockChoice } from './managed.ts';

export interface SetupOptions {
  readonly dataDir: string;
  /** Path of a Python to use as it is, instead of building an environment. */
  readonly python?: string | undefined;
  /** The libraries to install. Default: those of the present environment, otherwise the full set. */
  readonly set?: LibrarySet | undefined;
  /** How long the package index may take. After that, what is there is used. Default: as long as it takes. */
  readonly waitMs?: number | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Where the lock files are; only tests change it. */
  readonly locksDir?: string | undefined;
}

/** Safe to repeat, to interrupt, and to run twice at the same time. On abort it stops all work and rejects with the reason. */
export async function setupEnvironment(options: SetupOptions): Promise<Environment> {
  const setup = prepare(options);
  setup.tools.signal?.throwIfAborted();
  try {
    if (options.python !== undefined)
      return await adopt(setup, await takeInventory(options.python, setup.tools), 'given');
    return (await reuse(setup)) ?? (await buildAlone(setup));
  } catch (error) {
    if (error instanceof VivariumError || setup.tools.signal?.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const advice =
      'Check that the data directory is on a disk with free space and belongs to you, then run `vivarium setup` again.';
    throw new VivariumError('SETUP_FAILED', `Set-up in ${setup.dataDir} failed: ${why}. ${advice}`, { cause: error });
  }
}

interface SetupContext {
  readonly dataDir: string;
  readonly choice: LockChoice;
  readonly paths: DataPaths;
  readonly waitMs: number | undefined;
  readonly tools: BuildTools;
}

function prepare(options: SetupOptions): SetupContext {
  const paths = dataPathsIn(options.dataDir);
  const set = options.set ?? readJson(paths.record, isEnvironment)?.set ?? DEFAULT_SET;
  return {
    dataDir: path.resolve(options.dataDir),
    choice: { locksDir: options.locksDir ?? LOCKS_DIR, set },
    paths,
    waitMs: options.waitMs,
    tools: {
      env: scrubEnvironment(options.env ?? process.env),
      signal: options.signal,
      report: options.onProgress ?? (() => {}),
    },
  };
}

async function reuse(setup: SetupContext): Promise<Environment | undefined> {
  const complete = await findComplete(setup.choice, setup.paths);
  return complete && remember(setup, complete);
}

async function buildAlone(setup: SetupContext): Promise<Environment> {
  const { paths, tools } = setup;
  await mkdir(paths.environments, { recursive: true });
  const onWait = (): void => tools.report('waiting for another set-up of this data directory');
  const held = await claim(paths.claim, { signal: tools.signal, onWait });
  try {
    return (await reuse(setup)) ?? (await buildOrFallBack(setup));
  } finally {
    held[Symbol.dispose]();
  }
}

async function buildOrFallBack(setup: SetupContext): Promise<Environment> {
  const { dataDir, choice, paths, waitMs, tools } = setup;
  const former = await findEnvironment(dataDir);
  await sweep(paths, former ? [path.resolve(former.python, '../..')] : []);
  const pythons = await discoverPythons(tools);
  try {
    const base = chooseBase(pythons);
    if (base === undefined) throw noPython();
    const lock = await readLock(minorOf(base.version), choice, paths);
    await markComplete(lock, await buildEnvironment({ base, lock, cacheDir: paths.cacheDir, waitMs, tools }));
    tools.report(`environment ready: Python ${base.version}, set ${lock.set}, ${lock.packageCount} packages`);
  } catch (error) {
    if (!(error instanceof VivariumError)) throw error;
    return fallBack(setup, { former, pythons, error });
  }
  const built = await reuse(setup);
  if (built === undefined) throw new Error('the environment was removed while it was being built');
  return built;
}

interface FailedBuild {
  readonly former: Environment | undefined;
  readonly pythons: readonly PythonInventory[];
  readonly error: VivariumError;
}

/** Prefers the previous environment, which set-up has built; otherwise the best Python on the machine. */
async function fallBack(setup: SetupContext, { former, pythons, error }: FailedBuild): Promise<Environment> {
  const { report } = setup.tools;
  if (former?.source === 'managed') {
    report(`${error.message} Keeping the previous environment, with Python ${former.version}.`);
    return former;
  }
  const best = bestOf(pythons);
  if (best === undefined) throw error;
  report(error.message);
  report(`using ${best.python} (Python ${best.version}) as it is`);
  return adopt(setup, best, 'found');
}

async function adopt(setup: SetupContext, inventory: PythonInventory, source: 'given' | 'found'): Promise<Environment> {
  const { paths, tools } = setup;
  const { python, version, libraries } = inventory;
  const missing = missingFrom('core', libraries);
  const environment = {
    python,
    version,
    source,
    libraries,
    missing,
    cacheDir: paths.cacheDir,
  };
  const advice = describeMissing(environment);
  if (advice !== undefined) tools.report(advice);
  await warm(inventory, paths.cacheDir, tools).catch((error: unknown) => {
    // This Python is used as it is: one library that cannot be imported is no reason to refuse it.
    if (!(error instanceof VivariumError)) throw error;
    tools.report(error.message);
  });
  return remember(setup, environment);
}

async function remember(setup: SetupContext, environment: Environment): Promise<Environment> {
  await writeJson(setup.paths.record, environment);
  return environment;
}

function noPython(): VivariumError {
  return new VivariumError(
    'PYTHON_NOT_FOUND',
    `There is no CPython ${supportedVersions()} on PATH, in /usr/bin or among pyenv's versions. ` +
      'Install one (for example the python3 package of your system, or `uv python install 3.13`), or name one with --python.',
  );
}
