import { expect, test } from 'vitest';
import { StateManager } from './agent-state.ts';

const PLAN = { steps: [{ context_key: 'first', task_objective: 'Begin' }, { context_key: 'second' }] };

test('the current step is the one that the plan is at, the first if nothing else is said', () => {
  expect(StateManager.get_current_step({ planning_execution_plan: PLAN })).toBe(PLAN.steps[0]);
  const state = { planning_execution_plan: PLAN, planning_current_step_index: 1 };
  expect(StateManager.getCurrentStep(state)).toBe(PLAN.steps[1]);
});

test('a step that is not there says what the state lacks', () => {
  const step = (state: object) => () => StateManager.get_current_step(state as never);
  expect(step({})).toThrow('The state has no step 0: there is no plan. Set planning_execution_plan');
  expect(step({ planning_execution_plan: PLAN, planning_current_step_index: 2 })).toThrow(
    'The state has no step 2: the plan has 2 steps.',
  );
});

test('stored context adds to what is there, by type and key', () => {
  const stored = { BEAM: { a: { x: 1 } }, OTHER: { b: { y: 2 } } };
  const state = { capability_context_data: stored };
  expect(StateManager.store_context(state, 'BEAM', 'c', { z: [3, null] })).toEqual({
    capability_context_data: { BEAM: { a: { x: 1 }, c: { z: [3, null] } }, OTHER: { b: { y: 2 } } },
  });
  expect(StateManager.storeContext(state, 'BEAM', 'a', {})).toMatchObject({
    capability_context_data: { BEAM: { a: {} } },
  });
  expect(stored).toEqual({ BEAM: { a: { x: 1 } }, OTHER: { b: { y: 2 } } });
  expect(StateManager.store_context({}, 'NEW', 'k', { v: 1 })).toEqual({
    capability_context_data: { NEW: { k: { v: 1 } } },
  });
});

test('context without a key, or that is no JSON, is refused with its name', () => {
  expect(() => StateManager.store_context({}, 'BEAM', undefined, {})).toThrow('"BEAM" and undefined');
  expect(() => StateManager.store_context({}, 'BEAM', 'k', { when: new Date() })).toThrow(
    /The context BEAM\.k must be an object of JSON values.*when/su,
  );
});
