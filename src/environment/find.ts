/** Finds the environment from set-up, and the Pythons on the machine. */
import { access, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { isExecutable, pathDirectories } from './command.ts';
import { isEnvironment, dataPathsIn, readJson, type Environment } from './environment.ts';
import { takeInventory, type PythonInventory, type InventoryOptions } from './inventory.ts';

/** The environment that set-up recorded, if its Python still exists. Starts no process. */
export async function findEnvironment(dataDir: string): Promise<Environment | undefined> {
  const environment = readJson(dataPathsIn(dataDir).record, isEnvironment);
  if (environment === undefined || !(await isExecutable(environment.python))) return undefined;
  return environment;
}

/** The Python with the most promised libraries; if several have the same, the newest. */
export async function bestPython(options: InventoryOptions = {}): Promise<PythonInventory | undefined> {
  return bestOf(await discoverPythons(options));
}

export function bestOf(pythons: readonly PythonInventory[]): PythonInventory | undefined {
  return pythons.toSorted((a, b) => a.missing.length - b.missing.length || byAge(a, b))[0];
}

/** Minor versions in order of preference for building: those that have wheels of all libraries come first. */
export const BASE_ORDER = ['3.13', '3.12', '3.11', '3.14', '3.10'] as const;

/** The Python to build an environment with: by the order above, then the newest patch release. */
export function chooseBase(pythons: readonly PythonInventory[]): PythonInventory | undefined {
  const rank = (python: PythonInventory): number => BASE_ORDER.findIndex((minor) => minor === minorOf(python.version));
  return pythons.filter((python) => !python.freeThreaded).toSorted((a, b) => rank(a) - rank(b) || byAge(a, b))[0];
}

export function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** All supported Pythons on PATH, in the usual directories and in pyenv, each once. */
export async function discoverPythons(options: InventoryOptions = {}): Promise<PythonInventory[]> {
  const candidates = await listCandidates(options.env ?? process.env);
  const answers = await Promise.all(candidates.map((candidate) => inventoryOrNothing(candidate, options)));
  const found = answers.filter((answer) => answer !== undefined);
  return [...new Map(found.map((python) => [python.python, python])).values()];
}

async function listCandidates(env: NodeJS.ProcessEnv): Promise<string[]> {
  const names = ['python3', ...BASE_ORDER.map((minor) => `python${minor}`)];
  const onPath = pathDirectories(env).flatMap((directory) => names.map((name) => path.join(directory, name)));
  const candidates = [...onPath, '/usr/bin/python3', '/usr/local/bin/python3', ...(await listPyenv(env))];
  const usable = new Map<string, string>();
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) usable.set(await identityOf(candidate), candidate);
  }
  return [...usable.values()].toSorted();
}

async function listPyenv(env: NodeJS.ProcessEnv): Promise<string[]> {
  const root = env['PYENV_ROOT'] ?? (env['HOME'] === undefined ? undefined : path.join(env['HOME'], '.pyenv'));
  if (root === undefined) return [];
  const versions = path.join(root, 'versions');
  const names = await readdir(versions).catch(() => []); // most machines have no pyenv
  return names.map((name) => path.join(versions, name, 'bin', 'python3'));
}

/** Links to the same Python are one candidate, but a virtual environment differs from the Python that it links to. */
async function identityOf(candidate: string): Promise<string> {
  const isVirtual = await access(path.join(path.dirname(candidate), '..', 'pyvenv.cfg')).then(
    () => true,
    () => false,
  );
  return isVirtual ? candidate : realpath(candidate);
}

async function inventoryOrNothing(candidate: string, options: InventoryOptions): Promise<PythonInventory | undefined> {
  try {
    return await takeInventory(candidate, options);
  } catch (error) {
    if (error instanceof VivariumError) return undefined;
    throw error;
  }
}

/** Newest first. For equal versions the path decides, so that the choice is always the same. */
function byAge(a: PythonInventory, b: PythonInventory): number {
  return (
    b.version.localeCompare(a.version, 'en', { numeric: true }) ||
    (a.python < b.python ? -1 : Number(a.python > b.python))
  );
}
