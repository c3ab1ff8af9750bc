import { expect, test } from 'vitest';
import { sha256Of } from '../../storage/approvals/approval.ts';
import { readAnswer } from './answer.ts';

const ASKED = { id: 'a1', codeSha256: sha256Of('print(1)'), payload: null };
const decisionOf = (answer: unknown): unknown => readAnswer(answer, ASKED).decision;

test.for([
  ['yes', { type: 'approve' }],
  [' Yes! ', { type: 'approve' }],
  ['ok.', { type: 'approve' }],
  [true, { type: 'approve' }],
  [{ approved: true }, { type: 'approve' }],
  [{ approved: true, code: 'print(1)', approval_type: 'python_executor' }, { type: 'approve' }],
  [{ approved: true, approval_id: 'a1' }, { type: 'approve' }],
  [{ type: 'approve', code: 'print(1)' }, { type: 'approve' }],
  ['no', { type: 'reject' }],
  ['Cancel', { type: 'reject' }],
  [false, { type: 'reject' }],
  [{ approved: false }, { type: 'reject' }],
  [
    { approved: false, reason: 'late' },
    { type: 'reject', reason: 'late' },
  ],
  [
    { type: 'reject', reason: 'late' },
    { type: 'reject', reason: 'late' },
  ],
  [
    { type: 'edit', code: 'print(2)' },
    { type: 'edit', code: 'print(2)' },
  ],
  [
    { type: 'respond', text: 'why?' },
    { type: 'respond', text: 'why?' },
  ],
] as const)('O-37 O-83 %j is understood', ([answer, decision]) => {
  expect(decisionOf(answer)).toEqual(decision);
});

test.for([
  'maybe',
  'yes, but change it',
  '',
  null,
  undefined,
  1,
  {},
  { approved: 'true' },
  { approved: 1 },
  { approved: null },
  { type: 'edit' },
  { type: 'edit', code: '' },
  { type: 'respond' },
  { type: 'run' },
  [],
])('OB-23 %j approves nothing', (answer) => {
  expect(() => decisionOf(answer)).toThrow('approves nothing');
});

test('other code than the one that was shown is not approved', () => {
  expect(() => decisionOf({ approved: true, code: 'print(2)' })).toThrow('different code');
  expect(() => decisionOf({ type: 'approve', code: 'print(1)\n' })).toThrow('different code');
});

test('an answer to another approval decides nothing, whatever it says', () => {
  expect(() => decisionOf({ approved: true, approval_id: 'a2' })).toThrow('is for another approval, not for a1');
  expect(() => decisionOf({ type: 'reject', approval_id: 'a2' })).toThrow('is for another approval, not for a1');
});

test('an answer may say who gives it', () => {
  expect(readAnswer({ approved: true, by: 'Ann' }, ASKED).by).toBe('Ann');
  expect(readAnswer('yes', ASKED).by).toBeUndefined();
});

test('an answer that names another run than the one that was shown decides nothing', () => {
  const asked = { ...ASKED, payload: { resume_payload: { preview_sha256: 'aa' } } };
  expect(readAnswer({ approved: true, preview_sha256: 'aa' }, asked).decision).toEqual({ type: 'approve' });
  expect(() => readAnswer({ approved: true, preview_sha256: 'bb' }, asked)).toThrow('another run');
  expect(() => decisionOf({ type: 'approve', preview_sha256: 'bb' })).toThrow('another run');
  expect(readAnswer({ type: 'reject', preview_sha256: 'bb' }, asked).decision).toEqual({ type: 'reject' });
});
