import type { Outcome } from '../execution/outcome.ts';
import { seconds } from './description.ts';

/** How a run ended that did not simply end, in a sentence; empty where the output says all. */
export function describeEnd(outcome: Outcome): string {
  switch (outcome.status) {
    case 'succeeded':
    case 'raised':
      return '';
    case 'timed-out':
      return `The run was stopped at its limit of ${seconds(outcome.limitMs)} seconds${outcome.limit === 'cpu' ? ' of processor time' : ''}.`;
    case 'cancelled':
      return 'The run was cancelled.';
    case 'out-of-memory':
      return `The run needed more than its ${outcome.limitMb} MB of memory.`;
    case 'crashed':
      return `The interpreter crashed: ${outcome.reason}.`;
  }
}

/** Puts each part on lines of its own. */
export function joinLines(parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '')
    .map((part, index, all) => (index < all.length - 1 && !part.endsWith('\n') ? `${part}\n` : part))
    .join('');
}
