import { expect, test } from 'vitest';
import { sha256Of } from '../../storage/approvals/approval.ts';
import { keptRunOf, readKeptRun } from './kept-run.ts';

const CODE = 'results = {}';
const TEXT = JSON.stringify({ codeSha256: sha256Of(CODE), python: 'python3' });
const APPROVED = { run: sha256Of(TEXT), code: CODE };
const complete = { status: 'succeeded', isComplete: true };

test('the run that was shown is the run that is kept', () => {
  expect(readKeptRun(TEXT, APPROVED)).toMatchObject({ python: 'python3' });
});

test.for([
  ['is gone', null, APPROVED],
  ['was changed', `${TEXT} `, APPROVED],
  ['was changed', '', APPROVED],
  ['was changed', TEXT, { ...APPROVED, code: 'results = {1: 1}' }],
] as const)('a run that %s is refused: %j', ([why, text, approved]) => {
  expect(() => readKeptRun(text, approved)).toThrow(why);
});

test('an approval that promised a run without its hash keeps none', () => {
  const payload = (effects: object, hash?: string) => ({ resume_payload: { effects, preview_sha256: hash ?? null } });
  expect(keptRunOf({ payload: payload(complete, 'ab') as never })).toBe('ab');
  expect(keptRunOf({ payload: payload({ ...complete, isComplete: false }) as never })).toBeNull();
  expect(keptRunOf({ payload: null })).toBeNull();
  const run = keptRunOf({ payload: payload(complete) as never }) ?? '';
  expect(() => readKeptRun(TEXT, { run, code: CODE })).toThrow('was changed');
});
