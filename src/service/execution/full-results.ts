import type { Artifacts } from '../../artifact/artifact.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Session } from '../../host/session.ts';
import { readWholeValue } from '../../host/whole-value.ts';
import { truncatedPaths } from '../results/encoded.ts';
import { unanswered } from './unanswered.ts';

export interface ResultLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/**
 * The full `results` of a session's last run. A run returns only what fits into a message; larger results are written to a
 * file and read from there. Results beyond the limits stay truncated, as do those that the program prevents from being written.
 */
export async function fullResults(
  session: Session,
  store: Artifacts,
  value: Execution['value'],
  limits: ResultLimits,
): Promise<Execution['value']> {
  if (value === undefined || truncatedPaths(value).length === 0) return value;
  const whole = await readWholeValue(session, store, { variable: 'results', ...limits });
  const { outcome, error } = whole;
  if (outcome.status === 'raised' || outcome.status === 'crashed') throw unanswered('All of `results`', outcome, error);
  return whole.value ?? value;
}
