/** What every row of the benchmark works with. */
import type { Environment } from '../src/environment/environment.ts';
import type { Execution } from '../src/execution/execution.ts';
import type { Host } from '../src/host/host.ts';
import { createHost } from '../src/host/local/local-host.ts';
import type { HostOptions } from '../src/host/options.ts';
import type { Ipykernel } from './peers/ipykernel.ts';

export interface Bench {
  readonly isQuick: boolean;
  /** How many sessions are live at the same time at most. */
  readonly sessions: number;
  readonly environment: Environment;
  readonly python: string;
  /** That with the libraries of the peers; undefined where they could not be installed. */
  readonly peerPython: string | undefined;
  /** Undefined where it could not be installed. */
  readonly ipykernel: Ipykernel | undefined;
  /** What to say instead of its numbers. */
  readonly ipykernelProblem: string | undefined;
  /** One interpreter with default settings, warm, for the rows that need nothing special. */
  readonly host: Host;
}

/** The science stack, as the default settings preload it. */
export const SCIENCE = 'import numpy, pandas, matplotlib.pyplot';

export function openHost(options: HostOptions = {}): Promise<Host> {
  return createHost({ idleMs: null, ...options });
}

/** The text of the last result. A run that did not succeed is no measurement. */
export function resultOf(execution: Execution): string | undefined {
  if (execution.outcome.status !== 'succeeded') {
    throw new Error(
      `a measured run has ${execution.outcome.status}: ${execution.error?.value ?? execution.state.reason ?? ''}`,
    );
  }
  const text = execution.results.at(-1)?.data['text/plain'];
  return typeof text === 'string' ? text : undefined;
}

export function expect<T>(actual: T, wanted: T, what: string): void {
  if (actual !== wanted) throw new Error(`${what}: ${String(actual)}, not ${String(wanted)}`);
}
