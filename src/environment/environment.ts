/** The Python that sessions run on, and the record of it in the data directory. */
import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isLibrarySet, type LibrarySet } from './library-sets.ts';

/** What is known about a Python without starting it. */
export interface PythonContents {
  /** For example 3.13.0. */
  readonly version: string;
  /** The promised libraries it has, with their versions. */
  readonly libraries: Readonly<Record<string, string>>;
  /** The promised libraries it lacks: of its set if set-up built it, of the core set otherwise. */
  readonly missing: readonly string[];
}

export interface Environment extends PythonContents {
  /** Of a named environment; see `vivarium environments`. */
  readonly name?: string | undefined;
  /** The set of libraries that set-up installed; absent if it did not build this environment. */
  readonly set?: LibrarySet | undefined;
  /** Absolute path of the Python executable; for a remote one, the name of its kernel. */
  readonly python: string;
  /** Built by set-up, named by the user, found on the machine, or on a Jupyter server. */
  readonly source: 'managed' | 'given' | 'found' | 'remote';
  /** For caches that libraries fill on first use; that of matplotlib is in `matplotlib`. */
  readonly cacheDir: string;
}

/** Paths in the data directory. */
export interface DataPaths {
  readonly record: string;
  readonly environments: string;
  readonly claim: string;
  readonly cacheDir: string;
}

export function dataPathsIn(dataDir: string): DataPaths {
  const root = path.resolve(dataDir);
  const environments = path.join(root, 'environments');
  return {
    record: path.join(root, 'environment.json'),
    environments,
    claim: path.join(environments, '.claim'),
    cacheDir: path.join(root, 'cache'),
  };
}

/** Tells which promised libraries are missing and how to install them; undefined if none is missing. */
export function describeMissing(environment: Pick<Environment, 'python' | 'missing' | 'source'>): string | undefined {
  if (environment.missing.length === 0) return undefined;
  const names = environment.missing.join(' ');
  const install = `\`${environment.python} -m pip install ${names}\` or \`uv pip install --python ${environment.python} ${names}\``;
  const setup =
    environment.source === 'found'
      ? 'Run `vivarium setup` again when a package index is reachable, or install'
      : 'Install';
  return `Missing: ${environment.missing.join(', ')}. ${setup} them yourself with ${install}, then run \`vivarium setup\` again.`;
}

/** Reads a file that set-up wrote. Undefined if it is missing or damaged; it is then written again. */
export function readJson<T>(file: string, isValid: (value: unknown) => value is T): T | undefined {
  try {
    // Synchronous: the first use of the thread pool takes ten times as long as reading this small file.
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isValid(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isMissingFile(error)) return undefined;
    throw error;
  }
}

// Checked by hand: compiling a schema would take longer than everything else here, and every start waits for this.
export function isEnvironment(value: unknown): value is Environment {
  if (!isPythonContents(value) || !('python' in value && 'source' in value && 'cacheDir' in value)) return false;
  const { python, source, cacheDir } = value;
  const isSource = source === 'managed' || source === 'given' || source === 'found';
  if ('set' in value && !isLibrarySet(value.set)) return false;
  return isSource && typeof python === 'string' && typeof cacheDir === 'string';
}

export function isPythonContents(value: unknown): value is PythonContents {
  if (!isObject(value) || !('version' in value && 'libraries' in value && 'missing' in value)) return false;
  const { version, libraries, missing } = value;
  return (
    typeof version === 'string' && isObject(libraries) && areStrings(Object.values(libraries)) && areStrings(missing)
  );
}

/** Readers see either the old file or the new one, never a partial one. */
export async function writeJson(file: string, content: unknown): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const draft = `${file}.${crypto.randomUUID()}`; // the global: importing node:crypto would slow down the start
  try {
    await writeFile(draft, `${JSON.stringify(content, undefined, 2)}\n`);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function areStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
