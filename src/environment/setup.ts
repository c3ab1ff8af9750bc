/** Makes the Python environment: builds one of its own, adopts one that is given, or falls back to the best there is. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { buildEnvironment, warm, type Tools } from './build.ts';
import { claim } from './claim.ts';
import { scrubEnvironment } from './command.ts';
import { describeMissing, placesIn, writeJson, type Environment, type Places } from './environment.ts';
import { bestOf, chooseBase, discoverPythons, findEnvironment, minorOf } from './find.ts';
import { supportedVersions, takeInventory, type Inventory } from './inventory.ts';
import { findComplete, LOCKS_DIR, readLock, sweep } from './managed.ts';

export interface SetupOptions {
  readonly dataDir: string;
  /** Path of an interpreter to use as it is, instead of building an environment. */
  readonly python?: string | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Where the lock files are; only tests have others. */
  readonly locksDir?: string | undefined;
}

/** Safe to repeat, to interrupt and to run twice at once. On abort it stops what it started and rejects with the reason. */
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
      'Check that the data directory is on a disk with room and belongs to you, then run `vivarium setup` again.';
    throw new VivariumError('SETUP_FAILED', `Set-up in ${setup.dataDir} failed: ${why}. ${advice}`, { cause: error });
  }
}

interface Setup {
  readonly dataDir: string;
  readonly locksDir: string;
  readonly places: Places;
  readonly tools: Tools;
}

function prepare(options: SetupOptions): Setup {
  return {
    dataDir: path.resolve(options.dataDir),
    locksDir: options.locksDir ?? LOCKS_DIR,
    places: placesIn(options.dataDir),
    tools: {
      env: scrubEnvironment(options.env ?? process.env),
      signal: options.signal,
      report: options.onProgress ?? (() => {}),
    },
  };
}

async function reuse(setup: Setup): Promise<Environment | undefined> {
  const complete = await findComplete(setup.locksDir, setup.places);
  return complete && remember(setup, complete);
}

async function buildAlone(setup: Setup): Promise<Environment> {
  const { places, tools } = setup;
  await mkdir(places.environments, { recursive: true });
  const onWait = (): void => tools.report('waiting for another set-up of this data directory');
  const held = await claim(places.claim, { signal: tools.signal, onWait });
  try {
    return (await reuse(setup)) ?? (await buildOrFallBack(setup));
  } finally {
    held[Symbol.dispose]();
  }
}

async function buildOrFallBack(setup: Setup): Promise<Environment> {
  const { dataDir, locksDir, places, tools } = setup;
  const former = await findEnvironment(dataDir);
  await sweep(places, former ? [path.resolve(former.python, '../..')] : []);
  const pythons = await discoverPythons(tools);
  try {
    const base = chooseBase(pythons);
    if (base === undefined) throw noPython();
    const lock = await readLock(minorOf(base.version), locksDir, places);
    await buildEnvironment({ base, lock, cacheDir: places.cacheDir, tools });
  } catch (error) {
    if (!(error instanceof VivariumError)) throw error;
    return fallBack(setup, { former, pythons, error });
  }
  const built = await reuse(setup);
  if (built === undefined) throw new Error('the environment was removed while it was being built');
  return built;
}

interface Failure {
  readonly former: Environment | undefined;
  readonly pythons: readonly Inventory[];
  readonly error: VivariumError;
}

/** An environment of a former lock still has every library; after that, the best Python of the machine still works. */
async function fallBack(setup: Setup, { former, pythons, error }: Failure): Promise<Environment> {
  const { report } = setup.tools;
  if (former?.source === 'managed') {
    report(`${error.message} Keeping the environment there was, with Python ${former.version}.`);
    return former;
  }
  const best = bestOf(pythons);
  if (best === undefined) throw error;
  report(error.message);
  report(`using ${best.python} (Python ${best.version}) as it is`);
  return adopt(setup, best, 'found');
}

async function adopt(setup: Setup, inventory: Inventory, source: 'given' | 'found'): Promise<Environment> {
  const { places, tools } = setup;
  const { python, version, libraries, missing } = inventory;
  const environment = {
    python,
    version,
    source,
    libraries,
    missing,
    cacheDir: places.cacheDir,
  };
  const advice = describeMissing(environment);
  if (advice !== undefined) tools.report(advice);
  await warm(inventory, places.cacheDir, tools).catch((error: unknown) => {
    // It is used as it is: a library that cannot be imported is the caller's to mend, not a reason to have no Python.
    if (!(error instanceof VivariumError)) throw error;
    tools.report(error.message);
  });
  return remember(setup, environment);
}

async function remember(setup: Setup, environment: Environment): Promise<Environment> {
  await writeJson(setup.places.record, environment);
  return environment;
}

function noPython(): VivariumError {
  return new VivariumError(
    'PYTHON_NOT_FOUND',
    `There is no CPython ${supportedVersions()} on PATH, in /usr/bin or among pyenv's versions. ` +
      'Install one (for instance the python3 package of your system, or `uv python install 3.13`), or name one with --python.',
  );
}
