/** How a run ended and what became of its session's state, in plain words. */
import type { StateReceipt } from './execution.ts';
import type { Outcome } from './outcome.ts';

/**
 * With a subject it is a clause, such as `the run timed out after 5 s`; without one it is a headline, such as `timed out
 * after 5 s`. Callers add their own capitals and punctuation.
 */
export function describeOutcome(outcome: Outcome, subject?: string): string {
  const { verb, phrase } = wordsFor(outcome);
  if (subject === undefined) return phrase;
  return verb === '' ? `${subject} ${phrase}` : `${subject} ${verb} ${phrase}`;
}

/** What a later run has to know about the variables; empty when nothing happened to them. */
export function describeState({ status, reason = 'the reason is not known' }: StateReceipt): string {
  switch (status) {
    case 'preserved':
      return '';
    case 'restored':
      return `the process was lost (${reason}); every variable is as it was before this run`;
    case 'lost':
      return `all variables are lost (${reason}); this is a fresh interpreter`;
  }
}

/** `verb` is what the phrase needs only where it follows a subject. */
function wordsFor(outcome: Outcome): { readonly verb: string; readonly phrase: string } {
  switch (outcome.status) {
    case 'succeeded':
      return { verb: '', phrase: 'succeeded' };
    case 'raised':
      return { verb: '', phrase: 'raised an exception' };
    case 'timed-out':
      return { verb: '', phrase: `timed out after ${describeDuration(outcome.limitMs)}${kindOfTime(outcome.limit)}` };
    case 'cancelled':
      return { verb: 'was', phrase: 'cancelled' };
    case 'out-of-memory':
      return { verb: 'ran', phrase: `out of memory: the limit is ${outcome.limitMb} MB` };
    case 'crashed':
      return { verb: '', phrase: `crashed: ${outcome.reason}` };
  }
}

function kindOfTime(limit: 'wall' | 'cpu'): string {
  return limit === 'cpu' ? ' of processor time' : '';
}

function describeDuration(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}
