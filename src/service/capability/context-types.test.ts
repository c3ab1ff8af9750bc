import { expect, test } from 'vitest';
import { ContextTypeList } from './context-types.ts';

test('a context type is known once it is registered, and what to do is said until then', () => {
  const list = new ContextTypeList();
  expect(() => list.types['ANALYSIS_RESULTS']).toThrow(
    'The context type ANALYSIS_RESULTS is not registered (registered: none). Call get_registry().register_context_type("ANALYSIS_RESULTS")',
  );
  list.add('ANALYSIS_RESULTS');
  list.add('ANALYSIS_RESULTS');
  expect(list.types['ANALYSIS_RESULTS']).toBe('ANALYSIS_RESULTS');
  expect(() => list.types['OTHER']).toThrow('registered: ANALYSIS_RESULTS');
  expect(JSON.stringify(list.types)).toBe('{"ANALYSIS_RESULTS":"ANALYSIS_RESULTS"}');
});

test.for(['', 'analysis', 'A B', '__proto__'])('%j cannot name a context type', (name) => {
  expect(() => new ContextTypeList().add(name)).toThrow('cannot name a context type');
});
