/** What must not happen in a session that nothing was done to from outside. */
import { Lie } from './beliefs.ts';
import type { Program } from './programs.ts';
import { isStarved, type Answer } from './receipts.ts';

/** How a caller asks for a run. */
export interface RunSettings {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The caller stops the run in another way. */
  readonly isStopped?: boolean;
}

interface CalmCase {
  readonly program: Program;
  readonly answer: Answer;
  readonly settings: RunSettings;
  /** What the receipt before said about a crash of this run. */
  readonly unprotected: string | undefined;
  /** Whether a run whose answer nobody received may have cost its process. */
  readonly hasUntold: boolean;
}

/** Throws a `Lie` if only a fault from outside could explain this answer. */
export function checkInCalm({ program, answer, settings, unprotected, hasUntold }: CalmCase): void {
  const { outcome, state } = answer;
  const { kind } = program.ending;
  const isStopped = settings.isStopped === true || settings.signal !== undefined;
  if (state.earlier !== undefined && !hasUntold)
    throw new Lie(`nothing was done to it: ${state.earlier.status} earlier`);
  switch (outcome.status) {
    case 'succeeded':
      return;
    case 'raised':
      if (isStarved(answer)) throw new Lie('out of something that there is enough of');
      return;
    case 'timed-out':
      if (kind !== 'lasts') throw new Lie('timed out without a reason');
      break;
    case 'cancelled':
      if (!isStopped) throw new Lie('cancelled by nobody');
      break;
    case 'crashed':
    case 'out-of-memory':
      if (kind !== 'dies') throw new Lie(`${outcome.status} by nothing`);
  }
  if (state.status === 'lost' && unprotected === undefined) throw new Lie('lost although it was said to be protected');
}
