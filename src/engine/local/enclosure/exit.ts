import { constants } from 'node:os';
import type { Outcome } from '../../../execution/outcome.ts';

/** How a worker ended. Decided outside of the session. */
export interface Exit {
  readonly code: number | null;
  readonly signal: number | null;
  readonly cause: string | null;
  /** Whether the enclosure, and with it every twin, is gone too. */
  readonly isGone: boolean;
}

/** What usually leads to a signal that says little. */
const HINTS: Readonly<Record<string, string>> = {
  SIGBUS: ': it used a mapped file that was cut short, or more shared memory than it may (limits.memoryMb)',
};

/** The outcome of a run whose worker ended for no reason of ours. */
export function outcomeOfExit(exit: Exit): Extract<Outcome, { status: 'crashed' }> {
  if (exit.isGone) {
    return crashed(`the session's processes were ended from outside (${exit.cause ?? 'killed'})`);
  }
  if (exit.signal === null) {
    return { ...crashed(`the process ended by itself with exit code ${exit.code}`), exitCode: exit.code };
  }
  const signal = signalName(exit.signal);
  return { ...crashed(`the process was killed by ${signal}${HINTS[signal] ?? ''}`), signal };
}

export function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, known]) => known === number)?.[0] ?? `signal ${number}`;
}

export function crashed(reason: string): Extract<Outcome, { status: 'crashed' }> {
  return { status: 'crashed', signal: null, exitCode: null, reason };
}
