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
  readonly workdir?: string | undefined;
}

/** What a model has to know of the place that its code runs in, and nothing that does not hold there. */
export function describeSurroundings(surroundings: Surroundings): string {
  const { environment, keeps } = surroundings;
  const libraries = Object.entries(environment.libraries).map(([name, version]) => `${name} ${version}`);
  return [
    `Python ${environment.version}${libraries.length > 0 ? ` with ${libraries.join(', ')}` : ''}; nothing can be installed.`,
    keeps === 'nothing'
      ? 'Each call starts afresh: variables and files of earlier calls are gone.'
      : 'Variables and files stay from call to call.',
    describeLimits(surroundings),
    describeNetwork(surroundings.isolation),
    describePlaces(surroundings),
    'input() and shell commands (!) are disabled.',
  ].join(' ');
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
  return workdir === undefined ? place : `The current directory is ${workdir}, shared with the host. ${place}`;
}
