/** Named environments: where each lies, what is written about it, and how it is found. Starts no process. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import { tryShare } from '../claim.ts';
import { isExecutable } from '../command.ts';
import { dataPathsIn, isPythonContents, readJson, type Environment, type PythonContents } from '../environment.ts';
import { isLibrarySet, type LibrarySet } from '../library-sets.ts';
import { pythonIn } from '../managed.ts';

/** The environment of `vivarium setup`, which `list` shows with the others. */
export const DEFAULT_NAME = 'default';

/** A package that was added to the set, with the wheel that was chosen. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** The manifest of a named environment. It is written last: without it there is no such environment. */
export interface NamedRecord extends PythonContents {
  readonly name: string;
  /** The locked set that it contains. */
  readonly set: LibrarySet | 'none';
  /** The packages that were asked for, as they were written. */
  readonly requested: readonly string[];
  /** These and what they need, beyond the set. */
  readonly packages: readonly PinnedPackage[];
}

/** A named environment, and whether sessions can run on it. */
export interface NamedEnvironment {
  readonly record: NamedRecord;
  readonly python: string;
  readonly isUsable: boolean;
}

/** Where the parts of one environment are. The claim and the manifest are beside the tree, so that they outlive it. */
export interface NamedPaths {
  readonly tree: string;
  readonly manifest: string;
  /** Everything in it, the set included, with hashes. */
  readonly lock: string;
  /** Shared by those who use the environment, exclusive for the one who changes it. */
  readonly claim: string;
  readonly cacheDir: string;
}

/** Claims are never removed: a process could hold one that nobody else finds. */
export const CLAIMS = '.claims';

/** A folder of its own: set-up clears the one above. */
export function namedDirectory(dataDir: string): string {
  return path.join(dataPathsIn(dataDir).environments, 'named');
}

export function namedPaths(dataDir: string, name: string): NamedPaths {
  const directory = namedDirectory(dataDir);
  const tree = path.join(directory, checkedName(name));
  const claim = path.join(directory, CLAIMS, name);
  const cacheDir = path.join(dataPathsIn(dataDir).cacheDir, 'environments', name);
  return { tree, manifest: `${tree}.json`, lock: `${tree}.txt`, claim, cacheDir };
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,49}$/;

/** Lower case only: on some disks `Geo` and `geo` are the same directory. */
function checkedName(name: string): string {
  if (name === DEFAULT_NAME) {
    throw new VivariumError(
      'CONFIG_INVALID',
      `"${DEFAULT_NAME}" is the environment of \`vivarium setup\`, which is used where no other is named. Leave the name out, or choose another.`,
    );
  }
  if (NAME.test(name)) return name;
  throw new VivariumError(
    'CONFIG_INVALID',
    `${JSON.stringify(name)} cannot be the name of an environment. Use 1 to 50 lower case letters, digits, "-" or "_", a letter or digit first.`,
  );
}

/** All named environments, sorted by name. */
export async function listNamed(dataDir: string): Promise<NamedEnvironment[]> {
  const names = (await manifestNames(dataDir)).toSorted();
  const found = await Promise.all(names.map((name) => readNamed(dataDir, name)));
  return found.filter((environment) => environment !== undefined);
}

/** Undefined if there is no such environment. */
export async function readNamed(dataDir: string, name: string): Promise<NamedEnvironment | undefined> {
  const { manifest, tree } = namedPaths(dataDir, name);
  const record = readJson(manifest, isRecord);
  if (record?.name !== name) return undefined;
  const python = pythonIn(tree);
  return { record, python, isUsable: await isExecutable(python) };
}

/** The environment of this name, for sessions. Throws if there is none, or if it cannot be used. */
export async function findNamed(dataDir: string, name: string): Promise<Environment> {
  const named = await readNamed(dataDir, name);
  if (named === undefined) throw await unknownEnvironment(dataDir, name);
  const { record, python, isUsable } = named;
  if (!isUsable) {
    throw new VivariumError(
      'ENVIRONMENT_UNUSABLE',
      `The environment "${name}" cannot be used: its Python ${record.version} is gone (${python}). ` +
        `Install that Python again, or run \`vivarium environments rebuild ${name}\`.`,
    );
  }
  const { version, libraries, missing, set } = record;
  const { cacheDir } = namedPaths(dataDir, name);
  const common = { name, python, version, source: 'managed', libraries, missing, cacheDir } as const;
  return set === 'none' ? common : { ...common, set };
}

export async function unknownEnvironment(dataDir: string, name: string): Promise<VivariumError> {
  const names = (await manifestNames(dataDir)).toSorted();
  const known = names.length === 0 ? 'There are none yet' : `There are: ${names.join(', ')}`;
  return new VivariumError(
    'ENVIRONMENT_NOT_FOUND',
    `There is no environment "${name}". ${known}. Make it with \`vivarium environments add ${name} PACKAGE...\`.`,
  );
}

/** An environment that nobody removes or rebuilds until it is disposed of. */
export interface HeldEnvironment extends Disposable {
  readonly environment: Environment;
}

/** Holds the environment for sessions. Throws as `findNamed` does, and while it is being changed. */
export async function holdNamed(dataDir: string, name: string): Promise<HeldEnvironment> {
  if ((await readNamed(dataDir, name)) === undefined) throw await unknownEnvironment(dataDir, name);
  const held = tryShare(namedPaths(dataDir, name).claim);
  if (held === undefined) {
    throw new VivariumError(
      'ENVIRONMENT_IN_USE',
      `The environment "${name}" is being removed or rebuilt. Wait until that has ended.`,
    );
  }
  try {
    const environment = await findNamed(dataDir, name);
    return { environment, [Symbol.dispose]: () => held[Symbol.dispose]() };
  } catch (error) {
    held[Symbol.dispose]();
    throw error;
  }
}

async function manifestNames(dataDir: string): Promise<string[]> {
  const files = await readdir(namedDirectory(dataDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const names = files.filter((file) => file.endsWith('.json')).map((file) => path.basename(file, '.json'));
  return names.filter((name) => NAME.test(name));
}

function isRecord(value: unknown): value is NamedRecord {
  if (!isPythonContents(value)) return false;
  const record: Partial<Record<keyof NamedRecord, unknown>> = value;
  const { name, set, requested, packages } = record;
  return (
    typeof name === 'string' &&
    (set === 'none' || isLibrarySet(set)) &&
    Array.isArray(requested) &&
    requested.every((item) => typeof item === 'string') &&
    Array.isArray(packages) &&
    packages.every(isPinned)
  );
}

function isPinned(value: unknown): value is PinnedPackage {
  if (typeof value !== 'object' || value === null) return false;
  const { name, version, sha256 }: Partial<Record<keyof PinnedPackage, unknown>> = value;
  return [name, version, sha256].every((item) => typeof item === 'string');
}
