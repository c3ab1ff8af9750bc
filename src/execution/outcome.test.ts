import { expect, test } from 'vitest';
import { hasEndedByItself, type Outcome } from './outcome.ts';

test.for<[Outcome, boolean]>([
  [{ status: 'succeeded' }, true],
  [{ status: 'raised' }, true],
  [{ status: 'timed-out', limit: 'wall', limitMs: 1 }, false],
  [{ status: 'cancelled' }, false],
  [{ status: 'out-of-memory', limitMb: 1 }, false],
  [{ status: 'crashed', signal: null, exitCode: 1, reason: 'gone' }, false],
])('whether %o is the own end of a program: %s', ([outcome, isOwn]) => {
  expect(hasEndedByItself(outcome)).toBe(isOwn);
});
