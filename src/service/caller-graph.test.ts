import { expect, test } from 'vitest';
import { clearApprovalState, createApprovalType, getApprovalResumeData } from './caller-graph.ts';

test('O-33 an approval is named after its capability, and its operation if there is one', () => {
  expect(createApprovalType('data_analysis')).toBe('data_analysis');
  expect(createApprovalType('memory', 'save')).toBe('memory_save');
  expect(() => createApprovalType('data analysis')).toThrow('"data analysis" cannot name an approval');
  expect(() => createApprovalType('')).toThrow('cannot name an approval');
});

test('O-34 a graph learns whether something was decided, and what', () => {
  const payload = { approval_type: 'data_analysis', code: 'x' };
  expect(getApprovalResumeData({}, 'data_analysis')).toEqual([false, null]);
  expect(getApprovalResumeData({ approval_approved: null, approved_payload: null }, 'data_analysis')).toEqual([
    false,
    null,
  ]);
  expect(getApprovalResumeData({ approval_approved: true, approved_payload: payload }, 'data_analysis')).toEqual([
    true,
    payload,
  ]);
  expect(getApprovalResumeData({ approval_approved: false, approved_payload: payload }, 'data_analysis')).toEqual([
    true,
    null,
  ]);
  expect(getApprovalResumeData({ approval_approved: false }, 'data_analysis')).toEqual([true, null]);
});

test('OB-03 what the service asked is the capability\u2019s to answer, under whatever name it asks', () => {
  const payload = { approval_type: 'python_executor' };
  expect(getApprovalResumeData({ approval_approved: true, approved_payload: payload }, 'data_analysis')).toEqual([
    true,
    payload,
  ]);
});

test('O-34 a state that contradicts itself is an error, not an approval', () => {
  const ask = (state: object) => () => getApprovalResumeData(state, 'data_analysis');
  expect(ask({ approval_approved: true })).toThrow('but not what');
  expect(ask({ approval_approved: true, approved_payload: null })).toThrow('but not what');
  expect(ask({ approved_payload: { approval_type: 'data_analysis' } })).toThrow('but not what');
  expect(ask({ approval_approved: 'yes', approved_payload: { approval_type: 'data_analysis' } })).toThrow(
    'but not what',
  );
  expect(ask({ approval_approved: true, approved_payload: { approval_type: 'memory' } })).toThrow(
    'type "memory", but "data_analysis" is expected',
  );
  expect(ask({ approval_approved: true, approved_payload: {} })).toThrow('clearApprovalState()');
});

test('O-35 a decision that was used is forgotten', () => {
  expect(clearApprovalState()).toEqual({ approval_approved: null, approved_payload: null });
});
