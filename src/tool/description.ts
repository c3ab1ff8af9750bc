import type { Mount } from '../config.ts';
import type { Environment } from '../environment/environment.ts';
import type { Isolation } from '../execution/isolation.ts';

/** What is known of the place that code runs in. */
export interface Surroundings {
  readonly environment: Pick<Environment, 'version' | 'libraries'>;
  readonly isolation: Pick<Isolation, 'level' | 'files' | 'network'>;
  readonly timeoutMs: number;
  /** Left out where somebody else's interpreter decides it. */
  readonly memoryMb?: number | undefined;
  /** What outlives a run. */
  readonly keeps: 'variables and files' | 'nothing';
  /** A directory of the host that the code works in. */
  readonly workdir?: { readonly path: string; readonly isWritable: boolean } | undefined;
  /** What of the host is shown besides. */
  readonly mounts?: readonly Pick<Mount, 'target' | 'writable'>[];
}

/** What a model has to know of the place that its code runs in, and nothing that does not hold there. */
export function describeSurroundings(surroundings: Surroundings): string {
  const { isolation, keeps, mounts = [] } = surroundings;
  return [
    `${describePython(surroundings)}.`,
    keeps === 'nothing'
      ? 'Each call starts afresh: variables and files of earlier calls are gone.'
      : 'Variables and files stay from call to call.',
    describeLimits(surroundings),
    describeNetwork(isolation),
    describePlaces(surroundings),
    ...describeMounts(mounts),
    'input() and shell commands (!) are disabled.',
    ...describeWalls(isolation),
  ].join(' ');
}

/** Which Python it is. Only where nothing can be fetched is it sure that nothing can be installed. */
export function describePython({
  environment: { version, libraries },
  isolation,
}: Pick<Surroundings, 'environment' | 'isolation'>): string {
  const names = Object.entries(libraries).map(([name, number]) => `${name} ${number}`);
  const fixed = isolation.network === 'none' ? '; nothing can be installed' : '';
  return `Python ${version}${names.length > 0 ? ` with ${names.join(', ')}` : ''}${fixed}`;
}

/** Places of the host that were opened, by the names that the code knows them by. */
export function describeMounts(mounts: readonly Pick<Mount, 'target' | 'writable'>[]): string[] {
  return mounts.map(
    ({ target, writable }) => `${target} is of the host and can be ${writable ? 'read and written' : 'read only'}.`,
  );
}

/** Said where code is not confined as it usually is: whoever writes it has to know what it can break. */
export function describeWalls({ level }: Pick<Isolation, 'level'>): string[] {
  switch (level) {
    case 'namespaces':
      return [];
    case 'landlock':
      return ['WARNING: the walls are weaker than usual (isolation "landlock"): processes of the host can be seen.'];
    case 'none':
      return ['WARNING: there are no walls: the code runs with the files, the network and the rights of the host.'];
    case 'jupyter':
      return ['The code runs on a Jupyter server and is confined by whatever confines that.'];
  }
}

export function describeLimits({ timeoutMs, memoryMb }: Pick<Surroundings, 'timeoutMs' | 'memoryMb'>): string {
  const memory = memoryMb === undefined ? '' : ` and use ${memoryMb} MB of memory`;
  return `A call may take ${seconds(timeoutMs)} seconds${memory}; what is over a limit is stopped, and its output so far is kept.`;
}

/** As Python writes a float: a model that knows the original text finds the number where it expects it. */
export function seconds(ms: number): string {
  const value = ms / 1000;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function describeNetwork({ network }: Surroundings['isolation']): string {
  return network === 'none'
    ? 'There is no network: requests to other machines fail.'
    : 'The network of the host can be reached.';
}

function describePlaces({ isolation, workdir, keeps }: Surroundings): string {
  const kept = keeps === 'nothing' ? 'are handed over to the caller' : 'stay until the session ends';
  const place =
    isolation.files === 'private-root'
      ? `${workdir === undefined ? 'The current directory is /workspace' : 'There is also /workspace'} (also found as /mnt/data); files there ${kept}.`
      : `Files in the current directory ${kept}.`;
  if (workdir === undefined) return place;
  const rights = workdir.isWritable ? '' : ', and can only be read';
  return `The current directory is ${workdir.path}, shared with the host${rights}. ${place}`;
}
