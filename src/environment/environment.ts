/** The Python that sessions run on, and the record of it in the data directory. */
import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** What is known of an interpreter without starting it. */
export interface Contents {
  /** Such as 3.13.0. */
  readonly version: string;
  /** The promised libraries it has, with their versions. */
  readonly libraries: Readonly<Record<string, string>>;
  /** The promised libraries it lacks. */
  readonly missing: readonly string[];
}

export interface Environment extends Contents {
  /** Absolute path of the interpreter; of a remote one the name of its kernel. */
  readonly python: string;
  /** Built by set-up, named by the user, the best one on the machine, or that of a server. */
  readonly source: 'managed' | 'given' | 'found' | 'remote';
  /** Caches that libraries fill on first use; matplotlib's is `matplotlib` in it. */
  readonly cacheDir: string;
}

/** Where things are in the data directory. */
export interface Places {
  readonly record: string;
  readonly environments: string;
  readonly claim: string;
  readonly cacheDir: string;
}

export function placesIn(dataDir: string): Places {
  const root = path.resolve(dataDir);
  const environments = path.join(root, 'environments');
  return {
    record: path.join(root, 'environment.json'),
    environments,
    claim: path.join(environments, '.claim'),
    cacheDir: path.join(root, 'cache'),
  };
}

/** Says which promised libraries are missing and how to get them; undefined when none is. */
export function describeMissing(environment: Pick<Environment, 'python' | 'missing' | 'source'>): string | undefined {
  if (environment.missing.length === 0) return undefined;
  const names = environment.missing.join(' ');
  const install = `\`${environment.python} -m pip install ${names}\` or \`uv pip install --python ${environment.python} ${names}\``;
  const setup =
    environment.source === 'found'
      ? 'Run `vivarium setup` again when a package index can be reached, or install'
      : 'Install';
  return `Missing: ${environment.missing.join(', ')}. ${setup} them yourself with ${install}, then run \`vivarium setup\` again.`;
}

/** What a file of ours holds; undefined when it is absent or damaged, so that it is made anew. */
export function readJson<T>(file: string, isValid: (value: unknown) => value is T): T | undefined {
  try {
    // Synchronous: a first trip through the thread pool costs ten times what reading this small file does.
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isValid(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isMissingFile(error)) return undefined;
    throw error;
  }
}

// Checked by hand: compiling a schema takes longer than all else that a starting process does with the record.
export function isEnvironment(value: unknown): value is Environment {
  if (!isContents(value) || !('python' in value && 'source' in value && 'cacheDir' in value)) return false;
  const { python, source, cacheDir } = value;
  const isSource = source === 'managed' || source === 'given' || source === 'found';
  return isSource && typeof python === 'string' && typeof cacheDir === 'string';
}

export function isContents(value: unknown): value is Contents {
  if (!isObject(value) || !('version' in value && 'libraries' in value && 'missing' in value)) return false;
  const { version, libraries, missing } = value;
  return (
    typeof version === 'string' && isObject(libraries) && areStrings(Object.values(libraries)) && areStrings(missing)
  );
}

/** Readers see the old file or the new one, never half of one. */
export async function writeJson(file: string, content: unknown): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const draft = `${file}.${crypto.randomUUID()}`; // the module of that name is slow to load, and seldom needed here
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
