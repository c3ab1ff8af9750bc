import type { Execution } from '../../src/index.ts';

/** What a run printed, or how it failed. */
export function said({ outcome, logs, error }: Execution): string {
  return outcome.status === 'succeeded' ? logs.stdout.trim() : `${outcome.status}: ${error?.traceback ?? ''}`;
}
