/** What a model is told about where its code runs. Every sentence holds for the actual host and session. */
import type { Mount } from '../config.ts';
import type { Environment } from '../environment/environment.ts';
import { LIBRARY_SETS } from '../environment/library-sets.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { DescribedIsolation } from './access.ts';

export interface Surroundings {
  readonly environment: Pick<Environment, 'version' | 'libraries'>;
  readonly isolation: DescribedIsolation;
  readonly timeoutMs: number;
  /** Left out where a remote kernel decides it. */
  readonly memoryMb?: number | undefined;
  /** What outlives a run. */
  readonly keeps: 'variables and files' | 'nothing';
  /** A directory of the machine that the code starts in. */
  readonly workdir?: { readonly path: string; readonly isWritable: boolean } | undefined;
  /** Other paths of the machine that the code sees. */
  readonly mounts?: readonly Pick<Mount, 'target' | 'writable'>[];
}

export function describeSurroundings(surroundings: Surroundings): string {
  const { isolation, keeps, mounts = [] } = surroundings;
  return [
    `${describePython(surroundings)}.`,
    keeps === 'nothing'
      ? 'Each call starts fresh: variables and files of earlier calls are gone.'
      : 'Variables and files stay from call to call.',
    describeLimits(surroundings),
    describeNetwork(isolation),
    describeFiles(surroundings),
    ...describeMounts(mounts),
    'input() is disabled; shell lines (!ls) and notebook magics work.',
    ...describeWeakness(isolation),
  ].join(' ');
}

/** The Python version and its libraries. Only without a network is it certain that nothing can be installed. */
export function describePython({
  environment: { version, libraries },
  isolation,
}: Pick<Surroundings, 'environment' | 'isolation'>): string {
  const names = nameLibraries(libraries);
  const fixed = describePackages(isolation);
  return `Python ${version}${names === '' ? '' : ` with ${names}`}${fixed}`;
}

function describePackages({ packages = 'none', network }: DescribedIsolation): string {
  if (packages === 'any') return '; %pip install gets other packages';
  if (packages !== 'none') return `; %pip install gets also ${packages.join(', ')}`;
  return network === 'none' ? '; nothing can be installed' : '';
}

/** Libraries beyond the core that a model should know of: what it would otherwise do without. */
const NAMED = new Set([
  'openpyxl',
  'python-docx',
  'python-pptx',
  'pypdf',
  'reportlab',
  'beautifulsoup4',
  'sympy',
  'networkx',
  'polars',
  'duckdb',
  'pillow',
  'opencv-python-headless',
  'altair',
  'xgboost-cpu',
]);

/** The core libraries with their versions, some others by name, the rest as a number: a model reads this at every call. */
function nameLibraries(libraries: Environment['libraries']): string {
  const isCore = (name: string): boolean => LIBRARY_SETS.core.some((core) => core === name);
  const found = Object.entries(libraries);
  const core = found.filter(([name]) => isCore(name)).map(([name, version]) => `${name} ${version}`);
  const named = found.filter(([name]) => NAMED.has(name)).map(([name]) => name);
  const rest = found.length - core.length - named.length;
  return `${[...core, ...named].join(', ')}${rest > 0 ? ` and ${rest} others` : ''}`;
}

export function describeMounts(mounts: readonly Pick<Mount, 'target' | 'writable'>[]): string[] {
  return mounts.map(
    ({ target, writable }) => `${target} is shared with the machine and ${writable ? 'writable' : 'read-only'}.`,
  );
}

/** Tells the model where its code is confined less than usual, and so what it could break. */
export function describeWeakness({ level }: Pick<Isolation, 'level'>): string[] {
  switch (level) {
    case 'namespaces':
      return [];
    case 'landlock':
      return ['WARNING: isolation is weaker than usual ("landlock"): the code can see other processes of the machine.'];
    case 'none':
      return ['WARNING: there is no isolation: the code runs with the files, the network and the rights of this user.'];
    case 'jupyter':
      return ['The code runs on a Jupyter server, which decides what confines it.'];
  }
}

export function describeLimits({ timeoutMs, memoryMb }: Pick<Surroundings, 'timeoutMs' | 'memoryMb'>): string {
  const memory = memoryMb === undefined ? '' : ` and use ${memoryMb} MB of memory`;
  return `A call may take ${seconds(timeoutMs)} seconds${memory}; over a limit it is stopped, and its output so far is kept.`;
}

/** As Python prints a float: the texts that models were trained on have it so. */
export function seconds(ms: number): string {
  const value = ms / 1000;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function describeNetwork({ network }: Surroundings['isolation']): string {
  switch (network) {
    case 'none':
      return 'There is no network: requests to other machines fail.';
    case 'list':
      return 'The code can reach listed hosts only; other requests fail with an error that names the host.';
    case 'host':
      return 'The code can use the network of the machine.';
  }
}

function describeFiles({ isolation, workdir, keeps }: Surroundings): string {
  const kept = keeps === 'nothing' ? 'are returned to the caller' : 'stay until the session ends';
  const workspace =
    isolation.files === 'private-root'
      ? `${workdir === undefined ? 'The current directory is /workspace' : 'There is also /workspace'} (also found as /mnt/data); files there ${kept}.`
      : `Files in the current directory ${kept}.`;
  if (workdir === undefined) return workspace;
  const rights = workdir.isWritable ? '' : ', and is read-only';
  return `The current directory is ${workdir.path}; it is shared with the machine${rights}. ${workspace}`;
}
