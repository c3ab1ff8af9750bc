/** How a run ended and what became of its session's state, in plain words. */
import type { EarlierEvent, StateReceipt } from './execution.ts';
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

/** What a later run has to know about the variables; empty when nothing happened that needs attention. */
export function describeState({ status, reason, earlier }: StateReceipt): string {
  switch (status) {
    case 'preserved':
      return [
        ...(earlier === undefined ? [] : [describeEarlier(earlier)]),
        ...(reason === undefined ? [] : [reason]),
      ].join('; ');
    case 'restored': {
      const before = earlier?.status === 'lost' ? `; before it, all variables had been lost (${earlier.reason})` : '';
      return `the process was lost (${reason ?? UNKNOWN}); every variable is as it was before this run${before}`;
    }
    case 'lost':
      return earlier === undefined
        ? `all variables are lost (${reason ?? UNKNOWN}); this is a fresh interpreter`
        : `all variables from before this run are lost (${reason ?? earlier.reason}); it ran in a fresh interpreter, and what it did is kept`;
  }
}

const UNKNOWN = 'the reason is not known';

function describeEarlier({ reason }: EarlierEvent): string {
  return `before this run the process was lost (${reason}); a copy with every variable took over, and what this run did is kept`;
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
