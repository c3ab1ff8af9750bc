/** Adds, rebuilds and removes named environments. One process at a time changes those of a data directory. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import { buildEnvironment, type BuildTools } from '../build.ts';
import { claim, tryClaim } from '../claim.ts';
import { scrubEnvironment } from '../command.ts';
import { dataPathsIn, isEnvironment, readJson, writeJson } from '../environment.ts';
import { chooseBase, discoverPythons, minorOf } from '../find.ts';
import { supportedVersions, takeInventory, type PythonInventory } from '../inventory.ts';
import { DEFAULT_SET, missingFrom, type LibrarySet } from '../library-sets.ts';
import { LOCKS_DIR, readLock, removeTree } from '../managed.ts';
import {
  CLAIMS,
  namedDirectory,
  namedPaths,
  readNamed,
  unknownEnvironment,
  type NamedPaths,
  type NamedRecord,
  type PinnedPackage,
} from './record.ts';
import { canonical, pinsIn, resolvePackages } from './resolve.ts';

export interface ChangeOptions {
  readonly dataDir: string;
  readonly name: string;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

export interface AddOptions extends ChangeOptions {
  /** Names from the package index, each with a version if it matters: `shapely==2.*`. */
  readonly packages: readonly string[];
  /** The locked set that they are added to. Default: that of the environment of set-up, otherwise the full set. */
  readonly set?: NamedRecord['set'] | undefined;
  /** A minor version such as 3.12, or the path of a Python. Default: as for set-up. */
  readonly python?: string | undefined;
  /** Where the lock files are; only tests change it. */
  readonly locksDir?: string | undefined;
}

/** Leaves either a complete environment or nothing. */
export async function addEnvironment(options: AddOptions): Promise<NamedRecord> {
  const { dataDir, name, packages } = options;
  const paths = namedPaths(dataDir, name);
  for (const text of packages) assertRequirement(text);
  const tools = toolsOf(options);
  return changeAlone(options, tools, async () => {
    if ((await readNamed(dataDir, name)) !== undefined) throw exists(name);
    const base = await findBase(options.python, tools);
    const set = options.set ?? readJson(dataPathsIn(dataDir).record, isEnvironment)?.set ?? DEFAULT_SET;
    const locked = set === 'none' ? '' : await lockedSet(minorOf(base.version), set, options);
    const added = await resolvePackages({ base, packages, locked, tools });
    const plan = { name, set, requested: packages, packages: added };
    try {
      await writeFile(paths.lock, [locked, ...added.map(lineOf)].join('\n'));
      return await build(plan, { base, paths, tools });
    } catch (error) {
      await rm(paths.lock, { force: true });
      throw error;
    }
  });
}

/** Builds an environment again from the wheels that it was built from. If that fails, it can be tried again. */
export async function rebuildEnvironment(options: ChangeOptions): Promise<NamedRecord> {
  const { dataDir, name } = options;
  const paths = namedPaths(dataDir, name);
  const tools = toolsOf(options);
  return changeAlone(options, tools, async () => {
    const known = await readNamed(dataDir, name);
    if (known === undefined) throw await unknownEnvironment(dataDir, name);
    const { set, requested, packages, version } = known.record;
    const base = await findBase(minorOf(version), tools);
    return build({ name, set, requested, packages }, { base, paths, tools });
  });
}

/** Refuses while sessions use it. */
export async function removeEnvironment(options: ChangeOptions): Promise<void> {
  const { dataDir, name } = options;
  const { manifest, tree, lock, cacheDir } = namedPaths(dataDir, name);
  await changeAlone(options, toolsOf(options), async () => {
    if ((await readNamed(dataDir, name)) === undefined) throw await unknownEnvironment(dataDir, name);
    await rm(manifest);
    await Promise.all([lock, tree, cacheDir].map((place) => removeTree(place)));
  });
}

type Plan = Pick<NamedRecord, 'name' | 'set' | 'requested' | 'packages'>;

interface Site {
  readonly base: PythonInventory;
  readonly paths: NamedPaths;
  readonly tools: BuildTools;
}

async function build(plan: Plan, { base, paths, tools }: Site): Promise<NamedRecord> {
  const { cacheDir, lock: file, tree: directory } = paths;
  const packageCount = pinsIn(await readFile(file, 'utf8')).length;
  const lock = { file, directory, packageCount };
  const inventory = await buildEnvironment({ base, lock, cacheDir, tools });
  const asked = new Set(plan.requested.map((text) => canonical(/^[\w.-]+/.exec(text)?.[0] ?? '')));
  const own = plan.packages.filter(({ name }) => asked.has(name)).map(({ name, version }) => [name, version]);
  const libraries = { ...inventory.libraries, ...(Object.fromEntries(own) as Record<string, string>) };
  const missing = plan.set === 'none' ? [] : missingFrom(plan.set, libraries);
  const record: NamedRecord = { ...plan, version: inventory.version, libraries, missing };
  try {
    await writeJson(paths.manifest, record);
  } catch (error) {
    await removeTree(paths.tree);
    throw error;
  }
  return record;
}

async function lockedSet(minor: string, set: LibrarySet, options: AddOptions): Promise<string> {
  const { locksDir = LOCKS_DIR, dataDir } = options;
  const { file } = await readLock(minor, { locksDir, set }, dataPathsIn(dataDir));
  return readFile(file, 'utf8');
}

function lineOf({ name, version, sha256 }: PinnedPackage): string {
  return `${name}==${version} --hash=sha256:${sha256}`;
}

/** Holds both claims: no other change in this data directory, and no session on this environment. */
async function changeAlone<T>(options: ChangeOptions, tools: BuildTools, change: () => Promise<T>): Promise<T> {
  const { dataDir, name, signal } = options;
  const directory = namedDirectory(dataDir);
  const { claim: own } = namedPaths(dataDir, name);
  await mkdir(path.dirname(own), { recursive: true });
  const onWait = (): void => tools.report('waiting for another change of the environments of this data directory');
  using _ = await claim(path.join(directory, CHANGING), { signal, onWait });
  using alone = tryClaim(own);
  if (alone === undefined) throw inUse(name);
  try {
    await sweep(directory);
    return await change();
  } catch (error) {
    if (error instanceof VivariumError || signal?.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const advice = 'Check that the data directory is on a disk with free space and belongs to you, then try again.';
    throw new VivariumError('SETUP_FAILED', `The environment "${name}" could not be changed: ${why}. ${advice}`, {
      cause: error,
    });
  }
}

const CHANGING = '.claim';

/** Removes what a killed process left: everything that belongs to no manifest. */
async function sweep(directory: string): Promise<void> {
  const files = await readdir(directory);
  const names = files.filter((file) => file.endsWith('.json')).map((file) => path.basename(file, '.json'));
  const kept = new Set([CHANGING, CLAIMS, ...names.flatMap((name) => [name, `${name}.json`, `${name}.txt`])]);
  const stale = files.filter((file) => !kept.has(file));
  await Promise.all(stale.map((file) => removeTree(path.join(directory, file))));
}

async function findBase(python: string | undefined, tools: BuildTools): Promise<PythonInventory> {
  if (python !== undefined && !/^3\.\d+$/.test(python)) return takeInventory(python, tools);
  const pythons = await discoverPythons(tools);
  const base = chooseBase(pythons.filter(({ version }) => python === undefined || minorOf(version) === python));
  if (base !== undefined) return base;
  const found = [...new Set(pythons.map(({ version }) => minorOf(version)))].toSorted().join(', ');
  throw new VivariumError(
    'PYTHON_NOT_FOUND',
    `There is no CPython ${python ?? supportedVersions()} on PATH, in /usr/bin or among pyenv's versions (found: ${found || 'none'}). ` +
      'Install one, for example with `uv python install`, or give the path of one with --python.',
  );
}

function toolsOf({ env = process.env, signal, onProgress = () => {} }: ChangeOptions): BuildTools {
  return { env: scrubEnvironment(env), signal, report: onProgress };
}

/** A name, extras and versions. Options of pip, paths and addresses are none: wheels come from the index. */
const REQUIREMENT =
  /^[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?((===|==|~=|!=|<=|>=|<|>)[\w.*!+-]+(,(==|~=|!=|<=|>=|<|>)[\w.*!+-]+)*)?$/;

function assertRequirement(text: string): void {
  if (REQUIREMENT.test(text.replaceAll(' ', ''))) return;
  throw new VivariumError(
    'CONFIG_INVALID',
    `${JSON.stringify(text)} is not the name of a package. Write names of the package index, with versions if they matter: shapely, "shapely==2.*", "shapely>=2,<3".`,
  );
}

function exists(name: string): VivariumError {
  return new VivariumError(
    'ENVIRONMENT_EXISTS',
    `There is an environment "${name}" already. Choose another name, or remove it with \`vivarium environments remove ${name}\`.`,
  );
}

function inUse(name: string): VivariumError {
  return new VivariumError(
    'ENVIRONMENT_IN_USE',
    `The environment "${name}" is in use by sessions, or was a moment ago. Close them and the host that opened them, then try again.`,
  );
}
